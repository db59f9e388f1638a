"""Where a token stands, told to what looks at it. Burn: `crates/burn-nn/src/modules/{pos,rope}_encoding.rs`."""

from typing import TYPE_CHECKING

from minburn.lazy import lazy_names

if TYPE_CHECKING:
    from minburn.nn.encoding.positional import *
    from minburn.nn.encoding.rotary import *
else:
    __all__, __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "positional": ("PositionalEncoding", "PositionalEncodingConfig"),
            "rotary": ("RotaryEncoding", "RotaryEncodingConfig"),
        },
    )
