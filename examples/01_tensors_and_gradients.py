"""01 - Tensors and gradients.

A tensor lives on a backend, has a kind and a shape, and never changes. Gradients are not stored on tensors:
`backward()` returns them. With these two facts we fit a line by gradient descent, and check one gradient against finite
differences.

    python examples/01_tensors_and_gradients.py
"""

from minburn import Distribution, DType, FloatTensor, IntTensor, Tensor
from minburn.backends import Autodiff, NumPy

# A backend is a value that you pass on, not a global switch. Its dtype and its seed belong to it: every tensor of
# floats that is made on this one has 64 bits, and the same script draws the same random numbers each time.
plain = NumPy(seed=1, float_dtype=DType.F64)

# What can be done with a tensor depends on what it holds. Three kinds: floats, ints and bools.
matrix = Tensor.from_data([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], plain)
classes = Tensor.from_data([2, 0], plain)
assert isinstance(matrix, FloatTensor) and isinstance(classes, IntTensor)
print(matrix)
print("rows where the sum exceeds 10:", (matrix.sum_dim(1) > 10.0).numpy().ravel().tolist())

# Shapes follow Burn's rules, which are strict so that slips are found where they happen. A reduction keeps its
# dimension; the sum of everything has one element; two operands have equal ranks and broadcast over sizes of 1.
assert matrix.sum_dim(1).shape == (2, 1) and matrix.sum().shape == (1,)
row_means = matrix.mean_dim(1)
print("centered rows:", (matrix - row_means).numpy().tolist())
try:
    matrix + Tensor.from_data([1.0, 2.0, 3.0], plain)
except ValueError as error:
    print("refused:", error)

# Autodiff is a backend, too: it decorates another one and notes how each float was computed. Only what depends on a
# tensor that `require_grad()` was called on is noted.
backend = Autodiff(plain)
x = Tensor.from_data([[0.5, -0.3]], backend).require_grad()
weights = Tensor.from_data([[0.5], [2.0]], backend)
y = x.matmul(weights).tanh().sum()

# The gradients come out as a container of their own, and we ask for the one we want. They are plain tensors, with no
# graph behind them. `weights` was not asked for, so it has none.
gradients = y.backward()
gradient = x.grad(gradients)
assert gradient is not None and weights.grad(gradients) is None
print("dy/dx by autodiff:           ", *(f"{number:.8f}" for number in gradient.numpy().ravel()))

# Do not believe it, measure it: move one coordinate by ±h and see what y does.
h = 1e-6
measured = []
for column in range(2):
    step = Tensor.from_data([[h if i == column else 0.0 for i in range(2)]], plain)
    above, below = ((x.inner() + sign * step).matmul(weights.inner()).tanh().sum().item() for sign in (1, -1))
    measured.append((above - below) / (2 * h))
print("dy/dx by finite differences: ", *(f"{number:.8f}" for number in measured))

# Gradient descent needs nothing else. 100 noisy points of the line 3x - 2:
inputs = Tensor.random([100, 1], backend, Distribution.Uniform(-1.0, 1.0))
noise = Tensor.random([100, 1], backend, Distribution.Normal(0.0, 0.1))
targets = inputs * 3.0 - 2.0 + noise

slope, offset = Tensor.zeros([1, 1], plain), Tensor.zeros([1, 1], plain)
for number in range(200):
    # Each round lifts the two numbers onto the recording backend, as the start of a new graph …
    slope_here = Tensor.from_inner(slope, backend).require_grad()
    offset_here = Tensor.from_inner(offset, backend).require_grad()
    loss = (inputs * slope_here + offset_here - targets).square().mean()
    gradients = loss.backward()
    # … and walks a little downhill. `-` makes a new tensor; the old one is as it was.
    slope_gradient, offset_gradient = slope_here.grad(gradients), offset_here.grad(gradients)
    assert slope_gradient is not None and offset_gradient is not None  # None: the loss does not depend on it
    slope = slope - slope_gradient * 0.3
    offset = offset - offset_gradient * 0.3
    if number in (0, 1, 2, 10, 199):
        print(f"step {number:3}   loss {loss.item():.4f}   y = {slope.item():+.3f} x {offset.item():+.3f}")

# The claims of this lesson.
worst = max(abs(a - b) for a, b in zip(gradient.numpy().ravel(), measured, strict=True))
assert worst < 1e-8, f"autodiff and finite differences differ by {worst}"
assert abs(slope.item() - 3.0) < 0.05 and abs(offset.item() + 2.0) < 0.05, "the line was not found"
print("The gradient is right and the line is found.")
