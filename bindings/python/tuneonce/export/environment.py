"""Variables of the environment, changed for a while."""
import contextlib
import os
from typing import Dict, Iterator, Optional


@contextlib.contextmanager
def environment(changes: Dict[str, Optional[str]]) -> Iterator[None]:
    """Sets variables for the block, and restores them afterwards; None removes a variable."""
    before = {name: os.environ.get(name) for name in changes}
    _assign(changes)
    try:
        yield
    finally:
        _assign(before)


def _assign(values: Dict[str, Optional[str]]) -> None:
    for name, value in values.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
