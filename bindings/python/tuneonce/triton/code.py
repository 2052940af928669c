"""Compiled code of one config, and how a launch passes the arguments to it."""
import dataclasses
import json
from typing import Any, Dict, List, Sequence, Tuple

from tuneonce.triton.lowering import Compiled
from tuneonce.triton.unsupported import Unsupported

# Threads of a warp.
WARP = 32


def _form(name: str, kind: str) -> str:
    if kind.startswith("*"):
        return "pointer"
    if kind in ("fp32", "f32"):
        return "float32"
    if kind in ("fp64", "f64"):
        return "float64"
    if kind[:1] in ("i", "u") and kind[1:].isdigit():
        return "integer"
    raise Unsupported(f"'{name}' is passed as {kind}")


@dataclasses.dataclass(frozen=True)
class Code:
    """What C++ launches. `kind`: of the image (KernelSource's); `passed`: index of a parameter and the form in which it is passed,
    in the compiled kernel's order."""
    kind: str
    image: bytes
    symbol: str
    threads: int
    shared_bytes: int
    num_ctas: int
    is_programmatic: bool
    scratch_bytes: int
    scratch_alignment: int
    passed: Sequence[Tuple[int, str]]

    @staticmethod
    def of(compiled: Compiled, signature: Dict[str, str]) -> "Code":
        """`signature`: the types of all parameters, constants included, in order. Raises Unsupported."""
        metadata = compiled.metadata
        for name, why in (("launch_cooperative_grid", "it needs a cooperative launch"),
                          ("profile_scratch_size", "it is instrumented for a profiler"), ("gsan", "it is instrumented")):
            if metadata.get(name):
                raise Unsupported(why)
        if metadata["num_ctas"] > 8:
            raise Unsupported(f"its clusters have {metadata['num_ctas']} blocks")
        passed = [(i, _form(name, kind)) for i, (name, kind) in enumerate(signature.items()) if kind != "constexpr"]
        return Code("cubin", compiled.cubin, metadata["name"], WARP * metadata["num_warps"], metadata["shared"],
                    metadata["num_ctas"], bool(metadata.get("launch_pdl")), metadata.get("global_scratch_size", 0),
                    metadata.get("global_scratch_align", 1), passed)

    def parts(self) -> Tuple[Any, ...]:
        """The fields in order, for C++."""
        return (self.kind, self.image, self.symbol, self.threads, self.shared_bytes, self.num_ctas, self.is_programmatic,
                self.scratch_bytes, self.scratch_alignment, [tuple(each) for each in self.passed])

    def to_bytes(self) -> bytes:
        fields: List[Any] = [*self.parts()]
        fields[1] = None
        return json.dumps(fields).encode() + b"\n" + self.image

    @staticmethod
    def from_bytes(content: bytes) -> "Code":
        header, _, image = content.partition(b"\n")
        fields = json.loads(header)
        fields[1] = image
        return Code(*fields)
