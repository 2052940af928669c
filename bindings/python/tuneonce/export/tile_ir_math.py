"""Flush-to-zero and approximate math of Tile IR, where the environment asks for them."""
import os
from typing import List

from tuneonce.export.declaration import Declaration

# The names that Triton's Tile IR back end gave them.
VARIABLES = {"ftz": "TILEIR_ENABLE_FTZ", "approx": "TILEIR_ENABLE_APPROX"}


def options(declaration: Declaration) -> List[str]:
    """Options of a Tile IR variant: those whose variable is 1. An option that is an axis of the declaration has no default:
    the search tries both of its values."""
    return [f"--{option}" for option, variable in VARIABLES.items()
            if os.environ.get(variable) == "1" and option not in declaration.option_axes]
