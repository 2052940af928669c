"""The list of public tile C++ kernels, and what follows from an entry: manifest, instances, launch arguments."""
import dataclasses
import itertools
import json
import pathlib
import re
import string
from typing import Any, Dict, List, Optional, Sequence, Tuple

HERE = pathlib.Path(__file__).resolve().parent
SHIM = "nvcc_names.h"
# Headers that the kernels include and NVRTC lacks. SHIM has what the kernels use of them.
STANDARD_HEADERS = ("cmath", "cstdio", "type_traits", "helper_cuda.h")

Shape = Dict[str, int]
Config = Dict[str, int]


@dataclasses.dataclass(frozen=True)
class Parameter:
    """One parameter of the kernel, as a manifest declares it; `value` is a scalar's."""
    manifest: Dict[str, Any]
    value: Any = None

    @property
    def name(self) -> str:
        if self.manifest["kind"] == "stride":
            return f"{self.manifest['tensor']}_stride_{self.manifest['dimension']}"
        return self.manifest.get("name", self.manifest.get("dim"))

    @property
    def is_tensor(self) -> bool:
        return self.manifest["kind"] == "tensor"

    @property
    def is_passed(self) -> bool:
        return self.manifest["kind"] in ("tensor", "scalar")

    @staticmethod
    def parse(text: str) -> "Parameter":
        """Forms: `out y float16 M N`, `scalar eps float32 1e-6`, `dim N [int64]`, `stride x 0 [int64]`, and
        `derived NAME TERM`."""
        kind, name, *rest = text.split(maxsplit=2)
        words = rest[0].split() if rest else []
        if kind in ("in", "out", "inout"):
            dims = [int(dim) if dim.isdigit() else dim for dim in words[1:]]
            return Parameter({"name": name, "kind": "tensor", "access": kind, "dtype": words[0], "dims": dims})
        if kind == "scalar":
            value = {"bool": lambda v: v != "0"}.get(words[0], float if words[0].startswith("float") else int)(words[1])
            return Parameter({"name": name, "kind": "scalar", "dtype": words[0], "warmup": value}, value)
        if kind == "dim":
            return Parameter({"kind": "dim", "dim": name, "dtype": words[0] if words else "int32"})
        if kind == "stride":
            return Parameter({
                "kind": "stride",
                "tensor": name,
                "dimension": int(words[0]),
                "dtype": words[1] if len(words) > 1 else "int32"
            })
        term = json.loads(rest[0]) if rest[0][0] in "[{" else rest[0]
        return Parameter({"name": name, "kind": "derived", "value": term, "dtype": "int32"})


