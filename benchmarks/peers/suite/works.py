"""The four works, each the same for all peers: shapes, tensors, what comes out, and candidates in three languages.

A candidate is a dict of what it is made of. CUDA C++ and cuTile are this project's own bundles of the name; Triton's
are those, too, where there are some (triton_kernels.py).
"""

import dataclasses
import itertools
import json
import pathlib
from typing import Any, Callable, Dict, List, Tuple

ROOT = pathlib.Path(__file__).resolve().parents[3]
BUNDLES = ROOT / "bundles"
FAULTS = {"crash": 1, "hang": 2, "wrong": 3}
Config = Dict[str, Any]


def name_of(config: Config) -> str:
    """FAULT=0, which says nothing, is left out, and another value is what Choice of a faulty one asks for."""
    return " ".join(
        "FAULT" if axis == "FAULT" else f"{axis}={value}"
        for axis, value in config.items()
        if axis != "FAULT" or value != 0
    )


def cdiv(a: int, b: int) -> int:
    return -(-a // b)


@dataclasses.dataclass
class Work:
    """dims: of the shape on a GPU, and of one for the CPU device. scalars: by name."""

    dims: Dict[str, int]
    cpu_dims: Dict[str, int]
    scalars: Dict[str, Any] = dataclasses.field(default_factory=dict)


WORKS = {
    "vector_add": Work({"N": 1 << 24}, {"N": 4096}),
    "rms_norm": Work({"M": 4096, "N": 4096}, {"M": 8, "N": 1024}, {"eps": 1e-5}),
    "matmul": Work({"M": 2048, "N": 2048, "K": 2048}, {"M": 64, "N": 64, "K": 64}),
    "attention": Work(
        {"S": 2048, "T": 2048, "B": 1, "H": 16, "G": 16, "D": 128},
        {"S": 64, "T": 64, "B": 1, "H": 2, "G": 2, "D": 64},
        {"scale": 128**-0.5, "causal": True},
    ),
}


def manifest(work: str) -> Dict[str, Any]:
    return json.loads((BUNDLES / work / "manifest.json").read_text())


def tensors(work: str, device: str = "cuda") -> Dict[str, Any]:
    """By name, in the order of the call: torch's on a GPU, numpy's on the CPU device. Inputs are random, outputs 0."""
    found = WORKS[work]
    dims = found.dims if device == "cuda" else found.cpu_dims
    declared = manifest(work)
    example: Dict[str, str] = declared["example"].get("dtypes", {})  # Where the kernel takes several.
    made: Dict[str, Any] = {}
    for p in declared["parameters"]:
        if p["kind"] != "tensor":
            continue
        dtype = p.get("dtype") or example[p.get("same_dtype_as", p["name"])]
        shape = [dims[d] for d in p["dims"]]
        if device == "cuda":
            import torch

            torch.manual_seed(len(made))
            values = (
                torch.rand(shape, device="cuda") - 0.5 if p["access"] == "in" else torch.zeros(shape, device="cuda")
            )
            made[p["name"]] = values.to(getattr(torch, dtype))
        else:
            import numpy

            values = numpy.random.default_rng(len(made)).random(shape) - 0.5
            made[p["name"]] = (values if p["access"] == "in" else values * 0).astype(dtype)
    return made


def output(work: str, made: Dict[str, Any]) -> Any:
    return made[next(p["name"] for p in manifest(work)["parameters"] if p.get("access") == "out")]


def expected(work: str, t: Dict[str, Any]) -> Any:
    """By torch, in the inputs' dtypes: what a peer computes is compared with it, loosely."""
    import torch.nn.functional as F

    if work == "vector_add":
        return t["x"] + t["y"]
    if work == "rms_norm":
        return F.rms_norm(t["x"], (t["x"].shape[1],), t["w"], WORKS[work].scalars["eps"])
    if work == "matmul":
        return t["a"] @ t["b"]
    return F.scaled_dot_product_attention(t["q"], t["k"], t["v"], is_causal=True)


def is_right(work: str, t: Dict[str, Any], result: Any) -> bool:
    import torch

    return torch.allclose(result.float(), expected(work, t).float(), rtol=2e-2, atol=2e-2)


CUDA_AXES: Dict[str, Dict[str, List[int]]] = {  # Of bundles/WORK/WORK.cu: all combinations are tried.
    "vector_add": {"BLOCK": [1024, 2048, 4096, 8192, 16384, 65536], "UNROLL": [1, 2, 4]},
    "rms_norm": {"TILE_N": [4096, 2048, 8192], "LOOP": [1], "ONE_ROW": [1, 0], "occupancy": [1, 2, 4]},
    "matmul": {"TILE_M": [64, 32, 128], "TILE_N": [64, 32, 128], "TILE_K": [32, 16], "occupancy": [1]},
    "attention": {"TILE_M": [64, 32, 128, 256]},
}


def crossed(axes: Dict[str, List[int]]) -> List[Config]:
    """All combinations. The first is the baseline."""
    return [dict(zip(axes, values)) for values in itertools.product(*axes.values())]


def faulty_axes(kind: str) -> Dict[str, List[int]]:
    return {"BLOCK": [1024, 2048], "FAULT": [0, FAULTS[kind]]}


def cutile_configs(work: str) -> List[Config]:
    """Those of the bundle that suit the shape, at most 8: cuTile compiles them one by one."""
    dims = WORKS[work].dims
    wanted = {
        "vector_add": ["BLOCK"],
        "rms_norm": ["TILE_N", "LOOP", "ONE_ROW", "occupancy"],
        "matmul": ["TILE_M", "TILE_N", "TILE_K", "occupancy"],
        "attention": ["TILE_M", "TILE_N", "occupancy"],
    }[work]
    found: List[Config] = []
    for c in manifest(work)["configs"]:
        config = {axis: c[axis] for axis in wanted}
        fits = work != "rms_norm" or c["LOOP"] or c["TILE_N"] >= dims["N"]
        if c["backend"] == "tile" and c.get("num_ctas", 1) == 1 and fits and config not in found:
            found.append(config)
    return found[:8]


def num_sms() -> int:
    import torch

    return torch.cuda.get_device_properties(0).multi_processor_count


def grid_of(work: str, config: Config) -> Tuple[int, int, int]:
    d = WORKS[work].dims
    if work == "vector_add":
        return cdiv(d["N"], config["BLOCK"]), 1, 1
    if work == "rms_norm":
        return d["M"] if config["ONE_ROW"] else min(d["M"], num_sms() * config["occupancy"]), 1, 1
    if work == "matmul":
        return cdiv(d["M"], config["TILE_M"]), cdiv(d["N"], config["TILE_N"]), 1
    return cdiv(d["S"], config["TILE_M"]), d["H"], d["B"]


def cuda_block(work: str) -> Tuple[int, int, int]:
    return (16, 16, 1) if work == "matmul" else (256, 1, 1)


def cuda_shared(work: str) -> int:
    return 320 * WORKS[work].dims["D"] + 128 if work == "attention" else 0


def cuda_arguments(work: str, t: Dict[str, Any]) -> List[Any]:
    """Tensors and numpy scalars, in the order of the .cu's parameters."""
    import numpy

    d = WORKS[work].dims
    if work == "vector_add":
        return [t["x"], t["y"], t["z"], numpy.int64(d["N"])]
    if work == "rms_norm":
        return [t["x"], t["w"], t["y"], numpy.float32(1e-5), numpy.int32(d["M"]), numpy.int32(d["N"])]
    if work == "matmul":
        return [t["a"], t["b"], t["c"], *(numpy.int32(d[n]) for n in "MNK")]
    return [
        t["q"],
        t["k"],
        t["v"],
        t["o"],
        numpy.float32(d["D"] ** -0.5),
        numpy.bool_(True),
        *(numpy.int32(d[n]) for n in "STHGD"),
    ]


def cuda_source(work: str) -> str:
    return (BUNDLES / work / f"{work}.cu").read_text()


def cuda_launcher(work: str, source: str, config: Config, arguments: List[Any]) -> Callable[[], None]:
    """One launch of a CUDA C++ config by CuPy, for the one timer, whoever tuned it. Compiles at the first."""
    import cupy
    import torch

    options = tuple(f"-D{axis}={value}" for axis, value in config.items())
    made: List[Any] = []

    def launch() -> None:
        if not made:
            made.append(cupy.RawModule(code=source, options=options, backend="nvrtc").get_function(work))
            made[0].max_dynamic_shared_size_bytes = cuda_shared(work)
        plain = tuple(cupy.uint64(a.data_ptr()) if isinstance(a, torch.Tensor) else a for a in arguments)
        with cupy.cuda.ExternalStream(torch.cuda.current_stream().cuda_stream):
            made[0](grid_of(work, config), cuda_block(work), plain, shared_mem=cuda_shared(work))

    return launch


def cuda_space(work: str, t: Dict[str, Any]) -> Dict[str, Callable[[], None]]:
    return {
        name_of(c): cuda_launcher(work, cuda_source(work), c, cuda_arguments(work, t)) for c in crossed(CUDA_AXES[work])
    }
