"""What the runner must know of one public kernel at one shape, and what the cases are made with."""
import dataclasses
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple


@dataclasses.dataclass
class Case:
    """arguments: by the kernel's own parameter names: tensors, scalars, and the constants that no config decides.
    outputs: which of them the kernel writes.
    reference: what they must hold, by name; not a number where anything may stand. An output that it does not name is
        compared with home's. Called before any launch.
    grid: from a config to the grid, as the package launches it.
    configs: what the package searches on this GPU: the kernel's constants and compiler hints by name, None for no hint;
        or its only config. None: the kernel searches by itself (triton.autotune).
    home: how to launch where that is neither cuTile's launch nor Triton's.
    tolerance: of the largest difference, as a part of the reference's largest value; default: by the output's type.
    """
    arguments: Dict[str, Any]
    outputs: Sequence[str]
    reference: Callable[[], Dict[str, Any]]
    grid: Optional[Callable[[Dict[str, Any]], Tuple[int, ...]]] = None
    configs: Optional[List[Dict[str, Any]]] = dataclasses.field(default_factory=lambda: [{}])
    home: Optional[Callable[[], None]] = None
    tolerance: Optional[float] = None


def cdiv(a: int, b: int) -> int:
    return -(-a // b)


def pow2(n: int) -> int:
    """The next power of two."""
    return 1 << (n - 1).bit_length()
