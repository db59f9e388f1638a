"""What a pickle may call, and what we make of it. Everything else is refused by its name.

Burn: the crate `pytorch-reader`, which makes unknown calls opaque; here that has to be asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from minburn.store.error import StoreError
from minburn.store.pytorch.machine import MAX_OPCODES, as_key
from minburn.store.pytorch.objects import Global, Instance, Opaque, Storage, TensorRef

MAX_RANK = 64

# Calls that checkpoints contain beside their tensors: settings, counters, options. Nothing is made of them.
IGNORED = frozenset(
    f"{module}.{name}"
    for module, names in {
        "torch": "device Generator",
        "torch.serialization": "_get_layout",
        "numpy": "dtype ndarray",
        "numpy.core.multiarray": "scalar _reconstruct",
        "numpy._core.multiarray": "scalar _reconstruct",
        "numpy.core.numeric": "_frombuffer",
        "numpy._core.numeric": "_frombuffer",
        "_codecs": "encode",
        "builtins": "complex slice range bytearray bytes object",
        "__builtin__": "complex slice xrange bytearray object",
        "pathlib": "PosixPath WindowsPath PurePosixPath PureWindowsPath Path",
        "pathlib._local": "PosixPath WindowsPath PurePosixPath PureWindowsPath Path",
        "datetime": "datetime date time timedelta timezone",
        "uuid": "UUID",
        "decimal": "Decimal",
        "fractions": "Fraction",
        "argparse": "Namespace",
        "types": "SimpleNamespace",
    }.items()
    for name in names.split()
)


class Calls:
    """Answers a machine's calls. skip_unknown: what is not known becomes a value that is ignored."""

    def __init__(self, where: str, skip_unknown: bool) -> None:
        self._where = where
        self._skip_unknown = skip_unknown
        self._spent = 0

    def __call__(self, function: Global, arguments: tuple[Any, ...]) -> object:
        name = str(function)
        self._spend(sum(len(value) for value in arguments if isinstance(value, (list, tuple, dict))))
        known = KNOWN.get(name)
        if known is not None:
            try:
                return known(self, arguments)
            except (IndexError, TypeError, ValueError) as error:
                if isinstance(error, StoreError):
                    raise
                raise self.error(f"it calls {name} with arguments that make no sense: {error}") from error
        if self._holds_tensors(arguments):
            raise self.error(
                f"{name} holds tensors in a form that cannot be read here (sparse, quantized, nested, or a class's own)"
            )
        if name in IGNORED or self._skip_unknown:
            return Opaque(function)
        raise self.error(
            f"it wants to call {name}. Nothing in a file is executed, and a name that is not known may be an attack. "
            "If you trust where the file is from, skip_unknown_calls=True reads the tensors around such values"
        )

    def _holds_tensors(self, value: object) -> bool:
        """Whether a tensor or storage lies somewhere in it."""
        seen: set[int] = set()
        waiting = [value]
        while waiting:
            value = waiting.pop()
            if isinstance(value, (TensorRef, Storage)):
                return True
            if id(value) in seen:
                continue
            seen.add(id(value))
            self._spend(1)
            if isinstance(value, (list, tuple)):
                waiting.extend(value)
            elif isinstance(value, dict):
                waiting.extend(value.values())
            elif isinstance(value, Instance):
                waiting += [value.state, value.items, value.elements]
        return False

    def _spend(self, count: int) -> None:
        """A short pickle could have long lists copied again and again."""
        self._spent += count
        if self._spent > MAX_OPCODES:
            raise self.error(f"its calls are given more than {MAX_OPCODES} values")

    def error(self, text: str) -> StoreError:
        return StoreError(f"{self._where}: the pickle is refused: {text}.")

    def tensor(self, storage: Any, offset: Any, shape: Any, stride: Any, dtype: str | None = None) -> TensorRef:
        if not isinstance(storage, Storage):
            raise ValueError(f"a tensor of a {type(storage).__name__}")
        sizes, steps = _sizes(shape), _sizes(stride)
        (offset,) = _sizes((offset,))
        if len(sizes) != len(steps) or len(sizes) > MAX_RANK:
            raise ValueError(f"{len(sizes)} sizes and {len(steps)} strides")
        return TensorRef(storage, storage.dtype if dtype is None else dtype, offset, sizes, steps)


def _sizes(values: Any) -> tuple[int, ...]:
    if not isinstance(values, (list, tuple)) or not all(type(v) is int and 0 <= v < 2**63 for v in values):
        raise ValueError("expected sizes, 0 or more")
    return tuple(values)


