"""10 - Second order.

Autodiff decorates a backend and gives a backend. So it can decorate the result once more, and gradients of gradients
need no code of their own. With them: the product of a Hessian and a vector, without ever writing down the Hessian, and
from it the largest learning rate at which gradient descent is stable.

    python examples/10_second_order.py
"""

import math

from minburn import Distribution, DType, FloatTensor, Module, ModuleMapper, ModuleVisitor, Param, Tensor
from minburn.backends import Autodiff, NumPy
from minburn.nn import Linear, LinearConfig, MseLoss, Tanh

once = Autodiff(NumPy(seed=13, float_dtype=DType.F64))
twice = Autodiff(once)

# A leaf of the lower level, lifted, becomes a leaf of the upper one. The backward pass of the upper level computes on
# the lower level, which records it: so what comes out can be differentiated again.
lower = Tensor.from_data([3.0], once).require_grad()
upper = Tensor.from_inner(lower, twice).require_grad()
slope = upper.grad((upper * upper * upper).sum().backward())
assert slope is not None
curvature = lower.grad(slope.sum().backward())
assert curvature is not None
print(f"x³ at 3: slope {slope.item():.0f} (3x²), curvature {curvature.item():.0f} (6x)")


# The same for all parameters of a model, which is built on the lower level.
class Net(Module):
    hidden: Linear
    output: Linear

    def forward(self, x: FloatTensor) -> FloatTensor:
        return self.output(Tanh()(self.hidden(x)))


class Lift(ModuleMapper):
    """The model on the upper level; what its parameters are made of still are the leaves of the lower one."""

    def map_float(self, param: Param[FloatTensor]) -> Param[FloatTensor]:
        return param.with_value(Tensor.from_inner(param.value, twice))


class Leaves(ModuleVisitor):
    def __init__(self, model: Module) -> None:
        self.tensors: list[FloatTensor] = []
        model.visit(self)

    def visit_float(self, param: Param[FloatTensor]) -> None:
        self.tensors.append(param.value)


class Move(ModuleMapper):
    """A step of size `scale` along a direction, which has a plain tensor for each parameter in their order."""

    def __init__(self, direction: list[FloatTensor], scale: float) -> None:
        self.direction = iter(direction)
        self.scale = scale

    def map_float(self, param: Param[FloatTensor]) -> Param[FloatTensor]:
        step = Tensor.from_inner(next(self.direction), once) * self.scale
        return param.map(lambda value: value + step)


inputs = Tensor.random([32, 3], once, Distribution.Normal(0.0, 1.0))
targets = Tensor.random([32, 2], once, Distribution.Normal(0.0, 1.0))


def gradients(model: Net | Linear) -> list[FloatTensor]:
    """The gradients of the loss, on the level below the model's: plain, or recorded if the model was lifted."""
    x, y = inputs, targets
    leaves = Leaves(model).tensors
    if leaves[0].backend is twice:
        x, y = Tensor.from_inner(x, twice), Tensor.from_inner(y, twice)
    of = MseLoss()(model(x), y).backward()
    return [grad for leaf in leaves if (grad := leaf.grad(of)) is not None]


def dot(left: list[FloatTensor], right: list[FloatTensor]) -> FloatTensor:
    products = [(a * b).sum() for a, b in zip(left, right, strict=True)]
    return Tensor.cat(products, dim=0).sum()


def hessian_times(model: Net | Linear, direction: list[FloatTensor]) -> list[FloatTensor]:
    """H·v is the gradient of g·v, as v is constant: one more backward pass, and no matrix of second derivatives."""
    slopes = gradients(model.map(Lift()))
    of = dot(slopes, [Tensor.from_inner(tensor, once) for tensor in direction]).backward()
    # (A parameter that the slopes do not depend on would have None here. The loss squares its error, so there is none.)
    return [grad for leaf in Leaves(model).tensors if (grad := leaf.grad(of)) is not None]


def random_direction(model: Net | Linear) -> list[FloatTensor]:
    return [Tensor.random(leaf.shape, once.inner, Distribution.Normal(0.0, 1.0)) for leaf in Leaves(model).tensors]


# Is it right? Walk a little along v and back, and see how the gradients change.
net = Net(hidden=LinearConfig(3, 5).init(once), output=LinearConfig(5, 2).init(once))
v = random_direction(net)
h = 1e-5
above, below = gradients(net.map(Move(v, h))), gradients(net.map(Move(v, -h)))
product = hessian_times(net, v)
worst = max((p - (a - b) / (2 * h)).abs().max().item() for p, a, b in zip(product, above, below, strict=True))
print(f"H·v of a network with {net.num_params()} parameters: largest difference from finite differences {worst:.1e}")

# Where a loss is quadratic, as a linear model's, gradient descent is stable up to the rate 2/λ, λ being the largest
# eigenvalue of H. H·v over and over turns any v towards the eigenvector of that one, and stretches it by λ.
linear = LinearConfig(3, 2).init(once)
v = random_direction(linear)
for _ in range(200):
    length = math.sqrt(dot(v, v).item())
    v = hessian_times(linear, [tensor / length for tensor in v])
largest = math.sqrt(dot(v, v).item())
print(f"the largest eigenvalue of a linear model's Hessian is {largest:.4f}: stable up to the rate {2 / largest:.4f}")


def gradient_after(rate: float, steps: int) -> float:
    """How long the gradient is after so many steps."""
    model = linear
    for _ in range(steps):
        model = model.map(Move(gradients(model), -rate))
    slopes = gradients(model)
    return math.sqrt(dot(slopes, slopes).item())


below_limit, above_limit = gradient_after(0.97 * 2 / largest, 300), gradient_after(1.03 * 2 / largest, 300)
print(f"300 steps at 97 % of it end with a gradient of {below_limit:.1e}, at 103 % with one of {above_limit:.1e}")

# The claims of this lesson.
assert (slope.item(), curvature.item()) == (27.0, 18.0), "the derivatives of x³ at 3 are 27 and 18"
assert worst < 1e-7, f"the Hessian-vector product is off by {worst}"
assert below_limit < 1e-3 and above_limit > 1e3, "the stable rate was not found"
print("Second derivatives are right, and tell where training would explode.")
