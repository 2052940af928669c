"""Stand-ins for modules that a kernel's file imports and that its kernel does not use: --stub torch."""
import importlib
import importlib.abc
import importlib.machinery
import reprlib
import sys
from types import ModuleType
from typing import Any, Callable, Dict, Iterable, Optional, Sequence

from tuneonce.export import stub_log


_REPR = reprlib.Repr()
_REPR.maxstring = _REPR.maxother = 60


def _shown(arguments: Sequence[Any], keywords: Dict[str, Any]) -> str:
    named = [f"{name}={_REPR.repr(value)}" for name, value in keywords.items()]
    return ", ".join([*map(_REPR.repr, arguments), *named])


class _StubType(type):
    """A class of which every attribute is another one: a base class, a decorator, an annotation, a value. Where code
    decides something by it, the answer goes to the log. Two are equal if they have the same path ("torch.float16"). A
    class of the file's own that is derived from one is a class as any other."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _stub(f"{cls._path}.{name}", name)

    def __call__(cls, *arguments: Any, **keywords: Any) -> Any:
        if cls._is_own():
            return super().__call__(*arguments, **keywords)
        if len(arguments) == 1 and not keywords and callable(arguments[0]) and not isinstance(arguments[0], _StubType):
            return arguments[0]  # As a decorator it leaves what it decorates.
        return _stub(f"{cls._path}({_shown(arguments, keywords)})", cls.__name__)

    def __getitem__(cls, key: Any) -> Any:
        return _stub(f"{cls._path}[{_REPR.repr(key)}]", cls.__name__)

    def __iter__(cls) -> Any:
        stub_log.record(f"'{cls._path}' was taken as empty")
        return iter(())

    def __bool__(cls) -> bool:
        return cls._is_own() or cls._answer(f"'{cls._path}' was taken as False", False)

    def __eq__(cls, other: Any) -> bool:
        if cls is other or (isinstance(other, _StubType) and cls._identity() == other._identity()):
            return True
        return not cls._is_own() and cls._answer(f"'{cls._path} == {_REPR.repr(other)}' was taken as False", False)

    def __ne__(cls, other: Any) -> bool:
        if cls is other or (isinstance(other, _StubType) and cls._identity() == other._identity()):
            return False
        return cls._is_own() or cls._answer(f"'{cls._path} != {_REPR.repr(other)}' was taken as True", True)

    def __lt__(cls, other: Any) -> bool:
        return cls._is_ordered("<", other)

    def __le__(cls, other: Any) -> bool:
        return cls._is_ordered("<=", other)

    def __gt__(cls, other: Any) -> bool:
        return cls._is_ordered(">", other)

    def __ge__(cls, other: Any) -> bool:
        return cls._is_ordered(">=", other)

    def __int__(cls, *_: Any) -> Any:
        """Converts to a number, or computes: an error, which the file's code may catch."""
        stub_log.record(f"'{cls._path}' was refused as a number")
        raise TypeError(f"'{cls._path}' is a stub, and no number")

    __index__ = __float__ = __len__ = __neg__ = __int__
    __add__ = __sub__ = __mul__ = __truediv__ = __floordiv__ = __mod__ = __pow__ = __and__ = __int__
    __radd__ = __rsub__ = __rmul__ = __rtruediv__ = __rfloordiv__ = __rmod__ = __rpow__ = __rand__ = __int__

    def __hash__(cls) -> int:
        return hash(cls._identity())

    def __repr__(cls) -> str:
        return super().__repr__() if cls._is_own() else str(cls._path)

    def __or__(cls, other: Any) -> Any:
        return Any

    __ror__ = __or__

    def __enter__(cls) -> Any:
        return cls

    def __exit__(cls, *error: Any) -> None:
        return None

    def _is_own(cls) -> bool:
        return "_is_derived" in cls.__dict__

    def _identity(cls) -> Any:
        return id(cls) if cls._is_own() else cls._path

    def _is_ordered(cls, symbol: str, other: Any) -> bool:
        return cls._answer(f"'{cls._path} {symbol} {_REPR.repr(other)}' was taken as False", False)

    def _answer(cls, text: str, value: bool) -> bool:
        stub_log.record(text)
        return value


class Stub(metaclass=_StubType):
    _path = "stub"

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        """Of a class of the file's own, whose base would set its fields (a model, a structure)."""
        self.__dict__.update(keywords)

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__()
        if cls.__module__ != __name__:
            cls._is_derived = True  # A class of the file's own.


