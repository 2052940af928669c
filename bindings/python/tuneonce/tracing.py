"""Records the work of searches and kernels in a file for ui.perfetto.dev."""
import contextlib
from typing import Iterator

from tuneonce.paths import Path, path_of


@contextlib.contextmanager
def trace(path: Path) -> Iterator[None]:
    """What happens in this process until the block ends (compiles, loads, checks, the rounds of a race, what the store was
    asked, waits; no hits) is written to `path`, in Chrome's Trace Event Format, also if the block raises. One at a time."""
    from tuneonce import _tuneonce
    with open(path_of("path", path), "w", encoding="utf-8") as file:  # An unwritable file is reported before anything is tuned.
        _tuneonce._begin_trace()
        try:
            yield
        finally:
            file.write(_tuneonce._end_trace())
