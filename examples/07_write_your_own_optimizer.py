"""07 - Write your own optimizer.

An optimizer is a rule for one tensor: from a parameter, its gradient and what was remembered, it makes the new
parameter and what to remember. Walking over a model, matching gradients to parameters, saving and loading: all that
comes with the adaptor, and is the same for Adam and for yours.

Ours is Rprop (Riedmiller and Braun, 1993; here without weight backtracking), which Burn does not have. It looks at the
sign of a gradient only. Every single weight has a step size of its own: as long as the sign stays, the step grows; when
it flips, the weight has jumped over a valley, and the step is halved.

    python examples/07_write_your_own_optimizer.py
"""

from dataclasses import dataclass
from pathlib import Path

from minburn import FloatTensor, Module
from minburn.backends import Autodiff, Backend, NumPy
from minburn.data import digits
from minburn.nn import CrossEntropyLoss, Linear, LinearConfig, Tanh
from minburn.optim import GradientsParams, OptimizerAdaptor, OptimizerRecord, SgdConfig, SimpleOptimizer
from minburn.pack import Reader

STEPS = 60


# What is remembered of one parameter: a frozen dataclass of tensors and numbers. Its field names become the names in
# the file, so an optimizer's record can be read years later.
@dataclass(frozen=True)
class RpropState:
    sign: FloatTensor
    size: FloatTensor


# The rule, and its settings. It is given plain tensors: no graph, nothing to switch off.
@dataclass(frozen=True)
class Rprop(SimpleOptimizer[RpropState]):
    grow: float = 1.2
    shrink: float = 0.5
    largest: float = 1.0

    def step(
        self, lr: float, tensor: FloatTensor, grad: FloatTensor, state: RpropState | None
    ) -> tuple[FloatTensor, RpropState]:
        sign = grad.sign()
        if state is None:  # a parameter's first step: every size is the learning rate
            size = grad.full_like(lr)
        else:
            agreement = sign * state.sign  # 1: as before, -1: flipped, 0: the gradient is or was zero
            factor = agreement.ones_like().mask_fill(agreement > 0.0, self.grow).mask_fill(agreement < 0.0, self.shrink)
            size = (state.size * factor).clamp(1e-7, self.largest)
            sign = sign.mask_fill(agreement < 0.0, 0.0)  # after a flip, rest for one step
        return tensor - sign * size, RpropState(sign=sign, size=size)


# Something to train. Rprop wants the whole gradient, not a batch's guess, so one batch holds all training digits.
class Net(Module):
    hidden: Linear
    output: Linear

    def forward(self, images: FloatTensor) -> FloatTensor:
        return self.output(Tanh()(self.hidden(images.flatten(1, 2))))


def net(backend: Backend) -> Net:
    return Net(hidden=LinearConfig(64, 32).init(backend), output=LinearConfig(32, 10).init(backend))


def step(lr: float, model: Net, optim: OptimizerAdaptor, batch: digits.Batch) -> tuple[Net, float]:
    loss = CrossEntropyLoss()(model(batch.images), batch.targets)
    grads = GradientsParams.from_grads(loss.backward(), model)
    return optim.step(lr, model, grads), loss.item()


backend = Autodiff(NumPy(seed=5))
train_set, valid_set = digits.split(valid=0.2, seed=5)
train = digits.Batcher(backend).batch(list(train_set))
valid = digits.Batcher(backend.inner).batch(list(valid_set))

losses: dict[str, float] = {}
for name, optim, lr in (("Rprop", OptimizerAdaptor(Rprop()), 0.01), ("Sgd", SgdConfig().init(), 0.5)):
    model = net(Autodiff(NumPy(seed=5)))  # the same initial weights for both
    for _ in range(STEPS):
        model, losses[name] = step(lr, model, optim, train)
    accuracy = 100.0 * float((model.valid()(valid.images).argmax(1).numpy().ravel() == valid.targets.numpy()).mean())
    print(f"{name:5}  after {STEPS} steps: loss {losses[name]:.6f}, accuracy on held-out digits {accuracy:.1f} %")
    if name == "Rprop":
        trained, rprop, rprop_accuracy = model, optim, accuracy

# Saving it was not our work. Write model and optimizer, read both into fresh ones, and take a step on either side.
folder = Path("runs/rprop")
folder.mkdir(parents=True, exist_ok=True)
trained.into_record().save(folder / "model")
rprop.into_record().save(folder / "optim")
loaded_model = net(backend).load_file(folder / "model")
loaded_optim = OptimizerAdaptor(Rprop()).load_record(OptimizerRecord.load(folder / "optim"))
with Reader.from_file(folder / "optim.bpk") as reader:
    for name in reader.names():
        print(f"  optim.bpk: {name} {list(reader[name].shape)}")
stepped_here = step(0.01, trained, rprop, train)[0]
stepped_there = step(0.01, loaded_model, loaded_optim, train)[0]

# The claims of this lesson.
assert stepped_here.into_record().into_bytes() == stepped_there.into_record().into_bytes(), (
    "the loaded optimizer went another way"
)
assert losses["Rprop"] < losses["Sgd"] / 2, f"Rprop should be well ahead of plain descent: {losses}"
assert rprop_accuracy >= 94.0, f"accuracy {rprop_accuracy:.1f} %, expected at least 94 %"
print("Forty lines for an optimizer, and it resumes to the last bit.")
