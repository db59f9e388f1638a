"""Where a token stands, told to what looks at it. Burn: `crates/burn-nn/src/modules/{pos,rope}_encoding.rs`."""

from minburn.nn.encoding.positional import PositionalEncoding, PositionalEncodingConfig
from minburn.nn.encoding.rotary import RotaryEncoding, RotaryEncodingConfig

__all__ = ["PositionalEncoding", "PositionalEncodingConfig", "RotaryEncoding", "RotaryEncodingConfig"]
