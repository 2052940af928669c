"""What the code of a kernel's file asked of modules and drivers that are not there, and what it was answered, which may
decide which configs the kernel has."""
import sys
from types import FrameType
from typing import List, Optional

_answers: List[str] = []
# Packages whose own code compares and tests its arguments: the standard library and the kernels' languages.
_LIBRARIES = frozenset({*sys.stdlib_module_names, "triton", "cuda"}) - {"__main__"}


def record(answer: str) -> None:
    """Remembers an answer with the line of code that asked, each once; nothing if a library asked on its own."""
    frame = _asking()
    if frame is None or is_asked_by_library():
        return
    text = f"{frame.f_code.co_filename}:{frame.f_lineno}: {answer}"
    if text not in _answers:
        _answers.append(text)


def is_asked_by_library() -> bool:
    """Whether a library asks on its own, and not the kernel's file."""
    frame = _asking()
    return frame is None or frame.f_globals.get("__name__", "").partition(".")[0] in _LIBRARIES


def _asking() -> Optional[FrameType]:
    """The innermost frame outside of this package's stubs."""
    frame: Optional[FrameType] = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__package__") in (__package__, "importlib"):
        frame = frame.f_back
    return frame


def take() -> List[str]:
    """The answers since the last call."""
    taken = list(_answers)
    _answers.clear()
    return taken
