"""Paths that functions of the package take."""
import os
from typing import Any, Union

Path = Union[str, "os.PathLike[str]"]


def path_of(name: str, given: Any) -> str:
    """Returns a path as a str. Raises TypeError for anything else, such as the number of an open file."""
    if not isinstance(given, (str, os.PathLike)):
        raise TypeError(f"{name} is a path (str or os.PathLike), not {given!r}")
    return os.fsdecode(given)
