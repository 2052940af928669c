"""Kernels under @tuneonce.triton.autotune for the CPU device, which runs C++ in place of what Triton compiled: everything before and
behind the code is real."""
import os
import pathlib
import sys
import tempfile

import numpy

STORE = os.environ.setdefault("TUNEONCE_STORE", str(pathlib.Path(tempfile.mkdtemp()) / "store.db"))
import triton  # noqa: E402
import triton.language as tl  # noqa: E402

from tuneonce.export import triton_driver  # noqa: E402

triton_driver.ensure_driver(90)
import tuneonce.triton  # noqa: E402
from tuneonce.live.code import Code  # noqa: E402
from tuneonce.triton.compiler import Compiler  # noqa: E402


class Array(numpy.ndarray):
    """A numpy array with what Triton asks of a tensor."""

    def data_ptr(self):
        return self.ctypes.data

    def zero_(self):
        self[...] = 0


def array(values, dtype="float32", offset=0):
    """An array whose address is `offset` bytes beyond a multiple of 64."""
    values = numpy.asarray(values, dtype)
    memory = numpy.zeros(values.nbytes + 128, numpy.uint8)
    start = -memory.ctypes.data % 64 + offset
    made = memory[start:start + values.nbytes].view(values.dtype).reshape(values.shape).view(Array)
    made[...] = values
    return made


class CpuCompiler(Compiler):
    """Compiles with Triton, and returns C++ in the code's place. `bodies`: by kernel, C++ with the constants as macros."""
    bodies = {}
    requests = []

    def code_of(self, request, compiled):
        CpuCompiler.requests.append(request)
        code = super().code_of(request, compiled)
        name = self.function.__name__
        names = list(request.signature)
        types = {"*fp32": "float*", "*i32": "int*", "i32": "int", "i64": "long", "fp32": "float", "u1": "bool", "i1": "bool"}
        constants = {names[path[0]]: value for path, value in request.constants.items()}
        lines = [f"static const auto {n} = {int(v) if isinstance(v, (bool, int)) else repr(v)};" for n, v in constants.items()
                 if isinstance(v, (bool, int, float))]
        parameters = [f"{types[kind]} {n}" for n, kind in request.signature.items() if kind != "constexpr"]
        text = "\n".join([*lines, f"static void {name}(const tuneonce_block& block, {', '.join([*parameters, 'void*', 'void*'])}) {{",
                          self.bodies[name], "}", f"TUNEONCE_CPU_KERNEL({name});"])
        return Code("cpu_cpp", text.encode(), name, 1, 0, 1, False, 0, 1, code.passed)


def on_cpu(kernel, body):
    """The kernel with C++ for the CPU device."""
    kernel.compiler = CpuCompiler(kernel.function)
    CpuCompiler.bodies[kernel.function.__name__] = body
    return kernel


SCALE = """
  const long begin = static_cast<long>(block.x) * BLOCK;
  for (long i = begin; i < begin + BLOCK && i < n; ++i) y[i] = x[i] * factor;"""


def configs(*blocks):
    return [triton.Config({"BLOCK": block}, num_warps=4) for block in blocks]


def scale_kernel(**options):
    @tuneonce.triton.autotune(configs(64, 256), key=["n"], device="cpu", **options)
    @triton.jit
    def scale(x, y, factor, n, BLOCK: tl.constexpr):
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(y + at, tl.load(x + at, mask=at < n) * factor, mask=at < n)
    return on_cpu(scale, SCALE)


def grid_of(n):
    return lambda meta: (triton.cdiv(n, meta["BLOCK"]),)


if __name__ == "__main__":  # A later process: scale once, print what it took.
    kernel = scale_kernel()
    n = int(sys.argv[1])
    # Of one sign: the verification needs other data.
    x, y = array(numpy.abs(numpy.random.default_rng(0).standard_normal(n))), array(numpy.zeros(n))
    kernel[grid_of(n)](x, y, 2.0, n)
    assert numpy.array_equal(y, x * 2)
    print(len(CpuCompiler.requests), kernel.best_config)
