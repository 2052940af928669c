"""Kernels under @tuneonce.cutile.autotune for the CPU device, which runs C++ in place of what tileiras compiled: everything before and
behind the code is real, and the code is compiled, too."""
import os
import pathlib
import sys
import tempfile

import numpy

STORE = os.environ.setdefault("TUNEONCE_STORE", str(pathlib.Path(tempfile.mkdtemp()) / "store.db"))
import cuda.tile as ct  # noqa: E402
from cuda.tile.compilation import ArrayConstraint, CallingConvention, ConstantConstraint, ScalarConstraint  # noqa: E402

import tuneonce.cutile  # noqa: E402
from tuneonce.cutile.compiler import Compiler  # noqa: E402
from tuneonce.cutile.instance import shape_and_strides  # noqa: E402


class CpuCompiler(Compiler):
    """Compiles for sm_90, and returns C++ in the code's place. `body`: C++ with an array's parts as x, x_0 (an extent) and x_s0 (a
    stride), and constants as macros."""
    kind = "cpu_cpp"

    def __init__(self, kernel, body):
        self.names = list(kernel._annotated_function.pysig.parameters)
        self.annotations = kernel._annotated_function.parameter_annotations
        self.body = body
        self.compiled = []
        self.constraints_of = {}

    def capability(self):
        return 9, 0

    def constraints(self, kernel, arguments):
        """As cuTile's launches find them, for arrays in host memory, too."""
        return (CallingConvention.cutile_python_v1(),
                *(constraint_of(a, annotation) for a, annotation in zip(arguments, self.annotations)))

    def lowered(self, kernel, constraints):
        lowered = super().lowered(kernel, constraints)
        self.constraints_of[lowered.symbol] = constraints[1:]
        return lowered

    def begin(self, lowered):
        return lowered, super().begin(lowered)

    def end(self, compiling):
        lowered, running = compiling
        assert super().end(running)[:4] == b"\x7fELF"
        self.compiled.append(lowered.symbol)
        parameters, constants = [], []
        for name, constraint in zip(self.names, self.constraints_of[lowered.symbol]):
            if isinstance(constraint, ConstantConstraint):
                constants.append(f"#define {name} {constraint.value!r}")
            elif isinstance(constraint, ScalarConstraint):
                parameters.append({"float32": "float", "int32": "int", "bool_": "bool"}[constraint.dtype.name] + f" {name}")
            else:
                parts = [f"int {name}_{kind}{d}" for kind in ("", "s") for d in range(constraint.ndim)]
                parameters += [{"float32": "float", "int32": "int"}[constraint.dtype.name] + f"* {name}", *parts]
        text = "\n".join([*constants, f"static void {lowered.symbol}(const tuneonce_block& block, {', '.join(parameters)}) {{",
                          self.body, "}", f"TUNEONCE_CPU_KERNEL({lowered.symbol});"])
        return text.encode()


def constraint_of(argument, annotation):
    if annotation.constant:
        return ConstantConstraint(argument)
    if isinstance(argument, bool):
        return ScalarConstraint(ct.bool_)
    if isinstance(argument, (int, float)):
        return ScalarConstraint(ct.int32 if isinstance(argument, int) else ct.float32)
    shape, strides = shape_and_strides(argument)
    return ArrayConstraint(
        {"float32": ct.float32, "int32": ct.int32}[str(argument.dtype)], len(shape), index_dtype=ct.int32, stride_lower_bound_incl=0,
        alias_groups=(), may_alias_internally=False, stride_constant=[1 if s == 1 else None for s in strides],
        shape_divisible_by=[16 if n % 16 == 0 else 1 for n in shape],
        base_addr_divisible_by=16 if argument.ctypes.data % 16 == 0 else 1)


def array(values, dtype="float32", offset=0):
    """An array whose address is `offset` bytes beyond a multiple of 64."""
    values = numpy.asarray(values, dtype)
    memory = numpy.zeros(values.nbytes + 128, numpy.uint8)
    start = -memory.ctypes.data % 64 + offset
    made = memory[start:start + values.nbytes].view(values.dtype).reshape(values.shape)
    made[...] = values
    return made


def on_cpu(kernel, body):
    """The kernel with C++ for the CPU device."""
    kernel.compiler = CpuCompiler(kernel.fn, body)
    return kernel


SCALE = """
  const long begin = static_cast<long>(block.x) * TILE;
  for (long i = begin; i < begin + TILE && i < y_0; ++i) y[i * y_s0] = x[i * x_s0] * factor;"""


def scale_kernel(configs=({"TILE": 64, "occupancy": 1}, {"TILE": 256, "occupancy": 2}), **options):
    options.setdefault("grid", lambda config, x, y, factor: (ct.cdiv(y.shape[0], config["TILE"]),))

    @tuneonce.cutile.autotune(configs, device="cpu", **options)
    @ct.kernel
    def scale(x, y, factor, TILE: ct.Constant[int]):
        i = ct.bid(0)
        ct.store(y, index=(i,), tile=ct.load(x, index=(i,), shape=(TILE,), padding_mode=ct.PaddingMode.ZERO) * factor)
    return on_cpu(scale, SCALE)


if __name__ == "__main__":  # A later process: scale once, print what it took.
    kernel = scale_kernel()
    n = int(sys.argv[1])
    # Of one sign: the verification needs other data.
    x, y = array(numpy.abs(numpy.random.default_rng(0).standard_normal(n))), array(numpy.zeros(n))
    kernel(x, y, 2.0)
    assert numpy.array_equal(y, x * 2)
    print(len(kernel.compiler.compiled), kernel.best_config)
