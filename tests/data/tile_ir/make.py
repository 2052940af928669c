#!/usr/bin/env python3
"""Makes the fixtures beside it with PyPI's cuda-tile 1.7.0, and scale.cpp.tileir with nvidia-cuda-nvrtc 13.5.37, whose
libnvrtc.so.13 LD_LIBRARY_PATH finds: make.py. They are committed; run it when they should change."""
import ctypes
import pathlib
import sys

here = pathlib.Path(__file__).parent
sys.path.insert(0, str(here / "../../../tests/cutile"))
import cuda.tile as ct  # noqa: E402
import cuda.tile._bytecode  # noqa: E402
import cuda.tile._compile  # noqa: E402
from cuda.tile.compilation import (ArrayConstraint, CallingConvention, ConstantConstraint, KernelSignature,  # noqa: E402
                                   ScalarConstraint, export_kernel)
import dependent_kernels  # noqa: E402
import memory_kernels  # noqa: E402
from export import KERNELS  # noqa: E402
from math_kernel import math_kernel  # noqa: E402

cuda.tile._compile.dev_features_enabled = lambda: True  # Version 13.5, which cuda-tile 1.7.0 can write but does not offer.


def write(file, name, *configs, version="13.3", gpu_code="sm_90", symbol=None, **hints):
    kernel, parameters, _ = KERNELS[name]
    signatures = [KernelSignature([*parameters, *map(ConstantConstraint, config)], CallingConvention.cutile_python_v1(),
                                  symbol=symbol or (name if len(configs) == 1 else f"{name}_{config[0]}")) for config in configs]
    export_kernel(kernel.replace_hints(**hints) if hints else kernel, signatures, str(here / file),
                  gpu_code=gpu_code if version < "13.3" else None, output_format="tileir_bytecode",
                  bytecode_version=version)


def arrays(*dtypes):
    return [ArrayConstraint(dtype, 1, index_dtype=ct.int32, stride_lower_bound_incl=0, alias_groups=(),
                            may_alias_internally=False, stride_constant=[1], base_addr_divisible_by=16) for dtype in dtypes]


def write_own(file, kernel, parameters, symbol, version="13.3"):
    signature = KernelSignature(parameters, CallingConvention.cutile_python_v1(), symbol=symbol)
    export_kernel(kernel, [signature], str(here / file), gpu_code="sm_90" if version < "13.3" else None,
                  output_format="tileir_bytecode", bytecode_version=version)


def write_math(file, version, ftz=False, approx=False):
    parameters = [*arrays(ct.float32, ct.float32, ct.float16), ScalarConstraint(ct.float32)]
    write_own(file, math_kernel(ftz, approx, version), parameters, "math", version)


def write_memory(name, file=None):
    write_own(f"{file or name}.tileir", getattr(memory_kernels, name), arrays(ct.int32, ct.float32, ct.float32), name)


def without_tokens(encode):
    """Stores that come behind nothing: no front end writes this, but a compiler of somebody else's may."""
    return lambda *arguments, token, **rest: encode(*arguments, token=None, **rest)


for name in ("under_lock", "last_block", "last_block_relaxed", "queue", "queue_in_place", "shift"):
    write_memory(name)
encode_store = cuda.tile._bytecode.encode_StoreViewTkoOp
cuda.tile._bytecode.encode_StoreViewTkoOp = without_tokens(encode_store)
write_memory("shift", "shift.without_tokens")
cuda.tile._bytecode.encode_StoreViewTkoOp = encode_store
for version in ("13.1", "13.2", "13.3", "13.4", "13.5"):
    write_math(f"math.{version}.tileir", version)
    write_math(f"math.{version}.ftz.approx.tileir", version, ftz=True, approx=True)
write_math("math.13.3.ftz.tileir", "13.3", ftz=True)
write_math("math.13.3.approx.tileir", "13.3", approx=True)
for version in ("13.1", "13.2", "13.3", "13.4", "13.5"):
    write(f"softmax.{version}.tileir", "softmax", (1024,), version=version)
for name in ("dependent", "forgetful"):
    write_own(f"{name}.tileir", getattr(dependent_kernels, name), arrays(ct.float32, ct.float32), name, version="13.4")
write("matmul.tileir", "matmul", (64, 64, 64))
write("rms_norm.hinted.tileir", "rms_norm", (1024,), occupancy=ct.ByTarget(sm_90=4, default=2), num_ctas=1)
write("rms_norm.hinted.13.5.tileir", "rms_norm", (1024,), version="13.5",
      occupancy=ct.ByTarget(sm_90=4, default=2), num_ctas=1)
write("softmax.two_entries.tileir", "softmax", (1024,), (4096,), occupancy=8)
write("softmax.renamed.tileir", "softmax", (1024,), symbol="soft_maximum")


# CUDA Tile C++: three instances of one template, each of which uses a global of its own.
SCALE = b"""
#include "cuda_tile.h"
template <int N> __tile__ int table[4] = {N, 2 * N, 3 * N, 4 * N};
template <int TILE>
__tile_global__ void scale(const float* x, float* out, float factor, int n) {
  namespace tiles = ::cuda::tiles;
  auto xs = tiles::partition_view{tiles::tensor_span{x, tiles::extents{n}}, tiles::shape<TILE>{}};
  auto outs = tiles::partition_view{tiles::tensor_span{out, tiles::extents{n}}, tiles::shape<TILE>{}};
  outs.store_masked(xs.load_masked(tiles::bid().x) * (factor + static_cast<float>(table<TILE>[n & 3])), tiles::bid().x);
}
"""


def write_cpp(file, source, *instances):
    nvrtc = ctypes.CDLL("libnvrtc.so.13")
    program, size = ctypes.c_void_p(), ctypes.c_size_t()
    options = [b"--gpu-architecture=sm_90", b"--std=c++20", b"--enable-tile"]

    def call(name, *arguments):
        if code := getattr(nvrtc, name)(*arguments):
            sys.exit(f"{file}: {name}: NVRTC error {code}")

    call("nvrtcCreateProgram", ctypes.byref(program), source, b"kernel.cu", 0, None, None)
    for instance in instances:
        call("nvrtcAddNameExpression", program, instance)
    call("nvrtcCompileProgram", program, len(options), (ctypes.c_char_p * len(options))(*options))
    call("nvrtcGetTileIRSize", program, ctypes.byref(size))
    bytecode = ctypes.create_string_buffer(size.value)
    call("nvrtcGetTileIR", program, bytecode)
    (here / file).write_bytes(bytecode.raw)


write_cpp("scale.cpp.tileir", SCALE, b"scale<64>", b"scale<128>", b"scale<256>")
