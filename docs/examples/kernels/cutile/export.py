#!/usr/bin/env python3
"""Exports the bytecode of these kernels, each for several configs; needs PyPI's cuda-tile, no GPU.

export.py OUT [--hints occupancy=2,num_ctas=1 ...] [--bytecode-version 13.3] [--only NAME ...]

Writes OUT/NAME.CONFIG.tileir, and for each --hints also OUT/NAME.CONFIG@HINTS.tileir, exported by cuTile with those
hints. CONFIG names the structural values: matmul.64x64x32. What each export assumes of its arguments (alignment,
contiguity, aliasing) stands in `array` below and must hold at every launch.
"""
import argparse
import pathlib

import cuda.tile as ct
from cuda.tile.compilation import (ArrayConstraint, CallingConvention, ConstantConstraint, KernelSignature,
                                   ScalarConstraint, export_kernel)

from matmul import matmul
from persistent_matmul import persistent_matmul
from rms_norm import rms_norm
from rope import rope
from silu_and_mul import silu_and_mul
from softmax import softmax


def array(dtype, ndim, alias_groups=()):
    """A C-contiguous array, 16-byte aligned, its rows too; it aliases only what shares an alias group."""
    row_divisor = 16 * 8 // dtype.bitwidth
    return ArrayConstraint(dtype, ndim, index_dtype=ct.int32, stride_lower_bound_incl=0, alias_groups=alias_groups,
                           may_alias_internally=False, stride_constant=[None] * (ndim - 1) + [1],
                           stride_divisible_by=[row_divisor] * (ndim - 1) + [1], base_addr_divisible_by=16)


HALF, FLOAT = ct.float16, ct.float32
MATMUL = [array(HALF, 2)] * 3
# name -> (kernel, run-time parameters, configs: constants in the order of the function's parameters)
KERNELS = {
    "rms_norm": (rms_norm, [array(HALF, 2), array(HALF, 1), array(HALF, 2), ScalarConstraint(ct.float32)],
                 [(1024,), (4096,)]),
    "softmax": (softmax, [array(FLOAT, 2), array(FLOAT, 2)], [(1024,), (4096,)]),
    "silu_and_mul": (silu_and_mul, [array(HALF, 2), array(HALF, 2)], [(512,), (2048,)]),
    "rope": (rope, [array(HALF, 3, ("x",)), array(FLOAT, 2), array(FLOAT, 2), array(HALF, 3, ("x",))], [(4, 64), (16, 64)]),
    "matmul": (matmul, MATMUL, [(m, n, k) for m in (64, 128) for n in (64, 128) for k in (32, 64)]),
    "persistent_matmul": (persistent_matmul, MATMUL, [(64, 64, 64), (128, 128, 64)]),
}


def parse_hints(text):
    return {name: int(value) for name, value in (part.split("=") for part in text.split(",") if part)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--hints", action="append", default=[], metavar="NAME=VALUE,...")
    parser.add_argument("--bytecode-version", default="13.3")
    parser.add_argument("--only", nargs="*", choices=KERNELS, default=list(KERNELS))
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    for name in arguments.only:
        kernel, parameters, configs = KERNELS[name]
        for config in configs:
            signature = KernelSignature([*parameters, *map(ConstantConstraint, config)],
                                        CallingConvention.cutile_python_v1(), symbol=name)
            stem = f"{name}.{'x'.join(map(str, config))}"
            for suffix, variant in [("", kernel)] + [("@" + hints, kernel.replace_hints(**parse_hints(hints)))
                                                     for hints in arguments.hints]:
                export_kernel(variant, [signature], str(arguments.out / f"{stem}{suffix}.tileir"),
                              output_format="tileir_bytecode", bytecode_version=arguments.bytecode_version)


if __name__ == "__main__":
    main()
