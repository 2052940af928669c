#!/usr/bin/env python3
"""Exports the bytecode of the kernels of bundles/, each for its structural configs, and with hints baked in as
cuTile does it: what tests and benchmarks compare our patched hints with. Needs PyPI's cuda-tile, no GPU.

export.py OUT [--hints occupancy=2,num_ctas=1 ...] [--math ftz,approx ...] [--bytecode-version 13.3]
          [--only NAME[.CONFIG] ...] [--every N]

Writes OUT/NAME.CONFIG.tileir, and for each --hints also OUT/NAME.CONFIG@HINTS.tileir, exported by cuTile with those
hints, and for each --math OUT/NAME.CONFIG@MATH.tileir, where every operation of the source that can has flush_to_zero=True
(ftz) or rounding_mode=APPROX (approx). CONFIG names the structural values: matmul.64x64x32. With --every N, each Nth
config of a kernel is exported.
"""
import argparse
import contextlib
import pathlib
import sys

here = pathlib.Path(__file__).resolve().parent
sys.path.append(str(here / "../../bindings/python"))  # Behind a package that is built or installed.
from cuda.tile.compilation import (CallingConvention, ConstantConstraint, KernelSignature,  # noqa: E402
                                   ScalarConstraint, export_kernel)
from tuneonce.export import constants, kernel_spec  # noqa: E402
from tuneonce.export.cutile import array_constraint, dtype_of, workspace_constraint  # noqa: E402
from tuneonce.export.cutile_kernel import CutileKernel  # noqa: E402

NAMES = ("rms_norm", "softmax", "silu_and_mul", "rope", "matmul", "persistent_matmul", "vector_add", "layer_norm",
         "elementwise", "dual_gemm", "attention", "fp8_matmul", "fp8_block_matmul",
         "grouped_gemm", "varlen_attention", "decode_attention", "paged_attention",
         "split_k_matmul")


def constraint(declaration, parameter):
    """What a parameter is compiled for that is no constant."""
    if parameter["kind"] == "tensor":
        return array_constraint(declaration, parameter)
    if parameter["kind"] == "workspace":
        return workspace_constraint(parameter)
    return ScalarConstraint(dtype_of(parameter["dtype"]))


def declared(name):
    """(kernel, run-time parameters, configs: constants in the order of the function's parameters)"""
    kernel, _, declaration, _ = kernel_spec.find(f"{here}/../../bundles/{name}/{name}.py:{name}")
    parameters = [constraint(declaration, p) for p in declaration.parameters if p["kind"] != "dim"]
    names = CutileKernel(kernel, name).names
    values = [constants.values_at(declaration.constants, config, extents)
              for extents in constants.extents(declaration.constants)
              for config in declaration.structural_configs("tile")]
    return kernel, parameters, list(dict.fromkeys(tuple(of[n] for n in names if n in of) for of in values))


KERNELS = {name: declared(name) for name in NAMES}


def stem_of(name, config):
    return f"{name}.{'x'.join(map(str, config))}"


def parse_hints(text):
    return {name: int(value) for name, value in (part.split("=") for part in text.split(",") if part)}


@contextlib.contextmanager
def math_flags(names):
    """Meanwhile cuTile's front end reads every float32 operation as if the source gave it these flags."""
    import cuda.tile as ct
    from cuda.tile._ir import arithmetic_ops as ops
    from cuda.tile._ir.ops_utils import BINOP_REGISTRY, UNARYOP_REGISTRY
    raw = {"binary_arithmetic_tensorlike_raw": BINOP_REGISTRY, "unary_raw": UNARYOP_REGISTRY}
    before = {name: getattr(ops, name) for name in raw}

    def flagged(name):
        def function(fn, x, *others, rounding_mode=None, flush_to_zero=False, **rest):
            others = list(others)
            if name == "binary_arithmetic_tensorlike_raw" and len(others) > 1:
                rounding_mode, flush_to_zero = others[1:3]
                others = others[:1]
            definition = raw[name].get(fn)  # None: one of cuTile's own, which no source can name.
            if definition is not None and x.get_type().tensor_dtype() == ct.float32:
                flush_to_zero = flush_to_zero or ("ftz" in names and definition.support_flush_to_zero)
                if "approx" in names and ct.RoundingMode.APPROX in definition.supported_rounding_modes and rounding_mode is None:
                    rounding_mode = ct.RoundingMode.APPROX
            return before[name](fn, x, *others, rounding_mode=rounding_mode, flush_to_zero=flush_to_zero, **rest)
        return function

    for name in raw:
        setattr(ops, name, flagged(name))
    try:
        yield
    finally:
        for name, function in before.items():
            setattr(ops, name, function)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--hints", action="append", default=[], metavar="NAME=VALUE,...")
    parser.add_argument("--math", action="append", default=[], metavar="ftz,approx")
    parser.add_argument("--bytecode-version", default="13.3")
    parser.add_argument("--only", nargs="*", default=list(KERNELS), metavar="NAME[.CONFIG]")
    parser.add_argument("--every", type=int, default=1, metavar="N")
    arguments = parser.parse_args()
    there_are = {*KERNELS, *(stem_of(name, config) for name, of in KERNELS.items() for config in of[2])}
    if unknown := [each for each in arguments.only if each not in there_are]:
        parser.error(f"no kernel or config is named {', '.join(unknown)}")
    arguments.out.mkdir(parents=True, exist_ok=True)
    for name, (kernel, parameters, configs) in KERNELS.items():
        for i, config in enumerate(configs):
            stem = stem_of(name, config)
            if i % arguments.every != 0 or not {name, stem} & {*arguments.only}:
                continue
            signature = KernelSignature([*parameters, *map(ConstantConstraint, config)],
                                        CallingConvention.cutile_python_v1(), symbol=name)
            with_hints = [(hints, kernel.replace_hints(**parse_hints(hints)), "") for hints in arguments.hints]
            for suffix, variant, math in [("", kernel, ""), *with_hints, *((m, kernel, m) for m in arguments.math)]:
                with math_flags(math.split(",")):
                    export_kernel(variant, [signature], str(arguments.out / f"{stem}{'@' if suffix else ''}{suffix}.tileir"),
                                  output_format="tileir_bytecode", bytecode_version=arguments.bytecode_version)


if __name__ == "__main__":
    main()
