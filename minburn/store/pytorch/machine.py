"""A machine for pickles that can do nothing but put values together.

A pickle is a program for a stack machine. Python's runs it for real: `GLOBAL` imports, `REDUCE` calls. This one has
the same opcodes over the values of objects.py: a global is a name, and to call one is to ask a function of ours what
it stands for (calls.py), which knows a few names and refuses the others. So no code is imported, called or changed,
whatever a file says; sizes and counts are bounded.

What opcodes there are and how their arguments are encoded is taken from `pickletools`, of the standard library.

Burn: the crate `pytorch-reader`.
"""

from __future__ import annotations

import pickletools
from collections.abc import Callable
from typing import IO, Any, cast

from minburn.store.error import StoreError
from minburn.store.files import Cursor
from minburn.store.pytorch.objects import Call, Global, Instance, Opaque, PersistentLoad

MAX_PICKLE = 100 << 20
MAX_OPCODES = 5_000_000

_PUSH_ARGUMENT = frozenset(
    {"INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT"}
    | {"STRING", "BINSTRING", "SHORT_BINSTRING", "UNICODE", "SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8"}
    | {"BINBYTES", "SHORT_BINBYTES", "BINBYTES8", "BYTEARRAY8"}
)
_PUSH_CONSTANT = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False, "EMPTY_TUPLE": ()}
_PUSH_NEW: dict[str, Callable[[], Any]] = {"EMPTY_LIST": list, "EMPTY_DICT": dict, "EMPTY_SET": list}
_TUPLES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}
_NOTHING = frozenset({"PROTO", "FRAME"})


class _Mark:
    """Where a run of values on the stack begins."""


_MARK = _Mark()


