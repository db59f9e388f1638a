"""08 - A visitor and a mapper.

Whatever treats all parameters of a model alike is one of two things: a visitor reads them, a mapper makes a model with
others. Counting, freezing, records and optimizers are written this way, and so is what you need that nobody has thought
of. Here: a table of a model's parameters, and pruning: of a trained network, four weights in five can be set to zero.

    python examples/08_a_visitor_and_a_mapper.py
"""

import numpy as np

from minburn import BoolTensor, FloatTensor, Module, ModuleMapper, ModuleVisitor, Param, ParamId
from minburn.backends import Autodiff, NumPy
from minburn.data import DataLoader, digits
from minburn.nn import CrossEntropyLoss, Linear, LinearConfig, Relu
from minburn.optim import AdamConfig, GradientsParams

PRUNED = 0.8


class Net(Module):
    layers: list[Linear]  # a list of modules is a field like any other: its paths are layers.0.weight, layers.0.bias …
    output: Linear

    def forward(self, images: FloatTensor) -> FloatTensor:
        x = images.flatten(1, 2)
        for layer in self.layers:
            x = Relu()(layer(x))
        return self.output(x)


# A visitor overrides what it wants to see. `self.path` says where it is.
class Table(ModuleVisitor):
    def visit_float(self, param: Param[FloatTensor]) -> None:
        value = param.value.numpy()
        print(f"  {self.path:16} {list(value.shape)!s:10} {(value == 0.0).mean():6.1%} zeros")


# It can collect anything. To prune the smallest weights of the whole model we need them all beside each other. Biases
# are few and count for much: they are left alone, here and below.
class Magnitudes(ModuleVisitor):
    def __init__(self) -> None:
        self.found: list[np.ndarray] = []

    def visit_float(self, param: Param[FloatTensor]) -> None:
        if self.path.endswith("weight"):
            self.found.append(param.value.abs().numpy().ravel())


# A mapper returns what a parameter becomes. `param.map` keeps its identity, so that an optimizer still knows it.
class Prune(ModuleMapper):
    def __init__(self, threshold: float) -> None:
        self.threshold = threshold

    def map_float(self, param: Param[FloatTensor]) -> Param[FloatTensor]:
        if not self.path.endswith("weight"):
            return param
        return param.map(lambda weight: weight.mask_fill(weight.abs() < self.threshold, 0.0))


# Training on would fill the zeros again. This pair keeps them: one notes, by the identity of the parameter, where a
# model has zeros, the other puts them back into any later version of that model.
class NoteZeros(ModuleVisitor):
    def __init__(self) -> None:
        self.masks: dict[ParamId, BoolTensor] = {}

    def visit_float(self, param: Param[FloatTensor]) -> None:
        self.masks[param.id] = param.value == 0.0


class KeepZeros(ModuleMapper):
    def __init__(self, masks: dict[ParamId, BoolTensor]) -> None:
        self.masks = masks

    def map_float(self, param: Param[FloatTensor]) -> Param[FloatTensor]:
        return param.map(lambda value: value.mask_fill(self.masks[param.id], 0.0))


backend = Autodiff(NumPy(seed=3))
train_set, valid_set = digits.split(valid=0.2, seed=3)
loader = DataLoader(train_set, digits.Batcher(backend), batch_size=64, shuffle=True, seed=3)
valid = digits.Batcher(backend.inner).batch(list(valid_set))


def train(model: Net, epochs: int, after_step: ModuleMapper) -> Net:
    optim = AdamConfig().init()
    for _ in range(epochs):
        for batch in loader:
            loss = CrossEntropyLoss()(model(batch.images), batch.targets)
            model = optim.step(2e-3, model, GradientsParams.from_grads(loss.backward(), model)).map(after_step)
    return model


def show(title: str, model: Net) -> float:
    guesses = model.valid()(valid.images).argmax(1).numpy().ravel()
    accuracy = 100.0 * float((guesses == valid.targets.numpy()).mean())
    print(f"{title}: {model.num_params():,} parameters, accuracy on held-out digits {accuracy:.1f} %")
    model.visit(Table())
    return accuracy


layers = [LinearConfig(64, 128).init(backend), LinearConfig(128, 64).init(backend)]
untrained = Net(layers=layers, output=LinearConfig(64, 10).init(backend))
dense = train(untrained, epochs=15, after_step=ModuleMapper())  # the mapper that maps nothing
dense_accuracy = show("trained", dense)
bytes_before = dense.into_record().into_bytes()

magnitudes = Magnitudes()
dense.visit(magnitudes)
sparse = dense.map(Prune(threshold=float(np.quantile(np.concatenate(magnitudes.found), PRUNED))))
pruned_accuracy = show("pruned", sparse)

zeros = NoteZeros()
sparse.visit(zeros)
retrained = train(sparse, epochs=10, after_step=KeepZeros(zeros.masks))
retrained_accuracy = show("retrained", retrained)

# The claims of this lesson.
assert dense.into_record().into_bytes() == bytes_before, "a mapper changed the model that it was given"
still = NoteZeros()
retrained.visit(still)
assert all((still.masks[id].numpy() >= mask.numpy()).all() for id, mask in zeros.masks.items()), "a zero was filled"
assert retrained_accuracy >= dense_accuracy - 2.0, (
    f"{retrained_accuracy:.1f} % after pruning, {dense_accuracy:.1f} % before"
)
print(f"{PRUNED:.0%} of the weights are zero, and it reads digits as before.")
