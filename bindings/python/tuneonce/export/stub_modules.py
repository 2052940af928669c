"""Stand-ins for modules that a kernel's file imports and that its kernel does not use: --stub torch."""
import importlib.abc
import importlib.machinery
import sys
from types import ModuleType
from typing import Any, Iterable, Optional


class _StubType(type):
    """A class of which every attribute is another one: a base class, a decorator, an annotation, a value."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _StubType(name, (Stub,), {})

    def __call__(cls, *arguments: Any, **keywords: Any) -> Any:
        if cls.__dict__.get("_is_derived"):
            return super().__call__(*arguments, **keywords)
        if len(arguments) == 1 and not keywords and callable(arguments[0]) and not isinstance(arguments[0], _StubType):
            return arguments[0]  # As a decorator it leaves what it decorates.
        return cls

    def __iter__(cls) -> Any:
        return iter(())

    def __bool__(cls) -> bool:
        return False

    def __getitem__(cls, key: Any) -> Any:
        return cls

    def __or__(cls, other: Any) -> Any:
        return Any

    __ror__ = __or__

    def __lt__(cls, other: Any) -> bool:
        return False

    __le__ = __gt__ = __ge__ = __lt__

    def __enter__(cls) -> Any:
        return cls

    def __exit__(cls, *error: Any) -> None:
        return None


class Stub(metaclass=_StubType):
    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__()
        if cls.__module__ != __name__:
            cls._is_derived = True  # A class of the file's own.


# A framework's names of dtypes, which kernels use as cuTile's, where cuTile has others.
DTYPES = {"bool": "bool_"}


class _StubModule(ModuleType):
    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        language = sys.modules.get("cuda.tile")
        dtype = getattr(language, DTYPES.get(name, name), None)
        if language is not None and isinstance(dtype, type(language.float32)):
            return dtype
        return _StubType(name, (Stub,), {})


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def __init__(self, names: Iterable[str]) -> None:
        self.names = tuple(names)

    def find_spec(self, name: str, path: Any, target: Any = None) -> Optional[importlib.machinery.ModuleSpec]:
        if name.partition(".")[0] not in self.names:
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        return _StubModule(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        module.__version__ = "999"  # New enough for any check.


def install(names: Iterable[str]) -> None:
    """Whatever is imported of the top-level modules `names` from now on, and is not imported yet, is a stand-in."""
    sys.meta_path.insert(0, _Finder(names))
