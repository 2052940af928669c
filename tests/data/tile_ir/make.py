#!/usr/bin/env python3
"""Makes the fixtures beside it with PyPI's cuda-tile 1.7.0: make.py. They are committed; run it when they should change."""
import pathlib
import sys

here = pathlib.Path(__file__).parent
sys.path.insert(0, str(here / "../../../tests/cutile"))
import cuda.tile as ct  # noqa: E402
import cuda.tile._compile  # noqa: E402
from cuda.tile.compilation import CallingConvention, ConstantConstraint, KernelSignature, export_kernel  # noqa: E402
from export import KERNELS  # noqa: E402

cuda.tile._compile.dev_features_enabled = lambda: True  # Version 13.5, which cuda-tile 1.7.0 can write but does not offer.


def write(file, name, *configs, version="13.3", gpu_code="sm_90", symbol=None, **hints):
    kernel, parameters, _ = KERNELS[name]
    signatures = [KernelSignature([*parameters, *map(ConstantConstraint, config)], CallingConvention.cutile_python_v1(),
                                  symbol=symbol or (name if len(configs) == 1 else f"{name}_{config[0]}")) for config in configs]
    export_kernel(kernel.replace_hints(**hints) if hints else kernel, signatures, str(here / file),
                  gpu_code=gpu_code if version < "13.3" else None, output_format="tileir_bytecode",
                  bytecode_version=version)


for version in ("13.1", "13.2", "13.3", "13.4", "13.5"):
    write(f"softmax.{version}.tileir", "softmax", (1024,), version=version)
write("matmul.tileir", "matmul", (64, 64, 64))
write("rms_norm.hinted.tileir", "rms_norm", (1024,), occupancy=ct.ByTarget(sm_90=4, default=2), num_ctas=1)
write("rms_norm.hinted.13.5.tileir", "rms_norm", (1024,), version="13.5",
      occupancy=ct.ByTarget(sm_90=4, default=2), num_ctas=1)
write("softmax.two_entries.tileir", "softmax", (1024,), (4096,), occupancy=8)
write("softmax.renamed.tileir", "softmax", (1024,), symbol="soft_maximum")
