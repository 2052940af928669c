"""The kernels of these benchmarks as data: what a bundle's manifest needs, and what Kernel Tuner needs."""

import dataclasses
import json
import pathlib
from typing import Any, Dict, List, Optional

Config = Dict[str, int]


@dataclasses.dataclass
class Kernel:
    """A CUDA C++ kernel and its space. Conditions are texts that Python and a manifest read alike."""

    name: str
    symbol: str
    file: str
    dims: List[str]
    parameters: List[Dict[str, Any]]
    order: List[str]  # The kernel's parameters.
    axes: Dict[str, List[int]]
    conditions: List[str]
    baseline: Config
    grid: Dict[str, Any]
    block: Any
    shared_memory: Any = 0
    assumptions: List[Dict[str, Any]] = dataclasses.field(default_factory=list)
    cpu_file: Optional[str] = None

    def write(
        self, sources: pathlib.Path, folder: pathlib.Path, configs: Optional[List[Config]] = None
    ) -> pathlib.Path:
        """Writes a bundle of the whole space, or of the listed configs. Returns the folder."""
        folder.mkdir(parents=True, exist_ok=True)
        variant: Dict[str, Any] = {"parameters": self.order, "defines": list(self.axes), "grid": self.grid}
        variant["symbol"] = self.symbol
        cuda = {"name": "cuda", "source": "cuda_cpp", "block": self.block, "assumptions": self.assumptions}
        if self.shared_memory:
            cuda["shared_memory"] = self.shared_memory
        variants = [{**variant, **cuda, "artifacts": [{"file": self.file}]}]
        if self.cpu_file is not None:
            variants.append({**variant, "name": "cpu", "source": "cpu_cpp", "artifacts": [{"file": self.cpu_file}]})
        manifest = {
            "tuneonce_bundle": 1,
            "name": self.name,
            "version": "1",
            "dims": self.dims,
            "parameters": self.parameters,
            "axes": [{"name": name, "values": values} for name, values in self.axes.items()],
            "baseline": self.baseline,
            "where": self.conditions,
            "variants": variants,
        }
        if configs is not None:
            manifest["configs"] = configs
            manifest["max_configs"] = len(configs)
        (folder / "manifest.json").write_text(json.dumps(manifest, indent=1))
        for file in (self.file, self.cpu_file):
            if file is not None:
                (folder / file).write_text((sources / file).read_text())
        return folder


def tensor(name: str, access: str, dtype: str, dims: List[Any], warmup: Any = None) -> Dict[str, Any]:
    fields = {"name": name, "kind": "tensor", "access": access, "dtype": dtype, "dims": dims}
    return fields if warmup is None else {**fields, "warmup": warmup}


def dim(name: str) -> Dict[str, Any]:
    return {"kind": "dim", "dim": name, "dtype": "int32"}


def tiles(extent: str, tile: Any) -> Dict[str, Any]:
    return {"ceil_div": [extent, tile]}


def matmul() -> Kernel:
    """This project's product of halves on tensor cores: 1350 configs on a device with 227 KiB of shared memory."""
    return Kernel(
        name="large_matmul",
        symbol="matmul",
        file="matmul.cu",
        cpu_file="matmul.cpu.cc",
        dims=["M", "N", "K"],
        parameters=[
            tensor("a", "in", "float16", ["M", "K"]),
            tensor("b", "in", "float16", ["N", "K"]),
            tensor("c", "out", "float16", ["M", "N"]),
            *[dim(name) for name in ("M", "N", "K")],
        ],
        order=["a", "b", "c", "M", "N", "K"],
        axes={
            "TILE_M": [32, 64, 128, 256],
            "TILE_N": [32, 64, 128, 256],
            "TILE_K": [32, 64],
            "WARPS_M": [1, 2, 4],
            "WARPS_N": [1, 2, 4],
            "STAGES": [2, 3, 4],
            "GROUP": [1, 4, 16],
        },
        conditions=[
            "WARPS_M * WARPS_N >= 2 and WARPS_M * WARPS_N <= 8",
            "TILE_M % (16 * WARPS_M) == 0",
            "TILE_N % (8 * WARPS_N) == 0",
            "TILE_M * TILE_N <= 4096 * WARPS_M * WARPS_N",
            "TILE_M * TILE_N >= 512 * WARPS_M * WARPS_N",
            "STAGES * (TILE_M + TILE_N) * (TILE_K + 8) * 2 <= 232448",
        ],
        baseline={"TILE_M": 128, "TILE_N": 128, "TILE_K": 32, "WARPS_M": 2, "WARPS_N": 2, "STAGES": 3, "GROUP": 1},
        grid={"pattern": "fixed", "blocks": [{"product": [tiles("M", "TILE_M"), tiles("N", "TILE_N")]}]},
        block=[{"product": [32, "WARPS_M", "WARPS_N"]}],
        shared_memory={"product": [2, "STAGES", {"sum": ["TILE_M", "TILE_N"]}, {"sum": ["TILE_K", 8]}]},
        assumptions=[
            *[{"tensor": name, "aligned": 16} for name in "abc"],
            *[{"tensor": name, "dimension": 1, "extent_divisible_by": 8} for name in "abc"],
        ],
    )


