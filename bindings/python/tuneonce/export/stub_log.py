"""What the code of a kernel's file asked of modules and drivers that are not there, and what it was answered, which may
decide which configs the kernel has."""
import ast
import pathlib
import sys
from types import FrameType
from typing import Dict, List, Optional, Sequence

_answers: List[str] = []
# Packages whose own code compares and tests its arguments: the standard library and the kernels' languages.
_LIBRARIES = frozenset({*sys.stdlib_module_names, "triton", "cuda"}) - {"__main__"}
_CATCHING = frozenset({"ImportError", "ModuleNotFoundError", "Exception", "BaseException"})
_guarded: Dict[str, List[range]] = {}  # By file.


def record(answer: str) -> None:
    """Remembers an answer with the line of code that asked, each once; nothing if a library asked on its own."""
    frame = _asking()
    if frame is None or frame.f_globals.get("__name__", "").partition(".")[0] in _LIBRARIES:
        return
    text = f"{frame.f_code.co_filename}:{frame.f_lineno}: {answer}"
    if text not in _answers:
        _answers.append(text)


def is_asked_from(folders: Sequence[str]) -> bool:
    """Whether code in one of `folders` asks for a module that it cannot do without: not where it catches an ImportError."""
    frame = _asking()
    if frame is None or not _is_in(frame, folders):
        return False
    while frame is not None:
        guarded = _guarded_lines(frame.f_code.co_filename) if _is_in(frame, folders) else []
        if any(frame.f_lineno in lines for lines in guarded):
            return False
        frame = frame.f_back
    return True


def _is_in(frame: FrameType, folders: Sequence[str]) -> bool:
    return any(pathlib.Path(frame.f_code.co_filename).is_relative_to(folder) for folder in folders)


def _guarded_lines(file: str) -> List[range]:
    """The lines of a file's `try` blocks that catch an ImportError, by that name or a more general one."""
    if file not in _guarded:
        _guarded[file] = _parse_guarded_lines(file)
    return _guarded[file]


def _parse_guarded_lines(file: str) -> List[range]:
    try:
        tree = ast.parse(pathlib.Path(file).read_bytes())
    except (OSError, SyntaxError, ValueError):
        return []
    return [range(node.body[0].lineno, (node.body[-1].end_lineno or 0) + 1) for node in ast.walk(tree)
            if isinstance(node, ast.Try) and any(_catches_import_error(handler) for handler in node.handlers)]


def _catches_import_error(handler: ast.ExceptHandler) -> bool:
    names = {node.id for node in ast.walk(handler.type) if isinstance(node, ast.Name)} if handler.type else _CATCHING
    return bool(names & _CATCHING)


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
