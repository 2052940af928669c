"""Compiled code of one config, and how a launch passes the arguments to it."""
import dataclasses
import json
from typing import Any, List, Optional, Sequence, Tuple


@dataclasses.dataclass(frozen=True)
class Code:
    """What C++ launches. `kind`: of the image (KernelSource's). `passed`: in the compiled kernel's order, the index of a call's
    parameter and the form in which it is passed; or a number and "word"; or 0 and "scratch", the address of scratch memory. `grid`: in
    blocks, unless the call has one."""
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
    grid: Optional[Tuple[int, ...]] = None

    def parts(self) -> Tuple[Any, ...]:
        """The fields in order, for C++."""
        return (self.kind, self.image, self.symbol, self.threads, self.shared_bytes, self.num_ctas, self.is_programmatic,
                self.scratch_bytes, self.scratch_alignment, [tuple(each) for each in self.passed], self.grid)

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