def _stub(path: str, name: str) -> Any:
    return _StubType(name, (Stub,), {"_path": path})


# A framework's names of dtypes, which kernels use as cuTile's, where cuTile has others.
DTYPES = {"bool": "bool_"}
VERSION = "999"  # New enough for any check.


class _StubModule(ModuleType):
    def __getattr__(self, name: str) -> Any:
        if name == "__version__":
            stub_log.record(f"'{self.__name__}.__version__' was taken as '{VERSION}'")
            return VERSION
        if name.startswith("__"):
            raise AttributeError(name)
        language = sys.modules.get("cuda.tile")
        dtype = getattr(language, DTYPES.get(name, name), None)
        if language is not None and isinstance(dtype, type(language.float32)):
            return dtype
        return _stub(f"{self.__name__}.{name}", name)


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
        """There is nothing to run."""


class _MissingFinder(_Finder):
    """For what no other finder has, where the kernel's package asks for it, or its file and those in the same folder, and does
    not catch the ImportError. Installed packages get no stubs: they expect some modules to be missing. The languages and the
    standard library are never replaced."""

    def find_spec(self, name: str, path: Any, target: Any = None) -> Optional[importlib.machinery.ModuleSpec]:
        top, _, rest = name.partition(".")
        if top in LANGUAGES or top in sys.stdlib_module_names:
            return None
        if rest and not isinstance(sys.modules.get(top), _StubModule):
            return None
        if not rest and not stub_log.is_asked_from(self.names):
            return None
        if not rest:
            stub_log.record(f"'{name}', which is not installed, was replaced by a stub")
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def add_folder(self, folder: str) -> None:
        """The code of `folder` may ask from now on."""
        self.names += (folder,)


class _PackageFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the packages `names` where they are, and does not run their `__init__` files."""

    def __init__(self, names: Iterable[str]) -> None:
        self.names = tuple(names)

    def find_spec(self, name: str, path: Any, target: Any = None) -> Optional[importlib.machinery.ModuleSpec]:
        spec = importlib.machinery.PathFinder.find_spec(name, path) if name in self.names else None
        if spec is None or spec.submodule_search_locations is None:
            return None
        bare = importlib.machinery.ModuleSpec(name, self, is_package=True)
        bare.submodule_search_locations = list(spec.submodule_search_locations)
        return bare

    def exec_module(self, module: ModuleType) -> None:
        """The file's code is left out."""


# Modules that are never replaced: without them nothing can be exported.
LANGUAGES = ("cuda", "triton", "tuneonce")
# In place of a module's name: all that are not installed.
MISSING = "missing"


def install(names: Sequence[str]) -> None:
    """Whatever is imported of the top-level modules `names` from now on, and is not imported yet, is a fallback. "missing": of every
    module that is not installed."""
    sys.meta_path.insert(0, _Finder([name for name in names if name != MISSING]))
    if MISSING in names:
        sys.meta_path.append(_MissingFinder(()))


def add_folder(folder: str) -> None:
    """Adds the folder of a kernel's file, or of its package, whose missing imports are replaced if any are."""
    for finder in sys.meta_path:
        if isinstance(finder, _MissingFinder):
            finder.add_folder(folder)


def import_module(name: str) -> ModuleType:
    """The module `name`. If whatever is missing is replaced, the `__init__` files of the packages that it lies in run only if it
    needs a name of theirs: they start the package's runtime, which often needs a GPU and other packages."""
    parts = name.split(".")
    package = importlib.machinery.PathFinder.find_spec(parts[0])
    is_replacing = any(isinstance(each, _MissingFinder) for each in sys.meta_path)
    if package is None or not package.submodule_search_locations or not is_replacing:
        return importlib.import_module(name)
    for folder in package.submodule_search_locations:
        add_folder(folder)
    before = set(sys.modules)
    finder = _PackageFinder(".".join(parts[:count]) for count in range(1, len(parts)))
    sys.meta_path.insert(0, finder)
    try:
        return importlib.import_module(name)
    except Exception:  # A name of an __init__ file is missing, or anything that follows from that.
        for each in set(sys.modules) - before:
            if each.partition(".")[0] == parts[0]:
                del sys.modules[each]
        stub_log.take()
    finally:
        sys.meta_path.remove(finder)
    return importlib.import_module(name)
