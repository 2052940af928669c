"""Kernels that are called as decorated ones are, without Triton and cuTile, on the CPU device in place of a GPU. They
are C++ and log what each launch passes. Needs compilers of C and C++."""
import ctypes
import importlib.util
import os
import pathlib
import struct
import subprocess
import tempfile
from typing import NamedTuple, Tuple

import numpy

_here = pathlib.Path(__file__).resolve().parent
_temporary = tempfile.TemporaryDirectory()  # Removed when the process ends.
_folder = pathlib.Path(_temporary.name)
_package = pathlib.Path(importlib.util.find_spec("tuneonce").origin).parent
_DRIVER, _CODE = str(_folder / "libcuda.so.1"), str(_folder / "code.so")
os.environ.update(TUNEONCE_CUDA_DRIVER=_DRIVER, TUNEONCE_CPU_DRIVER=str(_package / "libtuneonce_cpu_driver.so"),
                  LOADED_CODE=_CODE, TUNEONCE_CUPTI="/nowhere", TUNEONCE_STORE="memory")
from tuneonce import _tuneonce  # noqa: E402
from tuneonce.live.code import Code  # noqa: E402
from tuneonce.live.instance import LiveInstance  # noqa: E402

BLOCKS = (64, 256)  # By config.
# y += x * factor. The config with the index n % 2 is slow, so that n decides which one is selected.
SOURCE = """
struct Logged {
  long code, x, y, n, step, blocks;
  double factor;
};
struct Log {
  long count;
  Logged launches[64];
};

static void add_scaled(const tuneonce_block& block, const float* x, float* y, float factor, long n, int step, long code,
                       Log* log) {
  const long config = code % 2, size = config == 0 ? 64 : 256;
  if (block.x == 0) {
    const long index = __atomic_fetch_add(&log->count, 1, __ATOMIC_RELAXED);
    if (index < 64) log->launches[index] = {code, long(x), long(y), n, step, block.grid_x, factor};
    for (volatile int i = 0; config == n % 2 && i < 1000000; i = i + 1) {}
  }
  const long end = (block.x + 1) * size < n ? (block.x + 1) * size : n;
  for (long i = block.x * size; i < end; ++i) y[i] += x[i] * factor;
}
TUNEONCE_CPU_KERNEL(add_scaled);

// What tuneonce itself runs on a GPU to measure and to verify trials, which is not tested here.
#define NOTHING(name)                        \\
  static void name(const tuneonce_block&) {} \\
  TUNEONCE_CPU_KERNEL(name);
NOTHING(tuneonce_empty)
NOTHING(tuneonce_compare)
NOTHING(tuneonce_checksum)
NOTHING(tuneonce_describe)
NOTHING(tuneonce_find_changes)
"""
(_folder / "code.cc").write_text(SOURCE)
subprocess.run(["c++", "-std=c++17", "-O1", "-shared", "-fPIC", "-fvisibility=hidden", "-include",
                _here.parent.parent / "lib/base/cpu_kernel.h", _folder / "code.cc", "-o", _CODE], check=True)
subprocess.run(["cc", "-shared", "-fPIC", _here / "cpu_device_as_cuda.c", "-o", _DRIVER, "-ldl"], check=True)
_EMPTY_FATBIN = struct.pack("<IHHQ", 0xba55ed50, 1, 16, 0)  # The driver loads its own code in place of any.


class _Logged(ctypes.Structure):
    _fields_ = [*((name, ctypes.c_long) for name in ("code", "x", "y", "n", "step", "blocks")),
                ("factor", ctypes.c_double)]


class _Log(ctypes.Structure):
    _fields_ = [("count", ctypes.c_long), ("launches", _Logged * 64)]


_log = _Log()
_library = ctypes.CDLL(_DRIVER)


def driver(symbol, version, *arguments):
    """Calls a function of the driver."""
    address, flags = ctypes.c_void_p(), ctypes.c_ulonglong(0)
    assert _library.cuGetProcAddress(symbol.encode(), ctypes.byref(address), version, flags) == 0, symbol
    result = ctypes.CFUNCTYPE(ctypes.c_int)(address.value)(*arguments)
    assert result == 0, (symbol, result)


driver("cuInit", 2000, 0)
_context = ctypes.c_void_p()
driver("cuDevicePrimaryCtxRetain", 7000, ctypes.byref(_context), 0)
driver("cuCtxSetCurrent", 4000, _context)


class Array:
    """Floats in the device's memory, `offset` elements beyond an aligned address. `stream`: where they were made."""

    def __init__(self, values, offset=0, stream=None):
        memory = ctypes.c_size_t()
        driver("cuMemAlloc", 3020, ctypes.byref(memory), ctypes.c_size_t(4 * (len(values) + offset)))
        self.address = memory.value + 4 * offset
        self._values = numpy.ctypeslib.as_array((ctypes.c_float * len(values)).from_address(self.address))
        self._values[:] = values
        self.__cuda_array_interface__ = {"version": 3, "typestr": "<f4", "shape": (len(values),),
                                         "data": (self.address, False), "stream": stream}

    def values(self):
        driver("cuCtxSynchronize", 2000)
        return self._values.copy()