def _ordered_dict(calls: Calls, arguments: tuple[Any, ...]) -> dict[Any, Any]:
    pairs: Iterable[Any] = arguments[0] if arguments else ()
    if isinstance(pairs, dict):
        return dict(pairs)
    return {as_key(key): value for key, value in pairs}


def _default_dict(calls: Calls, arguments: tuple[Any, ...]) -> dict[Any, Any]:
    return _ordered_dict(calls, arguments[1:])


def _list(calls: Calls, arguments: tuple[Any, ...]) -> list[Any]:
    return list(arguments[0]) if arguments else []


def _tuple(calls: Calls, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(arguments[0]) if arguments else ()


def _reconstructor(calls: Calls, arguments: tuple[Any, ...]) -> Instance:
    """An object as protocols 0 and 1 make it: its class, the built-in type it derives from, and that one's value."""
    cls, _, value = arguments
    if not isinstance(cls, Global):
        raise ValueError(f"a {type(cls).__name__} is no class")
    return Instance(cls, items=dict(value) if isinstance(value, dict) else {})


def _new_object(calls: Calls, arguments: tuple[Any, ...]) -> Instance:
    return _reconstructor(calls, (arguments[0], None, None))


def _getattr(calls: Calls, arguments: tuple[Any, ...]) -> Global:
    """`getattr(torch._C._VariableFunctions, "relu")`, as functions are saved: a longer name, nothing is looked up."""
    owner, name = arguments
    if not isinstance(owner, Global) or not isinstance(name, str):
        raise ValueError("an attribute of what is no name")
    return Global(str(owner), name)


def _rebuild_tensor(calls: Calls, arguments: tuple[Any, ...]) -> TensorRef:
    """(storage, offset, size, stride), and for v2 requires_grad and hooks."""
    return calls.tensor(*arguments[:4])


def _rebuild_tensor_v3(calls: Calls, arguments: tuple[Any, ...]) -> TensorRef:
    """(storage, offset, size, stride, requires_grad, hooks, dtype): the storage may be untyped."""
    dtype = arguments[6]
    if not (isinstance(dtype, Global) and dtype.module == "torch"):
        raise ValueError(f"a {type(dtype).__name__} is no dtype")
    storage, offset, shape, stride = arguments[:4]
    return calls.tensor(storage, offset, shape, stride, dtype.name)


def _first(calls: Calls, arguments: tuple[Any, ...]) -> Any:
    """A parameter is the tensor it holds."""
    if not isinstance(arguments[0], TensorRef):
        raise ValueError(f"a parameter of a {type(arguments[0]).__name__}")
    return arguments[0]


def _rebuild_from_type(calls: Calls, arguments: tuple[Any, ...]) -> object:
    """(function, type, arguments, state): a tensor with a type or attributes of its own is what the function makes."""
    function, _, inner, *_ = arguments
    if not isinstance(function, Global) or str(function) not in TENSORS or not isinstance(inner, tuple):
        raise ValueError("that is no function that makes a tensor")
    return TENSORS[str(function)](calls, inner)


Known = Callable[[Calls, tuple[Any, ...]], object]

TENSORS: dict[str, Known] = {
    "torch._utils._rebuild_tensor": _rebuild_tensor,
    "torch._utils._rebuild_tensor_v2": _rebuild_tensor,
    "torch._utils._rebuild_tensor_v3": _rebuild_tensor_v3,
    "torch._utils._rebuild_parameter": _first,
    "torch._utils._rebuild_parameter_with_state": _first,
}
KNOWN: dict[str, Known] = {
    **TENSORS,
    "torch._tensor._rebuild_from_type_v2": _rebuild_from_type,
    "torch.Size": _tuple,
    "collections.OrderedDict": _ordered_dict,
    "collections.Counter": _ordered_dict,
    "collections.defaultdict": _default_dict,
    "builtins.getattr": _getattr,
    "__builtin__.getattr": _getattr,
    "builtins.dict": _ordered_dict,
    "builtins.list": _list,
    "builtins.set": _list,
    "builtins.frozenset": _list,
    "builtins.tuple": _tuple,
    "__builtin__.set": _list,
    "__builtin__.frozenset": _list,
    "copyreg._reconstructor": _reconstructor,
    "copy_reg._reconstructor": _reconstructor,
    "copyreg.__newobj__": _new_object,
    "copy_reg.__newobj__": _new_object,
}
"""By name. `torch.float16` and the like are mentioned, never called."""
