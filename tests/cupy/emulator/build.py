"""Compiles the two libraries of the emulator into the user's cache: the runtime's functions, and cuBLAS.

CuPy's wrapper modules hand their C functions to each other by name and signature (`__pyx_capi__`). For each of them
one C function of the same signature is generated here: its body is in BODIES, or does nothing and returns 0.
"""

from __future__ import annotations

import ctypes
import hashlib
import importlib
import os
import re
import shutil
import subprocess
import sysconfig
import tempfile
from pathlib import Path
from types import ModuleType

HERE = Path(__file__).resolve().parent
BUILT_FOR = "14.2.0"
"""The CuPy whose signatures and generated code this was written for."""

# a0, a1 … are the arguments, in CuPy's order.
BODIES = {
    "runtime.setDevice": "return emu_set_device(a0);",
    "runtime.getDevice": "return emu_get_device();",
    "runtime.getDeviceCount": "return DEVICES;",
    "runtime.getDeviceProperties": "return emu_properties();",
    "runtime.memGetInfo": "return emu_memory_info();",
    "runtime.malloc": "return emu_malloc(a0);",
    "runtime.mallocAsync": "return emu_malloc(a0);",
    "runtime.mallocManaged": "return emu_malloc(a0);",
    "runtime.hostAlloc": "return emu_host_alloc(a0);",
    "runtime.free": "emu_free(a0); NONE;",
    "runtime.freeAsync": "emu_free(a0); NONE;",
    "runtime.freeHost": "emu_free(a0); NONE;",
    "runtime.memcpy": "if (!emu_sync()) return NULL; return emu_copy(a0, a1, a2, a3, 0);",
    "runtime.memcpyAsync": "return emu_copy(a0, a1, a2, a3, a4);",
    "runtime.memcpyPeer": "if (!emu_sync()) return NULL; return emu_copy(a0, a2, a4, 3, 0);",
    "runtime.memcpyPeerAsync": "return emu_copy(a0, a2, a4, 3, a5);",
    "runtime.memset": "return emu_set(a0, a1, a2, 0);",
    "runtime.memsetAsync": "return emu_set(a0, a1, a2, a3);",
    "runtime.deviceSynchronize": "return emu_device_sync();",
    "runtime.streamSynchronize": "return emu_stream_sync(a0);",
    "runtime.eventSynchronize": "return emu_event_sync(a0);",
    "runtime.eventRecord": "emu_event_record(a0, a1); NONE;",
    "runtime.eventQuery": "return PyLong_FromLong(emu_event_query(a0));",
    "runtime.streamWaitEvent": "emu_wait_event(a1); NONE;",
    "runtime.streamCreate": "return emu_handle();",
    "runtime.streamCreateWithFlags": "return emu_handle();",
    "runtime.streamCreateWithPriority": "return emu_handle();",
    "runtime.eventCreate": "return emu_event();",
    "runtime.eventCreateWithFlags": "return emu_event();",
    "runtime.streamIsCapturing": "return emu_is_capturing(a0);",
    "runtime.streamBeginCapture": "return emu_begin_capture(a0);",
    "runtime.streamEndCapture": "return emu_end_capture();",
    "runtime.graphInstantiate": "return a0;",
    "runtime.graphLaunch": "emu_replay(a0); NONE;",
    "runtime.driverGetVersion": "return 13000;",
    "runtime.runtimeGetVersion": "return 13000;",
    "runtime._getCUDAMajorVersion": "return 13;",
    "runtime.deviceGetAttribute": "return emu_attribute(a0);",
    "runtime.deviceGetDefaultMemPool": "return 1;",
    "runtime.deviceGetMemPool": "return 1;",
    "runtime.pointerGetMemoryType": "return emu_memory_type(a0);",
    "runtime.deviceGetLimit": "return 1 << 20;",
    "nvrtc.getVersion": 'return Py_BuildValue("(ii)", 13, 0);',
    "driver.ctxGetCurrent": "return 1;",
    "driver.ctxCreate": "return 1;",
    "driver.streamGetCtx": "return 1;",
    "driver.ctxGetDevice": "return emu_get_device();",
    "driver.moduleLoadData": "return emu_load(a0);",
    "driver.moduleGetFunction": "return emu_function(a0, a1);",
    "driver.launchKernel": "return emu_launch(a0, a1, a2, a3, a4, a5, a6, a8, (void **)a9);",
    "driver.funcGetAttribute": "return a0 == 0 ? 1024 : 0;",
    "driver.occupancyMaxActiveBlocksPerMultiprocessor": "return 8;",
    "driver.occupancyMaxPotentialBlockSize": 'return Py_BuildValue("(ii)", 264, 256);',
}
UNUSED = re.compile(r"cuda(Extent|Pos|PitchedPtr|ResourceDesc|TextureDesc|ChannelFormatDesc|MemcpyKind)")
"""Types of texture and array functions, which nobody calls here."""