class Machine:
    """Runs pickles of one file.

    call: what a call of a name is. persistent_load: what a persistent id is, or None where there are none.
    """

    def __init__(self, where: str, call: Call, persistent_load: PersistentLoad | None = None) -> None:
        self._where = where
        self._call = call
        self._persistent_load = persistent_load
        self._position = 0
        self._opcodes = 0
        self._stack: list[Any] = []
        self._marks: list[int] = []
        self._memo: dict[int, Any] = {}
        self._actions: dict[str, Callable[[Any], None]] = {
            "MARK": lambda _: self._mark(),
            "POP": lambda _: self._pop_any(),
            "POP_MARK": lambda _: self._drop_to_mark(),
            "DUP": lambda _: self._push(self._top()),
            "APPEND": lambda _: self._extend([self._pop()]),
            "APPENDS": lambda _: self._extend(self._until_mark()),
            "ADDITEMS": lambda _: self._extend(self._until_mark()),
            "LIST": lambda _: self._push(self._until_mark()),
            "FROZENSET": lambda _: self._push(self._until_mark()),
            "TUPLE": lambda _: self._push(tuple(self._until_mark())),
            "DICT": lambda _: self._dict(),
            "SETITEM": lambda _: self._set_items([self._pop(), self._pop()][::-1]),
            "SETITEMS": lambda _: self._set_items(self._until_mark()),
            "GET": self._get,
            "BINGET": self._get,
            "LONG_BINGET": self._get,
            "PUT": self._put,
            "BINPUT": self._put,
            "LONG_BINPUT": self._put,
            "MEMOIZE": lambda _: self._put(len(self._memo)),
            "GLOBAL": lambda name: self._push(Global(*name.split(" ", 1))),
            "STACK_GLOBAL": lambda _: self._stack_global(),
            "REDUCE": lambda _: self._reduce(),
            "NEWOBJ": lambda _: self._new(1),
            "NEWOBJ_EX": lambda _: self._new(2),
            "INST": lambda name: self._apply(Global(*name.split(" ", 1)), tuple(self._until_mark())),
            "OBJ": lambda _: self._obj(),
            "BUILD": lambda _: self._build(),
            "PERSID": self._persistent,
            "BINPERSID": lambda _: self._persistent(self._pop()),
        }

    def run(self, cursor: Cursor) -> Any:
        """The value of the pickle at the cursor, which then stands behind it."""
        self._stack, self._marks, self._memo = [], [], {}
        end = cursor.end
        cursor.end = min(end, cursor.position + MAX_PICKLE)
        try:
            for opcode, argument, position in pickletools.genops(cast("IO[bytes]", cursor)):
                self._position = position or 0
                self._count(1)
                if opcode.name == "STOP":
                    break
                self._step(opcode.name, argument)
        except StoreError:
            raise
        except (ValueError, OverflowError, Warning) as error:  # a Warning, where users make errors of them
            raise self._error(f"it cannot be decoded: {str(error)[:200]!r}") from error
        finally:
            cursor.end = end
        return self._pop()

    def _count(self, steps: int) -> None:
        self._opcodes += steps
        if self._opcodes > MAX_OPCODES:
            raise self._error(f"it has more than {MAX_OPCODES} opcodes")

    def _step(self, name: str, argument: Any) -> None:
        if name in _PUSH_ARGUMENT:
            self._stack.append(argument)
        elif (action := self._actions.get(name)) is not None:
            action(argument)
        elif name in _PUSH_CONSTANT:
            self._stack.append(_PUSH_CONSTANT[name])
        elif name in _PUSH_NEW:
            self._stack.append(_PUSH_NEW[name]())
        elif name in _TUPLES:
            self._push(tuple([self._pop() for _ in range(_TUPLES[name])][::-1]))
        elif name not in _NOTHING:
            raise self._error(f"it uses {name}, which checkpoints do not need")

    # The stack

    def _push(self, value: Any) -> None:
        self._stack.append(value)

    def _top(self) -> Any:
        if not self._stack or self._stack[-1] is _MARK:
            raise self._error("it takes a value from an empty stack")
        return self._stack[-1]

    def _pop(self) -> Any:
        value = self._top()
        self._stack.pop()
        return value

    def _pop_any(self) -> None:
        if self._stack and self._stack[-1] is _MARK:
            self._marks.pop()
            self._stack.pop()
        else:
            self._pop()

    def _mark(self) -> None:
        self._marks.append(len(self._stack))
        self._stack.append(_MARK)

    def _until_mark(self) -> list[Any]:
        if not self._marks:
            raise self._error("it takes values up to a mark that is not there")
        start = self._marks.pop()
        values = self._stack[start + 1 :]
        del self._stack[start:]
        return values

    def _drop_to_mark(self) -> None:
        self._until_mark()

    def _put(self, index: int) -> None:
        self._memo[index] = self._top()

    def _get(self, index: int) -> None:
        if index not in self._memo:
            raise self._error(f"it asks for value {index}, which it has not stored")
        self._push(self._memo[index])

    # Containers

    def _extend(self, values: list[Any]) -> None:
        target = self._top()
        if isinstance(target, Instance):
            target.elements.extend(values)
        elif isinstance(target, list):
            target.extend(values)
        elif not isinstance(target, Opaque):
            raise self._error(f"it appends to a {type(target).__name__}")

    def _dict(self) -> None:
        pairs = self._until_mark()
        self._push({})
        self._set_items(pairs)

    def _set_items(self, flat: list[Any]) -> None:
        target = self._top()
        items = target.items if isinstance(target, Instance) else target
        if isinstance(target, Opaque):
            return
        if not isinstance(items, dict) or len(flat) % 2:
            raise self._error(f"it sets items of a {type(target).__name__}")
        for key, value in zip(flat[::2], flat[1::2], strict=True):
            items[as_key(key)] = value

    # Names, calls, objects

    def _stack_global(self) -> None:
        name, module = self._pop(), self._pop()
        if not isinstance(name, str) or not isinstance(module, str):
            raise self._error("it names a global by something that is no text")
        self._push(Global(module, name))

    def _reduce(self) -> None:
        arguments, function = self._pop(), self._pop()
        self._apply(function, arguments)

    def _obj(self) -> None:
        values = self._until_mark()
        if not values:
            raise self._error("it makes an object of no class")
        self._apply(values[0], tuple(values[1:]))

    def _apply(self, function: Any, arguments: Any) -> None:
        if not isinstance(function, Global):
            raise self._error(f"it calls a {type(function).__name__}, which is no name")
        if not isinstance(arguments, tuple):
            raise self._error(f"it calls {function} with a {type(arguments).__name__}")
        self._push(self._call(function, arguments))

    def _new(self, arguments: int) -> None:
        values = [self._pop() for _ in range(arguments)]
        cls = self._pop()
        if not isinstance(cls, Global):
            raise self._error(f"it makes an object of a {type(cls).__name__}, which is no class ({len(values)} values)")
        self._push(Instance(cls))

    def _build(self) -> None:
        state = self._pop()
        target = self._top()
        if isinstance(target, Global):
            raise self._error(f"it sets attributes of {target}")
        if not isinstance(target, Instance):
            return  # attributes of a dict or a tensor: no tensor that has a name
        parts = [part for part in (state if isinstance(state, tuple) else (state,)) if isinstance(part, dict)]
        if len(parts) > 1:  # the second one holds slots
            self._count(sum(map(len, parts)))
            parts = [{key: value for part in parts for key, value in part.items()}]
        if parts:
            target.state = parts[0]

    def _persistent(self, id: Any) -> None:
        if self._persistent_load is None:
            raise self._error("it refers to tensors that lie outside of it, and there is no outside")
        self._push(self._persistent_load(id))

    def _error(self, text: str) -> StoreError:
        return StoreError(f"{self._where}: the pickle is refused at byte {self._position}: {text}.")


def as_key(key: Any) -> Any:
    """A key that can be hashed quickly. Those that no name is made of become values that equal nothing."""
    if isinstance(key, (str, bytes, float)) or key is None:
        return key
    return key if isinstance(key, int) and -(2**63) <= key < 2**63 else Opaque()
