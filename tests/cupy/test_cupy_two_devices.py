"""Two GPUs: each works alone, copies go from one to the other, and nothing mixes them by mistake."""

from __future__ import annotations

import cupy
import numpy as np
import pytest
from device import DEVICES, EMULATED, counted
from models import TASKS, Task, Trainer

from minburn import Tensor
from minburn.backends import Autodiff, BackendError, CuPy, Device, NumPy
from minburn.tensor import DeviceError

if DEVICES < 2:
    pytest.skip("there is one GPU", allow_module_level=True)
HERE, OTHER = CuPy(device=0, seed=3), CuPy(device=1, seed=3)


def test_a_second_device_works_alone_and_does_not_mix_with_the_first() -> None:
    tensor = Tensor.from_data([[1.0, -2.0]], Autodiff(OTHER)).require_grad()
    loss = (tensor * tensor).sum()
    grad = tensor.grad(loss.backward())
    assert grad is not None and grad.device == Device("cuda", 1) and grad.numpy().tolist() == [[2, -4]]
    assert grad.primitive.device.id == 1 and cupy.cuda.Device().id == 0
    first = Tensor.from_data([[1.0, -2.0]], HERE)
    with pytest.raises(DeviceError, match=r"cuda:[01]") as caught:
        first + grad
    assert "cuda:0" in str(caught.value) and "cuda:1" in str(caught.value)
    assert first.to_device(OTHER).to_device(HERE).numpy().tolist() == [[1, -2]]
    OTHER.floats.select(OTHER.floats.ones((2,)), OTHER.ints.add_scalar(OTHER.ints.ones((1,)), 4), 0)
    HERE.sync()  # not its fault
    with pytest.raises(BackendError, match="index 5"):
        OTHER.sync()


@pytest.mark.parametrize(
    "values", [np.arange(6.0).reshape(2, 3), np.arange(6).reshape(2, 3), np.eye(3) > 0, np.zeros((0, 2))]
)
def test_a_tensor_goes_to_the_other_device_directly(values: np.ndarray) -> None:
    there = Tensor.from_data(values, HERE)
    views = [there, there.transpose(), there.flip([0])]
    HERE.sync()
    if EMULATED:
        with counted() as counts:
            moved = [view.to_device(OTHER) for view in views]
        assert (counts.syncs, counts.to_host, counts.to_device) == (0, 0, 0)
        assert counts.on_device == (3 if values.size else 0)
    else:
        moved = [view.to_device(OTHER) for view in views]
    assert cupy.cuda.Device().id == 0
    for tensor, want in zip(moved, (values, values.T, values[::-1]), strict=True):
        assert tensor.device == Device("cuda", 1) and tensor.primitive.device.id == 1
        np.testing.assert_array_equal(tensor.numpy(), want)
        np.testing.assert_array_equal(tensor.to_device(HERE).numpy(), want)
        np.testing.assert_array_equal(tensor.to_device(NumPy()).numpy(), want)


def test_autodiff_tensors_move_as_leaves() -> None:
    start = Tensor.from_data([1.0, 2.0], Autodiff(HERE))
    moved = start.to_device(Autodiff(OTHER)).require_grad()
    grad = moved.grad((moved * moved).sum().backward())
    assert grad is not None and grad.device == Device("cuda", 1) and grad.numpy().tolist() == [2, 4]
    with pytest.raises(DeviceError, match="part of a graph"):
        (start.require_grad() * 2).to_device(Autodiff(OTHER))
    deeper = start.to_device(Autodiff(Autodiff(OTHER)))
    assert deeper.numpy().tolist() == [1, 2] and deeper.to_device(Autodiff(HERE)).numpy().tolist() == [1, 2]


def test_indices_that_came_from_the_host_are_still_known() -> None:
    at = Tensor.from_data([0, 3], HERE).to_device(OTHER)
    with pytest.raises(BackendError, match="index 3"):
        Tensor.from_data([1.0, 2.0, 3.0], OTHER).select(0, at)
    OTHER.sync()


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_training_on_either_device_gives_the_same_bits(task: Task) -> None:
    first, second = Trainer(task, Autodiff(CuPy(device=0, seed=3))), Trainer(task, Autodiff(CuPy(device=1, seed=3)))
    assert first.run(range(3)) == second.run(range(3))
    assert cupy.cuda.Device().id == 0


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_a_model_goes_on_on_the_other_device(task: Task) -> None:
    trainer, stays = (Trainer(task, Autodiff(CuPy(device=0, seed=3))) for _ in range(2))
    trainer.run(range(2))
    stays.run(range(2))
    moved = Autodiff(CuPy(device=1, seed=3))
    moved.streams.load_state(trainer.backend.streams.state())
    trainer.backend, trainer.model = moved, trainer.model.to_device(moved)
    assert trainer.run(range(2, 4)) == stays.run(range(2, 4))