def cache_folder() -> Path:
    """Where everything compiled is kept; a folder per version of this code and of CuPy."""
    root = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    sources = b"".join(path.read_bytes() for path in sorted(HERE.glob("*.*")))
    return root / "minburn-cuda-emulator" / f"cupy-{BUILT_FOR}-{hashlib.sha256(sources).hexdigest()[:12]}"


def modules() -> dict[str, ModuleType]:
    return {
        "runtime": importlib.import_module("cupy_backends.cuda.api.runtime"),
        "driver": importlib.import_module("cupy_backends.cuda.api.driver"),
        "nvrtc": importlib.import_module("cupy_backends.cuda.libs.nvrtc"),
    }


def capsule_name(capsule: object) -> bytes:
    """The C signature that a capsule is named by."""
    name = ctypes.pythonapi.PyCapsule_GetName
    name.restype, name.argtypes = ctypes.c_char_p, [ctypes.py_object]
    return bytes(name(capsule))


def replaced() -> dict[tuple[str, str], str]:
    """(module, function) → its C signature, for all that the emulator takes over."""
    found = {}
    for module, wrapper in modules().items():
        for function, capsule in wrapper.__pyx_capi__.items():
            signature = capsule_name(capsule).decode()
            wanted = module != "nvrtc" or function == "getVersion"
            if "(" in signature and wanted and not UNUSED.search(signature):
                found[module, function] = signature
    return found


def c_function(module: str, function: str, signature: str) -> str:
    result, arguments = signature.rstrip(")").split("(", 1)
    result = re.sub(r"struct __pyx_\w+ \*", "void *", result.strip())
    types = [] if arguments == "void" else [argument.strip() for argument in arguments.split(",")]
    types = [re.sub(r"struct __pyx_\w+ \*\w*", "void *", t.replace("int __pyx_skip_dispatch", "int")) for t in types]
    parameters = ", ".join(f"{t.replace('CUdevice', 'int')} a{n}" for n, t in enumerate(types)) or "void"
    body = BODIES.get(f"{module}.{function}", "NONE;" if result.startswith("PyObject") else "return 0;")
    return f"EXPORT {result} emu_{module}_{function}({parameters}) {{ {body} }}"


def run(*command: object) -> None:
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{command[0]} failed:\n{done.stderr[:4000]}")


def build() -> Path:
    """The folder with `runtime.so` and `libcublas.so.13`, compiled if they are not there yet."""
    if shutil.which("g++") is None:
        raise RuntimeError("the emulated CUDA device needs g++, which is not installed (Debian: apt install g++).")
    cache = cache_folder()
    if (cache / "done").exists():
        return cache
    cache.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(dir=cache))  # several processes may build at once
    generated = [c_function(*key, signature) for key, signature in replaced().items()]
    (folder / "runtime.c").write_text((HERE / "runtime.c").read_text() + "\n".join(generated) + "\n")
    include = sysconfig.get_paths()["include"]
    shared = ("-O2", "-shared", "-fPIC", "-fno-strict-aliasing", "-w")
    run("g++", "-x", "c", *shared, f"-I{include}", folder / "runtime.c", "-o", folder / "runtime.so", "-ldl")
    _build_cublas(folder, shared)
    for name in ("runtime.so", "libcublas.so.13"):
        (folder / name).replace(cache / name)
    shutil.rmtree(folder)
    (cache / "done").touch()
    return cache


def _build_cublas(folder: Path, shared: tuple[str, ...]) -> None:
    """CuPy's wrapper looks up every entry point when it is loaded, under the version of the real library."""
    source = (HERE / "cublas.cpp").read_text()
    [wrapper] = Path(modules()["nvrtc"].__file__ or "").parent.glob("cublas.*.so")
    names = {name.decode() for name in re.findall(rb"\bcublas[A-Z]\w+", wrapper.read_bytes())}
    missing = sorted(name for name in names if f"status {name}(" not in source and name.isidentifier())
    stubs = "\n".join(f'extern "C" status {name}() {{ return NOT_SUPPORTED; }}' for name in missing)
    (folder / "cublas.cpp").write_text(source + stubs + "\n")
    (folder / "cublas.map").write_text("libcublas.so.13 { global: *; };\n")
    library = folder / "libcublas.so.13"
    options = ("-Wl,-soname,libcublas.so.13", f"-Wl,--version-script={folder / 'cublas.map'}")
    run("g++", *shared, "-O3", *options, folder / "cublas.cpp", "-o", library)
