"""Global scratch: memory that Triton's code wants per program beside its parameters, for tensor maps that it makes itself."""
import dataclasses
from typing import Any, Dict, List

from tuneonce.export.declaration import Declaration
from tuneonce.export.parameters import workspace
from tuneonce.export.terms import Term

# The parameter behind the kernel's own: the first of the two pointers that launches by Triton pass there.
SCRATCH = "global_scratch"


def with_scratch(declaration: Declaration, bytes_per_program: int) -> Declaration:
    """The declaration with a workspace for as many programs as its grid has at most."""
    programs = programs_of(declaration.grids.get("triton", declaration.grid))
    scratch = workspace(SCRATCH, {"product": [bytes_per_program, *programs]} if programs else bytes_per_program)
    return dataclasses.replace(declaration, more_parameters=[*declaration.more_parameters, scratch])


def programs_of(grid: Dict[str, Any]) -> List[Term]:
    """Terms whose product is at least the number of programs; persistent grids have fewer, which costs memory only."""
    factors = [{"ceil_div": [extent, tile]} for extent, tile in grid.get("tiles", ())]
    factors += [grid[field] for field in ("rows", "batch", "heads") if field in grid]
    return factors + list(grid.get("blocks", ()))
