"""A module of two parameters, as the golden cases have it, and ways to make gradients for it."""

import numpy as np

from minburn.backends import Autodiff, NumPy
from minburn.dtype import DType
from minburn.module import Module, Param, ParamId
from minburn.optim import GradientsParams
from minburn.tensor import FloatTensor, Tensor

DTYPES = {"F32": DType.F32, "F64": DType.F64, "F16": DType.F16}


class Pair(Module):
    w: Param[FloatTensor]
    b: Param[FloatTensor]


def backend_of(dtype="F32"):
    return Autodiff(NumPy(seed=0, float_dtype=DTYPES[dtype]))


def param(id, values, backend, require_grad=True):
    return Param.initialized(ParamId(id), Tensor.from_floats(values, backend), require_grad=require_grad)


def pair(w, b, backend, require_grad=True):
    return Pair(w=param(11, w, backend, require_grad), b=param(22, b, backend, require_grad))


def gradients(by_id, backend):
    grads = GradientsParams()
    for id, values in by_id.items():
        grads.register(id, Tensor.from_floats(values, backend.inner))
    return grads


def random_pair(seed=0, dtype="F32"):
    rng = np.random.default_rng(seed)
    return pair(rng.normal(size=(3, 4)), rng.normal(size=4), backend_of(dtype))


def random_gradients(seed, model):
    rng = np.random.default_rng(seed)
    return gradients({p.id: rng.normal(size=p.shape) for p in (model.w, model.b)}, model.w.backend)


def values(model):
    return {"w": model.w.value.numpy(), "b": model.b.value.numpy()}


def same_bits(left, right):
    return all(
        left[name].dtype == right[name].dtype and left[name].tobytes() == right[name].tobytes()
        for name in left.keys() | right.keys()
    )
