"""02 - A network by hand.

XOR, learned three times from the same initial weights: with the backward pass written out, with autodiff, and with a
Module and an optimizer. Three times the same numbers, so there is nothing in the later lessons that you could not write
yourself.

    python examples/02_a_network_by_hand.py
"""

import numpy as np

from minburn import Distribution, FloatTensor, Module, Param, Tensor
from minburn.backends import Autodiff, NumPy
from minburn.nn import Linear, MseLoss, Tanh
from minburn.optim import GradientsParams, SgdConfig

STEPS = 300
RATE = 0.1

plain = NumPy(seed=7)
inputs = Tensor.from_data([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], plain)  # [4, 2]
targets = Tensor.from_data([[0.0], [1.0], [1.0], [0.0]], plain)  # [4, 1]

# Eight hidden units: prediction = tanh(x · W1 + b1) · W2 + b2.
start = {
    "W1": Tensor.random([2, 8], plain, Distribution.Uniform(-1.0, 1.0)),
    "b1": Tensor.zeros([1, 8], plain),
    "W2": Tensor.random([8, 1], plain, Distribution.Uniform(-1.0, 1.0)),
    "b2": Tensor.zeros([1, 1], plain),
}

# ---- First: everything by hand. --------------------------------------------------------------------------------------
W1, b1, W2, b2 = start.values()
by_hand = []
for _ in range(STEPS):
    # Forward, keeping what the way back needs.
    hidden = (inputs.matmul(W1) + b1).tanh()  # [4, 8]
    prediction = hidden.matmul(W2) + b2  # [4, 1]
    difference = prediction - targets
    by_hand.append(difference.square().mean().item())

    # Backward: the chain rule from the loss to each weight. The loss is the mean of four squares, so each prediction
    # moves it by 2 · difference / 4. A bias is added to every row, so its gradient is the sum over the rows.
    d_prediction = difference * (2.0 / 4.0)
    d_W2 = hidden.transpose().matmul(d_prediction)
    d_b2 = d_prediction.sum_dim(0)
    d_hidden = d_prediction.matmul(W2.transpose())
    d_sum = d_hidden * (1.0 - hidden.square())  # tanh' = 1 - tanh²
    d_W1 = inputs.transpose().matmul(d_sum)
    d_b1 = d_sum.sum_dim(0)

    # Update: a step against the gradient.
    W1, b1, W2, b2 = W1 - d_W1 * RATE, b1 - d_b1 * RATE, W2 - d_W2 * RATE, b2 - d_b2 * RATE

# ---- Second: autodiff writes the backward pass. ----------------------------------------------------------------------
backend = Autodiff(plain)
inputs, targets = Tensor.from_inner(inputs, backend), Tensor.from_inner(targets, backend)
weights = start
by_autodiff = []
for _ in range(STEPS):
    here = {name: Tensor.from_inner(tensor, backend).require_grad() for name, tensor in weights.items()}
    prediction = (inputs.matmul(here["W1"]) + here["b1"]).tanh().matmul(here["W2"]) + here["b2"]
    loss = (prediction - targets).square().mean()
    by_autodiff.append(loss.item())
    gradients = loss.backward()
    found = {name: tensor.grad(gradients) for name, tensor in here.items()}
    weights = {name: weights[name] - grad * RATE for name, grad in found.items() if grad is not None}


# ---- Third: a Module holds the weights, an optimizer updates them. ---------------------------------------------------
# A module is a record of its fields: layers, parameters, settings. It is a value like a tensor: nothing changes it.
class Xor(Module):
    hidden: Linear
    output: Linear
    activation: Tanh

    def forward(self, x: FloatTensor) -> FloatTensor:
        return self.output(self.activation(self.hidden(x)))


# Usually LinearConfig(2, 8).init(backend) makes a layer and draws its weights. Here it gets the ones from above.
parameter = {
    name: Param.from_tensor(Tensor.from_inner(tensor.squeeze_dim(0) if "b" in name else tensor, backend))
    for name, tensor in start.items()
}
model = Xor(
    hidden=Linear(weight=parameter["W1"], bias=parameter["b1"]),
    output=Linear(weight=parameter["W2"], bias=parameter["b2"]),
    activation=Tanh(),
)
optim = SgdConfig().init()
by_module = []
for _ in range(STEPS):
    loss = MseLoss()(model(inputs), targets)
    by_module.append(loss.item())
    by_parameter = GradientsParams.from_grads(loss.backward(), model)
    model = optim.step(RATE, model, by_parameter)  # a new model: bind the name again

print("step     by hand      autodiff     module")
for step in (0, 1, 10, 50, 100, 200, STEPS - 1):
    print(f"{step:4}   {by_hand[step]:.8f}   {by_autodiff[step]:.8f}   {by_module[step]:.8f}")
answers = model(inputs).numpy().ravel()
print("XOR of 00, 01, 10, 11:", *(f"{answer:.3f}" for answer in answers))

# The claims of this lesson. The gradients are computed in another order here and there, so that the last bits of 32 may
# differ.
assert np.allclose(by_hand, by_autodiff, rtol=1e-3, atol=1e-6), "by hand and autodiff disagree"
assert np.allclose(by_autodiff, by_module, rtol=1e-3, atol=1e-6), "autodiff and module disagree"
assert (answers > 0.5).tolist() == [False, True, True, False], "XOR was not learned"
print("Three ways, one result.")