def array(n, seed=0, **options):
    """Small whole numbers, with which floats compute exactly."""
    return Array(numpy.random.default_rng(seed).integers(-50, 50, n), **options)


class Launch(NamedTuple):
    """What a launch passed. `form`: what its code was compiled for, see `form_of`. `blocks`: the extent of the grid."""
    config: int
    form: Tuple[bool, ...]
    x: int
    y: int
    factor: float
    n: int
    step: int
    blocks: int


def launch_of(config, x, y, factor, n, step=0):
    """The launch that a call with these arguments must make."""
    return Launch(config, form_of(x, y, step), x.address, y.address, factor, n, step, -(-n // BLOCKS[config]))


def launches():
    """What ran since this function was called last, the first launch first."""
    driver("cuCtxSynchronize", 2000)
    assert _log.count <= len(_log.launches)
    taken = [Launch(each.code % 2, tuple(bool(each.code >> 1 + bit & 1) for bit in range(4)), each.x, each.y,
                    each.factor, each.n, each.step, each.blocks) for each in _log.launches[:_log.count]]
    _log.count = 0
    return taken


def forget_launches():
    """A search launches often."""
    driver("cuCtxSynchronize", 2000)
    _log.count = 0


def form_of(x, y, step):
    """What code depends on, as Triton's does: what is divisible by 16, and what is 1."""
    return x.address % 16 == 0, y.address % 16 == 0, step % 16 == 0, step == 1


class Instance(LiveInstance):
    """What a decorator makes of the kernel for arguments of certain types. `has_grid`: the code has the grid."""
    language = "triton"
    labels = [f"BLOCK={block}" for block in BLOCKS]
    config_indices = [0, 1]
    is_specialized = [True, True, False, False, True, False]

    def __init__(self, tuner, tensors, has_grid):
        super().__init__(tuner, "add_scaled", ["x", "y", "factor", "n", "step", "BLOCK"])
        self.constants = [{"BLOCK": block} for block in BLOCKS]
        self.tensors = [(parameter, "inout" if parameter == 1 else "in", dtype) for parameter, dtype in tensors]
        self.key_scalars = [(3, "int")]
        self.version = tuner.version
        self._has_grid = has_grid

    def code_for(self, index, values):
        x, y, _, n, step, _ = values
        form = form_of(x, y, step)
        self._tuner.codes.append((index, form))
        number = index + sum(bit << 1 + i for i, bit in enumerate(form))
        passed = [(0, "pointer"), (1, "pointer"), (2, "float32"), (3, "integer"), (4, "integer"), (number, "word"),
                  (ctypes.addressof(_log), "word")]
        grid = (-(-n // BLOCKS[index]), 1, 1) if self._has_grid else None
        return f"code {number}", Code("cubin", _EMPTY_FATBIN, "add_scaled", 1, 0, 1, False, 0, 1, passed, grid).parts()


class Tuner:
    """What a decorator's Autotuner is for C++, which calls its methods. The lists have an item for each call of them: a
    hit calls none."""
    error_type = _tuneonce.Error
    has_grid = False
    identified_by = 0  # An entry has arguments of certain types.
    _num_made = 0

    def __init__(self):
        Tuner._num_made += 1
        self.version = str(Tuner._num_made)  # No kernel finds another one's records.
        self.described, self.tuned, self.codes, self.otherwise = [], [], [], []
        self.is_supported = True
        defaults = {"x": ..., "y": ..., "factor": 2.0, "n": ..., "step": 0, "BLOCK": ...}
        parameters = [(name, default, name == "BLOCK", self.identified_by) for name, default in defaults.items()]
        self._set_up(parameters, "cuda", {"warm": True})

    def _describe(self, values, options, tensors, num_positional):
        self.described.append(options)
        if not self.is_supported:
            return None
        if ... in values[:5]:
            raise TypeError("missing an argument")
        return Instance(self, tensors, self.has_grid)

    def _note_tuned(self, instance, values, config, grid):
        self.tuned.append(config)

    def _is_refused(self, error):
        return False

    def _run_otherwise(self, grid, arguments, keywords):
        self.otherwise.append((grid, arguments, keywords))
        if self.is_supported:
            raise TypeError("raised by the owner")

    def counts(self):
        return len(self.described), len(self.tuned), len(self.codes), len(self.otherwise)


class GridKernel(Tuner, _tuneonce._GridCaller):
    """`kernel[grid](...)`, as Triton's kernels are called."""


class ValueKernel(GridKernel):
    """An entry has arguments of certain values, as where configs are pruned for a call."""
    identified_by = 2


class FunctionKernel(Tuner, _tuneonce._FunctionCaller):
    """`kernel(...)`, as cuTile's kernels are called. An entry has arrays of certain extents and strides, and ints of
    certain values."""
    has_grid = True
    identified_by = 1
