"""What one call of a kernel was: what a declaration says, as numbers."""
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple


class Observed(NamedTuple):
    """A tensor of a call. `strides` are in elements."""
    shape: Tuple[int, ...]
    strides: Tuple[int, ...]
    dtype: str


class Observation(NamedTuple):
    """One call. `grids`: by config, the grid in programs; None where the grid function failed."""
    tensors: Dict[str, Observed]
    scalars: Dict[str, Any]
    grids: List[Optional[Tuple[int, ...]]]


def observed(tensor: Any) -> Observed:
    """Raises AttributeError for an object that is neither a tensor of PyTorch nor an array of numpy."""
    strides = tensor.stride() if hasattr(tensor, "stride") else [stride // tensor.itemsize for stride in tensor.strides]
    return Observed(tuple(tensor.shape), tuple(strides), str(tensor.dtype).rpartition(".")[2])


def grid_of(grid: Any, arguments: Dict[str, Any]) -> Optional[Tuple[int, ...]]:
    """The grid of a launch with these arguments, in three dimensions."""
    try:
        given: Sequence[int] = grid(arguments) if callable(grid) else grid
        return (*(int(extent) for extent in given), 1, 1)[:3]
    except Exception:  # The caller's function; a launch raises what it raises.
        return None