def gemm() -> Kernel:
    """CLTune's GEMM as KTT's example has it, with the whole parameter set: 205,216 configs."""
    tile, extent, flag = [16, 32, 64, 128], [8, 16, 32], [0, 1]
    return Kernel(
        name="gemm",
        symbol="gemm_fast",
        file="gemm.cu",
        dims=["M", "N", "K"],
        parameters=[
            tensor("a", "in", "float32", ["K", "M"]),
            tensor("b", "in", "float32", ["K", "N"]),
            tensor("c", "out", "float32", ["N", "M"]),
            *[dim(name) for name in ("M", "N", "K")],
        ],
        order=["M", "N", "K", "a", "b", "c"],
        axes={
            "MWG": tile,
            "NWG": tile,
            "KWG": [16, 32],
            "MDIMC": extent,
            "NDIMC": extent,
            "MDIMA": extent,
            "NDIMB": extent,
            "KWI": [2, 8],
            "VWM": [1, 2, 4],
            "VWN": [1, 2, 4],
            "STRM": flag,
            "STRN": flag,
            "SA": flag,
            "SB": flag,
            "PRECISION": [32],
        },
        conditions=[
            "KWG % KWI == 0",
            "MWG % (MDIMC * VWM) == 0",
            "NWG % (NDIMC * VWN) == 0",
            "MWG % (MDIMA * VWM) == 0",
            "NWG % (NDIMB * VWN) == 0",
            "KWG % ((MDIMC * NDIMC) / MDIMA) == 0",
            "KWG % ((MDIMC * NDIMC) / NDIMB) == 0",
        ],
        baseline={"MWG": 32, "NWG": 32, "KWG": 16, "MDIMC": 8, "NDIMC": 8, "MDIMA": 8, "NDIMB": 8, "KWI": 2, "VWM": 1,
                  "VWN": 1, "STRM": 0, "STRN": 0, "SA": 0, "SB": 0, "PRECISION": 32},
        grid={"pattern": "fixed", "blocks": [tiles("M", "MWG"), tiles("N", "NWG")]},
        block=["MDIMC", "NDIMC"],
        assumptions=[{"tensor": name, "aligned": 16} for name in "abc"],
    )


SAMPLES, DMS, CHANNELS, MAX_SHIFT = 25000, 2048, 1536, 650
SHIFTS = [0.0, 15.8]  # 0.02 * 2048 * 15.8 is below MAX_SHIFT.


def dedispersion() -> Kernel:
    """The dedispersion kernel of the benchmark hub, with the whole space of BAT: 123,863,040 points."""
    divisors = [i for i in range(1, CHANNELS + 1) if CHANNELS % i == 0]
    return Kernel(
        name="dedispersion",
        symbol="dedispersion_kernel",
        file="dedispersion.cu",
        dims=["S", "D"],
        parameters=[
            tensor("input", "in", "uint8", [CHANNELS, SAMPLES + MAX_SHIFT], {"uniform": [0, 255]}),
            tensor("output", "out", "float32", ["D", "S"]),
            tensor("shifts", "in", "float32", [CHANNELS], {"uniform": SHIFTS}),
        ],
        order=["input", "output", "shifts"],
        axes={
            "block_size_x": [1, 2, 4, 8, *range(16, 513, 16)],
            "block_size_y": [*range(4, 129, 4)],
            "tile_size_x": [*range(1, 17)],
            "tile_size_y": [*range(1, 17)],
            "tile_stride_x": [0, 1],
            "tile_stride_y": [0, 1],
            "loop_unroll_factor_channel": [0, *divisors],
            "blocks_per_sm": [0, 1, 2, 3, 4],
        },
        conditions=[
            "block_size_x * block_size_y >= 32",
            "block_size_x * block_size_y <= 1024",
            "tile_size_x > 1 or tile_stride_x == 0",
            "tile_size_y > 1 or tile_stride_y == 0",
        ],
        baseline={"block_size_x": 32, "block_size_y": 8, "tile_size_x": 1, "tile_size_y": 1, "tile_stride_x": 0,
                  "tile_stride_y": 0, "loop_unroll_factor_channel": 1, "blocks_per_sm": 0},
        grid={
            "pattern": "fixed",
            "blocks": [
                tiles("S", {"product": ["block_size_x", "tile_size_x"]}),
                tiles("D", {"product": ["block_size_y", "tile_size_y"]}),
            ],
        },
        block=["block_size_x", "block_size_y"],
    )


KERNELS = {"matmul": matmul, "gemm": gemm, "dedispersion": dedispersion}
SHAPES = {"gemm": {"M": 2048, "N": 2048, "K": 2048}, "dedispersion": {"S": SAMPLES, "D": DMS}}
