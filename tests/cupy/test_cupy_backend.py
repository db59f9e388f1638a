"""What the CuPy backend promises beyond its ops: random bits, refusals without waiting, devices, memory."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import cupy
import numpy as np
import pytest
from device import DEVICES, EMULATED, counted, host

from minburn import Tensor
from minburn.backends import BackendError, CuPy, Device, Distribution, NumPy, OutOfDeviceMemory
from minburn.backends.cupy_ops.uploads import LARGEST, SMALLEST
from minburn.backends.elementwise import trace
from minburn.backends.rng import stream_key
from minburn.dtype import DType
from minburn.tensor import DeviceError

HERE, THERE = CuPy(), NumPy()
FLOATS, INTS = HERE.floats, HERE.ints
emulated = pytest.mark.skipif(not EMULATED, reason="counts are known on the emulated device only")


def x(*values: float) -> Any:
    return FLOATS.from_data(np.array(values))


def n(*values: int) -> Any:
    return INTS.from_data(np.array(values))


@pytest.mark.parametrize("counter", [0, 7, 2**64 - 2, 2**64 + 5])
@pytest.mark.parametrize("dtype", [DType.F32, DType.F64, DType.F16])
def test_draws_have_the_bits_of_numpy(dtype: DType, counter: int) -> None:
    key = stream_key(42, "draws")
    here, there = CuPy(float_dtype=dtype).floats, NumPy(float_dtype=dtype).floats
    uniform = [Distribution.Default, Distribution.Uniform(-0.3, 0.7), Distribution.Uniform(2.0, 2.0)]
    for distribution in (
        *uniform,
        Distribution.Bernoulli(0.3),
        Distribution.Bernoulli(1.0),
        Distribution.Bernoulli(0.0),
    ):
        for shape in ((), (1,), (3, 5), (0, 2), (257,)):
            got, want = (f.random(shape, distribution, key, counter) for f in (here, there))
            np.testing.assert_array_equal(host(got), want, err_msg=f"{distribution}{shape}")
    normal = Distribution.Normal(1.0, 2.0)
    got, want = (f.random((33,), normal, key, counter) for f in (here, there))
    np.testing.assert_allclose(host(got), want, rtol=1e-3 if dtype is DType.F16 else 1e-6)


def test_integer_draws_have_the_bits_of_numpy() -> None:
    key = stream_key(42, "draws")
    got, want = (b.ints.random((100,), Distribution.Uniform(-5, 9), key, 3) for b in (HERE, THERE))
    np.testing.assert_array_equal(host(got), want)


def test_nan_rules() -> None:
    nan = np.nan
    for got, want in (
        (FLOATS.sign(x(-2, -0.0, 0, nan, 3)), [-1, 0, 0, 0, 1]),
        (HERE.activations.relu(x(-1, nan, 2)), [0, nan, 2]),
        (HERE.activations.relu_backward(x(-1, nan, 0, 1), x(np.inf, 1, nan, np.inf)), [0, 1, 0, np.inf]),
        (FLOATS.clamp(x(-9, nan, 9), -1.0, 1.0), [-1, nan, 1]),
        (FLOATS.clamp_min(x(-9, nan), 0.0), [0, nan]),
        (FLOATS.argmax(x(1, nan, 3), 0, DType.I32), [1]),
        (FLOATS.max(x(1, nan)), [nan]),
        (FLOATS.var_dim(x(1), 0, 1), [nan]),
        (FLOATS.round(x(0.5, 1.5, 2.5, -0.5)), [0, 2, 2, 0]),
        (FLOATS.scatter(x(1, nan), n(0, 1), x(nan, 0), 0, "min"), [1, nan]),
        (FLOATS.powf_scalar(x(-np.inf, -0.0), 0.5), [np.inf, 0]),
        (HERE.activations.softmax(x(1, nan), 0), [nan, nan]),
        (INTS.div(n(7, -7, 7, -7), n(2, 2, -2, -2)), [3, -3, -3, 3]),
        (INTS.remainder(n(7, -7, 7, -7), n(2, 2, -2, -2)), [1, 1, -1, -1]),
        (FLOATS.remainder(x(7, -7, 7, -7), x(2, 2, -2, -2)), [1, 1, -1, -1]),
        (FLOATS.remainder(x(1, -1, 1, -1, 1), x(np.inf, np.inf, -np.inf, -np.inf, 0)), [1, np.inf, -np.inf, -1, nan]),
        (FLOATS.remainder_scalar(x(1e8, -1e8, -1.5), 0.3), np.float32([1e8, -1e8, -1.5]) % np.float32(0.3)),
        (INTS.add(n(2**31 - 1), n(1)), [-(2**31)]),
        (FLOATS.into_int(x(-np.inf, -1e30, nan, -0.9, 1e30), DType.I32), [-(2**31), -(2**31), 0, 0, 2**31 - 1]),
    ):
        np.testing.assert_array_equal(host(got), np.array(want))


def refused_calls(at: Any) -> dict[str, Any]:
    tensor, one = x(1, 2, 3), x(1)
    return {
        "gather": lambda: FLOATS.gather(tensor, at, 0),
        "select": lambda: FLOATS.select(tensor, at, 0),
        "scatter": lambda: FLOATS.scatter(tensor, at, one, 0, "add"),
        "select_assign": lambda: FLOATS.select_assign(tensor, at, one, 0, "add"),
        "cross_entropy": lambda: HERE.modules.cross_entropy(FLOATS.ones((1, 3)), at)[0],
        "embedding": lambda: HERE.modules.embedding(FLOATS.ones((3, 2)), at),
        "embedding_backward": lambda: HERE.modules.embedding_backward(FLOATS.ones((1, 2)), at, 3),
    }


@pytest.mark.parametrize("index", [3, -1])
def test_wrong_indices_from_the_host_are_refused_at_once(index: int) -> None:
    for name, call in refused_calls(n(index)).items():
        with pytest.raises(BackendError, match=rf"{name}: index {index} is out of bounds .* size 3"):
            call()
    part = INTS.slice(n(7, 0, 1), ((1, 3, 1),))  # a view without the wrong index
    assert host(FLOATS.select(x(1, 2, 3), part, 0)).tolist() == [1, 2]


@pytest.mark.parametrize("index", [3, -1])
def test_wrong_indices_made_on_the_device_are_refused_at_the_next_wait(index: int) -> None:
    at = INTS.add_scalar(n(index - 1), 1)
    for name, call in refused_calls(at).items():
        result = call()
        with pytest.raises(BackendError, match=rf"{name}: index {index} is out of bounds .* size 3"):
            FLOATS.into_data(result)
        FLOATS.into_data(result)  # told once
        call()
        with pytest.raises(BackendError, match=name):
            HERE.sync()
    HERE.sync()


def test_no_index_fits_a_dimension_of_size_0() -> None:
    """Nothing is launched: the kernels read row 0 in place of a wrong one."""
    at, nothing = INTS.add_scalar(n(0), 2), FLOATS.ones((0, 2))
    for name, call in {
        "gather": lambda: FLOATS.gather(nothing, INTS.reshape(at, (1, 1)), 0),
        "select": lambda: FLOATS.select(nothing, at, 0),
        "scatter": lambda: FLOATS.scatter(nothing, INTS.reshape(at, (1, 1)), FLOATS.ones((1, 1)), 0, "add"),
        "select_assign": lambda: FLOATS.select_assign(nothing, at, FLOATS.ones((1, 2)), 0, "add"),
        "embedding": lambda: HERE.modules.embedding(nothing, at),
        "embedding_backward": lambda: HERE.modules.embedding_backward(FLOATS.ones((1, 2)), at, 0),
        "cross_entropy": lambda: HERE.modules.cross_entropy(FLOATS.ones((1, 0)), at),
    }.items():
        with pytest.raises(BackendError, match=rf"{name}: index 2 is out of bounds .* size 0"):
            call()
    none = INTS.add_scalar(INTS.zeros((0,)), 1)
    assert host(FLOATS.select(nothing, none, 0)).shape == (0, 2)
    assert host(HERE.modules.embedding(nothing, none)).shape == (0, 2)


def test_zero_divisors_are_refused() -> None:
    for op in (INTS.div, INTS.remainder):
        for divisor in (n(0), n(-1, 0, 1), n(3, 0)):
            with pytest.raises(BackendError, match="division by zero"):
                op(n(1), divisor)
        op(n(1), INTS.slice(n(2, 0, 5), ((0, 3, 2),)))  # a view without it
        op(n(1), INTS.sub(n(1), n(1)))
        with pytest.raises(BackendError, match=r"division by zero.*an earlier op"):
            HERE.sync()
    for by_scalar in (INTS.div_scalar, INTS.remainder_scalar):
        with pytest.raises(BackendError, match="division by zero"):
            by_scalar(n(1), 0)
        by_scalar(n(1), 2)
    HERE.sync()


@emulated
def test_indices_from_the_host_cost_no_launch_to_check() -> None:
    tensor, at = x(1, 2, 3), n(0, 2)
    FLOATS.select(tensor, at, 0)
    with counted() as counts:
        FLOATS.select(tensor, at, 0)
        FLOATS.select(tensor, INTS.reshape(at, (2,)), 0)
    assert counts.launches == 2


SIZES = [1, 1000, SMALLEST // 4, SMALLEST // 4 + 3, LARGEST // 4 + 1]


@emulated
@pytest.mark.parametrize("size", SIZES)
def test_an_upload_is_a_copy_from_pinned_memory_that_nobody_waits_for(size: int) -> None:
    data = np.arange(size, dtype=np.float32)
    with counted() as counts:
        tensor = FLOATS.from_data(data)
    assert (counts.to_device, counts.pageable, counts.syncs, counts.to_host) == (1, 0, 0, 0)
    assert counts.on_device == (SMALLEST <= data.nbytes <= LARGEST)
    data[...] = -1.0  # the batcher fills its buffer again
    assert host(tensor)[[0, -1]].tolist() == [0, size - 1]


def test_uploads_of_many_sizes_do_not_disturb_each_other() -> None:
    rng = np.random.default_rng(1)
    sizes = [*SIZES[:4], 9 * SMALLEST // 8, SMALLEST // 2] * 4
    buffer, kept = np.empty(max(sizes), np.float32), []
    for number in rng.permutation(len(sizes)):
        data = buffer[: sizes[number]]
        data[...] = number
        kept.append((number, FLOATS.add_scalar(FLOATS.from_data(data), 0.5)))
    for number, tensor in kept:
        assert np.all(host(tensor) == number + 0.5)


def test_uploads_from_threads() -> None:
    def upload(number: int) -> Any:
        return [FLOATS.from_data(np.full(SMALLEST // 4 + part, float(number))) for part in range(6)]

    with ThreadPoolExecutor(3) as threads:
        for number, tensors in enumerate(threads.map(upload, range(6))):
            assert all(np.all(host(tensor) == number) for tensor in tensors)


def test_backend_and_its_tensors_say_where_they_are() -> None:
    assert HERE.name == "cupy" and HERE.device == Device("cuda", 0) and not HERE.is_autodiff and HERE.inner is HERE
    assert Device("cuda", 0) in CuPy.devices() and len(CuPy.devices()) == DEVICES
    tensor = Tensor.from_data([1.0, 2.0], HERE)
    assert str(tensor.device) == "cuda:0" and "cuda:0" in repr(tensor)
    assert CuPy(seed=1).floats is CuPy(seed=2).floats
    assert repr(CuPy(seed=3)) == "CuPy(device=0, seed=3, float_dtype=F32, int_dtype=I32)"


def test_copies_and_pickles_go_on_with_the_streams() -> None:
    backend = CuPy(seed=5)
    assert copy.deepcopy(backend) is backend
    again = pickle.loads(pickle.dumps(backend))
    assert again.floats is backend.floats and again.streams.seed == 5
    half = backend.with_dtypes(float_dtype=DType.F16)
    assert half.float_dtype is DType.F16 and half.streams is backend.streams and half.with_dtypes() is half


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"device": DEVICES}, f"no CUDA device {DEVICES}"),
        ({"device": -1}, "no CUDA device -1"),
        ({"device": "cuda"}, "index of a CUDA device"),
        ({"device": True}, "index of a CUDA device"),
        ({"float_dtype": DType.I32}, "CuPy: float_dtype must be a float dtype"),
        ({"int_dtype": DType.F32}, "CuPy: int_dtype must be an integer dtype"),
    ],
)
def test_bad_arguments(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(BackendError, match=message):
        CuPy(**arguments)


@emulated
def test_without_a_gpu_there_is_one_clear_error() -> None:
    program = "from minburn.backends import CuPy\nCuPy()"
    environment = {name: value for name, value in os.environ.items() if name != "CUDA_PATH"}
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", program], cwd=root, env=environment, capture_output=True, text=True)
    last = done.stderr.strip().splitlines()[-1]
    assert "BackendError: CuPy: no CUDA device can be used" in last and "minburn[cuda13]" in last and "NumPy()" in last


def test_tensors_move_between_devices() -> None:
    values = np.arange(6.0).reshape(2, 3)
    there = Tensor.from_data(values, THERE)
    here = there.to_device(HERE)
    assert here.device == HERE.device and here.dtype == there.dtype
    np.testing.assert_array_equal(here.to_device(THERE).numpy(), values)
    np.testing.assert_array_equal((here.transpose() * 2).to_device(THERE).numpy(), values.T * 2)
    integers = Tensor.from_data([[1, 2]], THERE).to_device(HERE)
    assert integers.to_device(THERE).numpy().tolist() == [[1, 2]]


def test_devices_do_not_mix() -> None:
    here, there = Tensor.from_data([1.0, 2.0], HERE), Tensor.from_data([1.0, 2.0], THERE)
    index = Tensor.from_data([0], THERE)
    for call in (
        lambda: here + there,
        lambda: there * here,
        lambda: here.select(0, index),
        lambda: here.mask_fill(there > 1, 0.0),
        lambda: Tensor.cat([here, there], 0),
    ):
        with pytest.raises(DeviceError, match=r"cuda:0|cpu") as caught:
            call()
        assert "cuda:0" in str(caught.value) and "cpu" in str(caught.value)


def test_a_lack_of_memory_is_told_with_its_sizes() -> None:
    device = cupy.cuda.Device(0)
    _, total = device.mem_info
    with pytest.raises(OutOfDeviceMemory, match=r"zeros: cuda:0 is out of memory") as caught:
        FLOATS.zeros((total // 4 + 1024,))
    assert isinstance(caught.value, MemoryError) and f"{total:,} bytes" in str(caught.value)
    assert host(FLOATS.ones((2,))).tolist() == [1, 1]  # and life goes on


def test_results_on_the_host_are_read_only_and_contiguous() -> None:
    values = FLOATS.into_data(FLOATS.permute(FLOATS.ones((2, 3)), (1, 0)))
    assert values.flags.c_contiguous and not values.flags.writeable


def adam_like(theta: Any, grad: Any, moment: Any, rate: Any, decay: Any) -> tuple[Any, Any]:
    moment = moment * decay + grad * grad * 0.1
    return theta - grad * rate / (moment.sqrt() + 1e-5), moment


@pytest.mark.parametrize("dtype", [DType.F64, DType.F32, DType.F16])
def test_a_program_gives_the_bits_of_its_ops(dtype: DType) -> None:
    floats = CuPy(float_dtype=dtype).floats
    rng = np.random.default_rng(3)
    shapes = [(3,), (4, 5), (1,), (0,), (30, 70), *((n % 7 + 1,) for n in range(90))]
    columns = [[floats.from_data(rng.random(shape) + 0.1) for shape in shapes] for _ in range(3)]
    columns[1][1] = floats.permute(floats.from_data(rng.random((5, 4))), (1, 0))
    program, (rate, decay) = trace(adam_like, inputs=3, scalars=2), (0.01, 0.9)
    updated, moments = floats.run_elementwise(columns, program, (rate, decay))

    def check(updated: Any, moments: Any) -> None:
        for t, shape in enumerate(shapes):
            theta, grad, moment = (column[t] for column in columns)
            square = floats.mul_scalar(floats.mul(grad, grad), 0.1)
            moment = floats.add(floats.mul_scalar(moment, decay), square)
            bottom = floats.add_scalar(floats.sqrt(moment), 1e-5)
            theta = floats.sub(theta, floats.div(floats.mul_scalar(grad, rate), bottom))
            assert updated[t].shape == shape
            np.testing.assert_array_equal(host(updated[t]), host(theta))
            np.testing.assert_array_equal(host(moments[t]), host(moment))

    check(updated, moments)
    second = [host(list(updated)), columns[1], host(list(moments))]
    _, moments = floats.run_elementwise(columns, program, (rate, decay))  # nobody has looked at these
    moments.give_up()
    again, more = floats.run_elementwise([updated, columns[1], moments], program, (rate, decay))
    columns = [[floats.from_data(a) for a in second[0]], second[1], [floats.from_data(a) for a in second[2]]]
    check(again, more)


@emulated
def test_a_program_is_one_launch_and_copies_nothing() -> None:
    program = trace(adam_like, inputs=3, scalars=2)
    columns = [[FLOATS.ones((n,)) for n in range(1, 30)] for _ in range(3)]
    FLOATS.run_elementwise(columns, program, (0.1, 0.9))
    with counted() as counts:
        FLOATS.run_elementwise(columns, program, (0.1, 0.9))
    assert (counts.launches, counts.syncs, counts.to_host, counts.to_device, counts.on_device) == (1, 0, 0, 0, 0)
