"""RunningState: a shared cell outside the graph, with Burn's commit rule."""

import threading

import pytest

from minburn.backends import Autodiff, NumPy
from minburn.module import Module, ModuleMapper, RunningState
from minburn.nn import Linear, LinearConfig
from minburn.tensor import FloatTensor, Tensor


class Norm(Module):
    layer: Linear
    mean: RunningState

    def forward(self, x: FloatTensor) -> FloatTensor:
        x = self.layer(x)
        batch = x.mean_dim(0).reshape(2)
        if x.backend.is_autodiff:
            self.mean.update(self.mean.value_sync() * 0.5 + batch.detach() * 0.5)
            return x - batch.unsqueeze()
        return x - self.mean.value().unsqueeze()


@pytest.fixture
def backend():
    return Autodiff(NumPy(seed=0))


def norm(backend):
    return Norm(layer=LinearConfig(2, 2).init(backend), mean=RunningState(Tensor.zeros([2], backend)))


def values(state):
    return state.value().numpy().tolist()


def test_the_commit_rule(backend):
    state = RunningState(Tensor.zeros([1], backend))
    state.update(Tensor.from_data([1.0], backend))
    assert values(state) == [0.0]
    state.update(Tensor.from_data([2.0], backend))
    assert values(state) == [1.0]
    assert state.value_sync().item() == 2.0
    assert values(state) == [2.0]


def test_pending_values_of_threads_are_averaged(backend):
    state = RunningState(Tensor.zeros([1], backend))
    threads = [
        threading.Thread(target=state.update, args=(Tensor.from_data([float(value)], backend),)) for value in (1, 3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert state.value_sync().item() == 0.0  # nothing of this thread is pending
    state.update(Tensor.from_data([5.0], backend))
    assert state.value_sync().item() == 3.0


def test_it_never_is_part_of_a_graph(backend):
    x = Tensor.ones([1], backend).require_grad()
    state = RunningState(x * 2.0)
    state.update(x * 3.0)
    for value in (state.value(), state.value_sync()):
        assert not value.is_tracked

    class Trains(ModuleMapper):
        def map_float(self, param):
            return param.set_require_grad(True).map(lambda tensor: tensor * 2.0)

    model = norm(backend)
    assert not model.map(Trains()).mean.value().is_tracked
    assert model.unfreeze().mean is model.mean
    with pytest.raises(TypeError, match="FloatTensor"):
        state.update([1.0])


def test_training_updates_what_the_stepped_model_holds(backend):
    class Step(ModuleMapper):
        def map_float(self, param):
            return param.map(lambda tensor: tensor * 0.5) if param.is_require_grad else param

    model = norm(backend)
    stepped = model.map(Step())
    assert stepped.mean is model.mean
    x = Tensor.ones([4, 2], backend)
    stepped(x)
    committed = model.mean.value_sync().numpy()
    assert (committed != 0.0).any()
    valid = stepped.valid()
    assert valid.mean.id == model.mean.id
    assert not valid.mean.value().backend.is_autodiff
    assert values(valid.mean) == committed.tolist()
    valid(x.inner())
    again = valid.train()
    assert again.mean.value().backend.is_autodiff
    again(x)
    again.mean.value_sync()
    assert values(again.mean) != values(model.mean)


def test_it_is_counted_moved_and_mapped_like_a_parameter(backend):
    model = norm(backend)
    assert model.num_params() == 8
    moved = model.to_device(NumPy(seed=1))
    assert moved.mean.id == model.mean.id
    assert moved.mean is not model.mean
    assert repr(model.mean) == "RunningState {rank: 1, shape: [2]}"

    class AddOne(ModuleMapper):
        def map_float(self, param):
            return param.map(lambda tensor: tensor + 1.0)

    mapped = model.map(AddOne())
    assert values(mapped.mean) == [1.0, 1.0]
    assert values(model.mean) == [0.0, 0.0]
