"""What PyTorch keeps in one matrix, and we, as Burn, in several: the gates of recurrent layers, queries, keys, values.

    PyTorch                                            here, as in Burn
    lstm.weight_ih_l0 [4 · hidden, input]              lstm.input_gate.input_transform.weight, forget_gate, …
    lstm.weight_hh_l0 [4 · hidden, hidden]             lstm.input_gate.hidden_transform.weight, …
    gru.bias_ih_l0 [3 · hidden]                        gru.reset_gate.input_transform.bias, update_gate, new_gate
    attention.in_proj_weight [3 · d_model, d_model]    attention.query.weight, key, value
    attention.out_proj.weight                          attention.output.weight

A part is some rows of the whole. The second direction's names end in `_reverse`. On a load only: what is saved has
our names.
"""

from __future__ import annotations

from dataclasses import dataclass

from minburn.pack import TensorEntry
from minburn.store.place import Place

__all__ = ["Part", "part_of"]

# The order of the rows, by the class whose fields these are.
GATES = {
    "Lstm": ("input_gate", "forget_gate", "cell_gate", "output_gate"),
    "Gru": ("reset_gate", "update_gate", "new_gate"),
    "Rnn": ("gate",),
}
PROJECTIONS = ("query", "key", "value")
TRANSFORMS = {"input_transform": "ih", "hidden_transform": "hh"}
DIRECTIONS = {"forward": "", "reverse": "_reverse"}


@dataclass(frozen=True, slots=True)
class Part:
    """Rows `index / of … (index + 1) / of` of the tensor `name`."""

    name: str
    index: int
    of: int

    def cut(self, whole: TensorEntry) -> TensorEntry:
        """The part. A tensor that cannot be cut so is left whole: its shape is the error."""
        if not whole.shape or whole.shape[0] % self.of or whole.dtype.kind == "qfloat":
            return whole

        def produce() -> memoryview:
            view = memoryview(whole.view()).cast("B")
            size = len(view) // self.of
            return view[self.index * size : (self.index + 1) * size]

        shape = (whole.shape[0] // self.of, *whole.shape[1:])
        return TensorEntry.deferred(whole.name, whole.dtype, shape, produce)


def part_of(place: Place) -> Part | None:
    """Where PyTorch has a parameter that it keeps together with others."""
    names = place.name.split(".")
    owners = ["", "", "", *(container.partition(":")[2] for container in place.containers)]
    *_, both, layer_class, holder, owner = owners
    if owner != "Linear":
        return None
    if holder == "MultiHeadAttention":
        *prefix, layer, last = names
        if layer in PROJECTIONS:
            return Part(".".join([*prefix, f"in_proj_{last}"]), PROJECTIONS.index(layer), len(PROJECTIONS))
        return Part(".".join([*prefix, "out_proj", last]), 0, 1) if layer == "output" else None
    if holder == "GateController" and layer_class in GATES:
        *prefix, gate, transform, last = names
        direction = ""
        if both == f"Bi{layer_class}":
            direction = DIRECTIONS[prefix.pop()]
        gates = GATES[layer_class]
        name = f"{last}_{TRANSFORMS[transform]}_l0{direction}"
        return Part(".".join([*prefix, name]), gates.index(gate), len(gates))
    return None
