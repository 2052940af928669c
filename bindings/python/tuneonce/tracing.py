"""Records the work of searches and kernels in a file for ui.perfetto.dev."""
import contextlib
import os
from typing import Iterator, Union


@contextlib.contextmanager
def trace(path: Union[str, "os.PathLike[str]"]) -> Iterator[None]:
    """What happens in this process until the block ends (compiles, loads, checks, the rounds of a race, what the store was
    asked, waits; no hits) is written to `path`, in Chrome's Trace Event Format, also if the block raises. One at a time."""
    from tuneonce import _tuneonce
    with open(path, "w") as file:  # An unwritable file is reported before anything is tuned.
        _tuneonce._begin_trace()
        try:
            yield
        finally:
            file.write(_tuneonce._end_trace())
