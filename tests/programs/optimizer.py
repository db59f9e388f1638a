"""A new optimizer is one class: a rule for one tensor, and what it remembers. The adaptor does the rest."""

import tempfile
from dataclasses import dataclass
from pathlib import Path

from minburn import FloatTensor, Tensor
from minburn.backends import Autodiff, NumPy
from minburn.nn import Linear, LinearConfig, MseLoss
from minburn.optim import GradientsParams, OptimizerAdaptor, OptimizerRecord, SimpleOptimizer


@dataclass(frozen=True)
class SignState:
    velocity: FloatTensor
    time: int


@dataclass(frozen=True)
class SignDescent(SimpleOptimizer[SignState]):
    momentum: float = 0.9

    def step(
        self, lr: float, tensor: FloatTensor, grad: FloatTensor, state: SignState | None
    ) -> tuple[FloatTensor, SignState]:
        if state is None:
            state = SignState(velocity=grad, time=1)
        else:
            state = SignState(velocity=state.velocity * self.momentum + grad, time=state.time + 1)
        return tensor - state.velocity.sign() * lr, state


backend = Autodiff(NumPy(seed=3))
model = LinearConfig(4, 1).init(backend)
optim = OptimizerAdaptor(SignDescent())
x = Tensor.random([64, 4], backend)  # Distribution.Default: uniform in [0, 1)
y = x.sum_dim(1)


def step(model: Linear, optim: OptimizerAdaptor) -> tuple[Linear, float]:
    loss = MseLoss()(model(x), y)
    return optim.step(0.01, model, GradientsParams.from_grads(loss.backward(), model)), loss.item()


for _ in range(200):
    model, loss = step(model, optim)
assert loss < 0.05, loss

# Its state is saved and resumed like Adam's: nothing to write.
path = Path(tempfile.mkdtemp()) / "optim"
optim.into_record().save(path)
resumed = OptimizerAdaptor(SignDescent()).load_record(OptimizerRecord.load(path))
(a, loss_a), (b, loss_b) = step(model, resumed), step(model, optim)
assert loss_a == loss_b and (a.weight.value.numpy() == b.weight.value.numpy()).all()
