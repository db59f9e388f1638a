"""What users of PyTorch look for first, and what it is called here.

    model.parameters()
    AttributeError: Mlp has no 'parameters'. Here it is model.visit(visitor); …

    minburn where view
    PyTorch's Tensor.view: here x.reshape([...])

Tensors do not say so themselves: a class with a `__getattr__` is slower at every attribute it has, which costs a small
training step a twentieth. docs/from-pytorch.md has more, and what lies behind the differences.
"""

from __future__ import annotations

from typing import Any

IN_PLACE = "x = x + 1, x = x.mask_fill(mask, value), and so on: a tensor never changes"

TENSOR = {
    "gelu": "activation.gelu(x), from minburn.tensor import activation",
    "log_softmax": "activation.log_softmax(x, dim), from minburn.tensor import activation",
    "relu": "activation.relu(x), from minburn.tensor import activation",
    "sigmoid": "activation.sigmoid(x), from minburn.tensor import activation",
    "softmax": "activation.softmax(x, dim), from minburn.tensor import activation",
    "add_": IN_PLACE,
    "copy_": IN_PLACE,
    "fill_": IN_PLACE,
    "mul_": IN_PLACE,
    "sub_": IN_PLACE,
    "zero_": IN_PLACE,
    "T": "x.transpose(), or x.t() of a matrix",
    "amax": "x.max_dim(dim)",
    "amin": "x.min_dim(dim)",
    "bmm": "x.matmul(y), or x @ y",
    "clamp_": IN_PLACE,
    "clip": "x.clamp(min, max)",
    "clone": "x itself: a tensor never changes, so nobody needs a copy",
    "contiguous": "x itself: strides are the backend's affair",
    "cpu": "x.to_device(backend)",
    "cuda": "x.to_device(CuPy(device=0))",
    "data": "x.detach(), or x.inner() on the backend below Autodiff",
    "dim": "x.rank",
    "double": "x.cast(DType.F64)",
    "eq": "x.equal(y), or x == y",
    "ge": "x.greater_equal(y), or x >= y",
    "gt": "x.greater(y), or x > y",
    "half": "x.cast(DType.F16)",
    "index_select": "x.select(dim, indices)",
    "le": "x.lower_equal(y), or x <= y",
    "long": "x.int()",
    "lt": "x.lower(y), or x < y",
    "masked_fill": "x.mask_fill(mask, value)",
    "mm": "x.matmul(y), or x @ y",
    "ndim": "x.rank",
    "ne": "x.not_equal(y), or x != y",
    "norm": "minburn.linalg.vector_norm(x, norm, dim)",
    "numel": "x.num_elements()",
    "pow": "x ** y, x.powf(y) or x.powi(y)",
    "requires_grad": "x.is_require_grad",
    "requires_grad_": "x = x.require_grad()",
    "size": "x.shape, or x.dims",
    "std": "x.var(dim).sqrt()",
    "swapaxes": "x.swap_dims(a, b)",
    "to": "x.to_device(backend), or x.cast(dtype)",
    "tolist": "x.numpy().tolist()",
    "type": "x.cast(dtype), x.int(), x.float() or x.bool()",
    "unbind": "x.iter_dim(dim)",
    "view": "x.reshape([...])",
    "where": "x.mask_where(mask, y), which takes y where the mask is true",
}

MODULE = {
    "apply": "model.map(mapper) or model.visit(visitor)",
    "cpu": "model.to_device(backend)",
    "cuda": "model.to_device(CuPy(device=0))",
    "eval": "model.valid(), which is another model: without gradients, dropout off",
    "half": "a backend of that dtype, NumPy(float_dtype=DType.F16)",
    "load": "model = model.load_file(path)",
    "load_state_dict": "model = model.load_record(record), or a store of minburn.store for what PyTorch saved",
    "modules": "model.visit(visitor); print(model.summary()) shows them",
    "named_parameters": "model.visit(visitor), whose path is the name",
    "parameters": "model.visit(visitor); an optimizer is given the model: optim.step(lr, model, grads)",
    "requires_grad_": "model = model.freeze() or model.unfreeze()",
    "save": "model.save_file(path)",
    "state_dict": "model.into_record()",
    "to": "model.to_device(backend)",
    "zero_grad": "nothing: gradients are a value that backward() returns, and nothing is left over",
}


def missing(owner: object, name: str) -> Any:
    """For `Module.__getattr__`: raises the error for an attribute that `owner` does not have."""
    if name in MODULE and not hasattr(type(owner), name):
        raise AttributeError(
            f"{type(owner).__name__} has no {name!r}. Here it is {MODULE[name]}.", name=name, obj=owner
        )
    return object.__getattribute__(owner, name)  # Python's own error, or the one inside a property
