"""A step may write new moments over old ones: nobody may be able to tell."""

import numpy as np
import pytest

from minburn import Tensor
from minburn.backends import Autodiff, BackendError, NumPy
from minburn.backends.elementwise import Column, trace
from minburn.nn import Linear, LinearConfig, MseLoss
from minburn.optim import AdamConfig, GradientsParams, OptimizerAdaptor

SIZES = [(3, 2), (300, 200)]  # packed with others, and large enough to stand alone


def stepped(model: Linear, optim: OptimizerAdaptor, x: Tensor) -> Linear:
    loss = MseLoss()(model(x), x.sum_dim(1).expand([x.shape[0], model.weight.shape[1]]))
    return optim.step(0.01, model, GradientsParams.from_grads(loss.backward(), model))


@pytest.mark.parametrize(("d_input", "d_output"), SIZES)
def test_looking_at_the_states_between_steps_changes_nothing(d_input: int, d_output: int) -> None:
    backend = Autodiff(NumPy(seed=5))
    start = LinearConfig(d_input, d_output).init(backend)
    x = Tensor.random([16, d_input], backend)
    watched, alone = AdamConfig().init(), AdamConfig().init()
    seen, unseen = start, start
    blobs = []
    for _ in range(5):
        seen, unseen = stepped(seen, watched, x), stepped(unseen, alone, x)
        record = watched.into_record()
        blobs.append((record, record.into_bytes()))
    assert np.array_equal(seen.weight.value.numpy(), unseen.weight.value.numpy())
    assert watched.into_record().into_bytes() == alone.into_record().into_bytes()
    assert all(record.into_bytes() == blob for record, blob in blobs)  # the steps after them wrote elsewhere


def test_models_of_earlier_steps_stay_what_they_were() -> None:
    backend = Autodiff(NumPy(seed=6))
    model, optim, x = LinearConfig(300, 200).init(backend), AdamConfig().init(), Tensor.random([8, 300], backend)
    models, copies = [], []
    for _ in range(4):
        model = stepped(model, optim, x)
        models.append(model)
        copies.append(model.weight.value.numpy().copy())
    assert all(np.array_equal(m.weight.value.numpy(), copy) for m, copy in zip(models, copies, strict=True))


def test_what_was_given_up_is_not_read_again() -> None:
    floats = NumPy().floats
    program = trace(lambda x: x * 2.0, inputs=1, scalars=0)
    [first] = floats.run_elementwise([[floats.ones((2,)), floats.ones((3,))]], program, ())
    assert isinstance(first, Column)
    first.give_up()
    [second] = floats.run_elementwise([first], program, ())
    assert [array.tolist() for array in second] == [[4, 4], [4, 4, 4]]
    with pytest.raises(BackendError, match="given up"):
        first[0]
    with pytest.raises(BackendError, match="given up"):
        floats.run_elementwise([first], program, ())


def test_what_somebody_has_looked_at_is_left_alone() -> None:
    floats = NumPy().floats
    program = trace(lambda x: x * 2.0, inputs=1, scalars=0)
    [first] = floats.run_elementwise([[floats.ones((40_000,))]], program, ())
    held = first[0]
    first.give_up()
    floats.run_elementwise([first], program, ())
    assert (held == 2).all()
