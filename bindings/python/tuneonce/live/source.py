"""What the Python code of a kernel depends on."""
import enum
import functools
import inspect
import sys
import types
from typing import Any, Dict, List, Set, Tuple

# Modules whose functions a version identifies: the standard library's, and those of languages and frameworks.
_LIBRARIES = frozenset({*sys.stdlib_module_names, "cuda", "cupy", "jax", "numpy", "torch", "triton", "tuneonce"}) - {"__main__"}


def source_of(function: Any) -> Tuple[Any, ...]:
    """The code of a function or kernel, of the functions that it refers to, and the constants among its globals, as a value with a
    repr."""
    seen: Dict[int, Any] = {}
    parts: List[Any] = []
    _add("", function, seen, parts)
    return tuple(parts)


def _add(name: str, value: Any, seen: Dict[int, Any], parts: List[Any]) -> None:
    value = _unwrapped(value)
    if id(value) in seen:
        return
    if isinstance(value, types.FunctionType):
        seen[id(value)] = value
        if value.__module__ and value.__module__.partition(".")[0] in _LIBRARIES:
            return
        parts.append((name, *_code(value.__code__), repr(value.__defaults__), repr(value.__kwdefaults__)))
        _add_references(value, seen, parts)
    elif isinstance(value, (bool, int, float, str, bytes, tuple, frozenset, enum.Enum, type(None))):
        parts.append((name, repr(value)))
    elif not isinstance(value, types.ModuleType):
        is_shown = not hasattr(value, "dtype") and type(value).__repr__ is not object.__repr__ and " at 0x" not in repr(value)
        parts.append((name, repr(value) if is_shown else type(value).__qualname__))


def _add_references(function: types.FunctionType, seen: Dict[int, Any], parts: List[Any]) -> None:
    names = _names(function.__code__)
    for cell_name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
        try:
            _add(cell_name, cell.cell_contents, seen, parts)
        except ValueError:  # It has no value yet.
            pass
    for name in sorted(names & function.__globals__.keys()):
        value = function.__globals__[name]
        _add(name, value, seen, parts)
        if isinstance(value, types.ModuleType) and value.__name__.partition(".")[0] not in _LIBRARIES:
            for attribute in sorted(names):
                if hasattr(value, attribute):
                    _add(f"{name}.{attribute}", getattr(value, attribute), seen, parts)


def _unwrapped(value: Any) -> Any:
    """The function that a decorator of a language's, or of functools, keeps."""
    if isinstance(value, types.ModuleType):
        return value
    if isinstance(getattr(value, "_pyfunc", None), types.FunctionType):  # A kernel of cuTile's.
        return value._pyfunc
    if isinstance(getattr(value, "fn", None), types.FunctionType):  # Triton's.
        return value.fn
    if isinstance(value, functools.partial):
        return _unwrapped(value.func)
    return inspect.unwrap(value) if isinstance(value, types.FunctionType) else getattr(value, "__func__", value)


def _names(code: types.CodeType) -> Set[str]:
    return set(code.co_names).union(*(_names(c) for c in code.co_consts if isinstance(c, types.CodeType)))


def _code(code: types.CodeType) -> Tuple[Any, ...]:
    constants = [_code(c) if isinstance(c, types.CodeType) else repr(c) for c in code.co_consts]
    return (code.co_name, code.co_code.hex(), constants, code.co_names, code.co_varnames, code.co_freevars)