class TileKernel:
    """An entry of kernels.json."""

    def __init__(self, entry: Dict[str, Any], source: Dict[str, str]):
        self.entry = entry
        self.source = source
        self.name: str = entry["name"]
        self.file = pathlib.PurePosixPath(entry["file"])
        self.shapes: List[Shape] = entry["shapes"]
        self.hints: Dict[str, List[int]] = entry.get("hints", {})
        self.parameters = [Parameter.parse(text) for text in entry["parameters"]]

    @property
    def tensors(self) -> List[Parameter]:
        return [parameter for parameter in self.parameters if parameter.is_tensor]

    @property
    def dims(self) -> List[str]:
        names = [dim for tensor in self.tensors for dim in tensor.manifest["dims"] if isinstance(dim, str)]
        return list(dict.fromkeys(names))

    @property
    def is_specialized(self) -> bool:
        """Whether extents are template arguments, so that each shape has code of its own."""
        return "$" in self.entry["symbol"]

    def configs(self) -> List[Config]:
        """The kernel's own configs, without hints: what the package compiles."""
        if "configs" in self.entry:
            return self.entry["configs"]
        axes = self.entry.get("axes", {})
        return [dict(zip(axes, values)) for values in itertools.product(*axes.values())]

    def symbol(self, shape: Shape) -> str:
        """The instance for a shape: `$N` is its extent N, `$pow2_N` the next power of two."""
        values: Dict[str, int] = dict(shape)
        values.update({f"pow2_{name}": 1 << (extent - 1).bit_length() for name, extent in shape.items()})
        return string.Template(self.entry["symbol"]).substitute(values)

    def instance(self, shape: Shape, config: Config) -> str:
        text = self.symbol(shape)
        for axis, value in config.items():
            text = re.sub(rf"\b{axis}\b", str(value), text)
        return text

    def macros(self, config: Config) -> Dict[str, int]:
        """The axes that the symbol does not name."""
        return {axis: value for axis, value in config.items() if not re.search(rf"\b{axis}\b", self.entry["symbol"])}

    def grid(self, shape: Shape, config: Config, num_sms: int) -> Tuple[int, int, int]:
        blocks = [value_of(term, {**shape, **config}, num_sms) for term in self.entry["grid"]]
        x, y, z = blocks + [1] * (3 - len(blocks))
        return x, y, z

    def manifest(self) -> Dict[str, Any]:
        axes: List[Dict[str, Any]] = []
        configs = self.configs()
        for axis in configs[0]:
            axes.append({"name": axis, "values": list(dict.fromkeys(config[axis] for config in configs))})
        axes += [{"name": name, "kind": "hint", "values": values} for name, values in self.hints.items()]
        manifest: Dict[str, Any] = {
            "tuneonce_bundle": 1,
            "name": self.name,
            "version": "1",
            "dims": self.dims,
            "parameters": [parameter.manifest for parameter in self.parameters],
            "axes": axes,
            "baseline": self.baseline()
        }
        if "configs" in self.entry:
            manifest["configs"] = [
                dict(config, **{
                    name: values[0] for name, values in self.hints.items()
                }) for config in configs
            ]
        for field in ("tolerance", "unordered"):
            if field in self.entry:
                manifest[field] = self.entry[field]
        manifest["example"] = {"dims": self.shapes[-1]}
        shapes: Sequence[Optional[Shape]] = self.shapes if self.is_specialized else [None]
        manifest["variants"] = [self.variant(index, shape) for index, shape in enumerate(shapes)]
        return manifest

    def baseline(self) -> Config:
        """The package's first config; a hint of 0 leaves what the source states."""
        return {**self.configs()[0], **{name: values[0] for name, values in self.hints.items()}}

    def variant(self, index: int, shape: Optional[Shape]) -> Dict[str, Any]:
        return {
            "name": f"tile_cpp_{index}",
            "source": "tile_cpp",
            "symbol": self.symbol(shape or self.shapes[0]),
            "convention": "plain",
            "defines": list(self.configs()[0]),
            "parameters": [parameter.name for parameter in self.parameters],
            "grid": {
                "pattern": "fixed",
                "blocks": self.entry["grid"]
            },
            "headers": {
                name: name for name in self.headers()
            },
            "artifacts": [{
                "file": "kernel.cu"
            }],
            "assumptions": self.assumptions(shape)
        }

    def headers(self) -> List[str]:
        return [SHIM, self.file.name, *STANDARD_HEADERS]

    def assumptions(self, shape: Optional[Shape]) -> List[Dict[str, Any]]:
        """All tensors are aligned (assume_aligned<16>) and apart (__restrict__); extents of the symbol are exact."""
        tensors = [(tensor.name, tensor.manifest) for tensor in self.tensors]
        found: List[Dict[str, Any]] = [{"tensor": name, "aligned": 16} for name, _ in tensors]
        found += [{
            "tensor": name,
            "no_overlap": other
        } for name, written in tensors if written["access"] != "in" for other, _ in tensors if other != name]
        named = set(re.findall(r"\$(?:pow2_)?(\w+)", self.entry["symbol"])) if shape else set()
        place = {dim: (name, index) for name, tensor in reversed(tensors) for index, dim in enumerate(tensor["dims"])}
        for dim in self.dims:
            tensor, dimension = place[dim]
            if dim in named and shape:
                found.append({"tensor": tensor, "dimension": dimension, "extent": shape[dim]})
            elif dim in self.entry.get("divisible", {}):
                found.append({
                    "tensor": tensor,
                    "dimension": dimension,
                    "extent_divisible_by": self.entry["divisible"][dim]
                })
        return found


def value_of(term: Any, values: Dict[str, int], num_sms: int) -> int:
    """A manifest's term."""
    if isinstance(term, int):
        return term
    if isinstance(term, str):
        return values[term]
    if isinstance(term, list):  # A sum of products.
        total = 0
        for product in term:
            part = 1
            for factor in product:
                part *= value_of(factor, values, num_sms)
            total += part
        return total
    (name, operands), = term.items()
    if name == "device":
        return num_sms
    parts = [value_of(operand, values, num_sms) for operand in operands]
    if name == "product":
        product = 1
        for part in parts:
            product *= part
        return product
    return {
        "ceil_div": lambda: -(-parts[0] // parts[1]),
        "floor_div": lambda: parts[0] // parts[1],
        "min": lambda: min(parts),
        "max": lambda: max(parts),
        "sum": lambda: sum(parts)
    }[name]()


def read_list() -> List[TileKernel]:
    content = json.loads((HERE / "kernels.json").read_text())
    return [TileKernel(entry, content["sources"][entry["source"]]) for entry in content["kernels"]]
