"""What the Python code of a kernel depends on."""
import copyreg
import dis
import functools
import hashlib
import importlib.machinery
import operator
import pathlib
import sys
import types
from typing import Any, Callable, Dict, List, Optional, Set, Tuple

# Modules that a version identifies: the standard library's, and those of languages and frameworks.
_LIBRARIES = frozenset({*sys.stdlib_module_names, "cuda", "cupy", "jax", "numpy", "torch", "triton", "tuneonce"}) - {"__main__"}
# Folders of installed packages, which their version identifies, too.
_PACKAGES = frozenset({"site-packages", "dist-packages"})
# The flag of classes that were made at run time (Py_TPFLAGS_HEAPTYPE); those of C have no code to describe.
_IS_MADE = 1 << 9
# What arrays have, of which each has some.
_PROTOCOLS = ("__array_interface__", "__cuda_array_interface__", "__dlpack__")
_CACHED = type(functools.lru_cache(lambda: None))
# The bytes and texts that are described as they are; of longer ones, their hash is.
_LONGEST = 256


class NotDescribable(TypeError):
    """A value that cannot be compared with that of another process. Its text is a clause that names the value."""


def source_of(value: Any, is_data: bool = False, otherwise: Optional[Callable[[Any], Any]] = None) -> Any:
    """A description of a value, by which two processes compare it; something with a repr:

    - of a function or kernel: its code, and a description of what that refers to: defaults, closure, globals, and attributes
      of modules;
    - of a class: its functions and values, and its bases; of an object: its class, and what pickle would keep of it;
    - of a container, partial or method: a description of each part;
    - of what a library or an installed package has: its name and the version;
    - of an array: extents, dtype and, if it is in the host's memory, its contents. `is_data` leaves out the contents.

    `otherwise` describes what cannot be described. Without it, raises NotDescribable.
    """
    try:
        return _Describer(is_data, otherwise).of(value)
    except RecursionError:
        raise NotDescribable(f"a {type(value).__name__} is nested too deeply") from None


class _Describer:
    """Describes one value. An object that was visited before is described by the number of that visit, which is the same in
    each process. This also ends cycles."""

    def __init__(self, is_data: bool, otherwise: Optional[Callable[[Any], Any]]) -> None:
        self._is_data = is_data
        self._otherwise = otherwise
        self._visits: Dict[int, int] = {}  # By id.
        self._kept: List[Any] = []  # An id is that of one object while the object lives.
        self._path: List[str] = []

    def of(self, value: Any) -> Any:
        kind = type(value)
        if value is None or value is ... or value is NotImplemented or kind in (bool, float, complex, range):
            return repr(value)
        if kind is int:
            return hex(value)  # The repr of a large one is an error.
        if kind in (str, bytes):
            return value if len(value) <= _LONGEST else _hash_of(value)
        if kind is tuple:
            return ("tuple", *map(self.of, value))
        if kind in (set, frozenset):
            return (kind.__name__, *sorted(map(self._apart, value), key=repr))
        if isinstance(value, types.CodeType):
            return self._code(value)
        if isinstance(value, types.ModuleType):
            return ("module", value.__name__, _version_of(value.__name__))
        if isinstance(value, (type, types.FunctionType)) and _is_of_library(value):
            return ("named", value.__module__, value.__qualname__, _version_of(value.__module__))
        if id(value) in self._visits:
            return ("visit", self._visits[id(value)])
        self._visits[id(value)] = len(self._visits)
        self._kept.append(value)
        if kind is list:
            return ("list", *map(self.of, value))
        if kind in (dict, types.MappingProxyType):
            return ("dict", *((self.of(key), self._named(str(key), each)) for key, each in value.items()))
        if isinstance(value, types.FunctionType):
            return self._function(value)
        if isinstance(value, types.MethodType):
            return ("method", self.of(value.__func__), self._named("self", value.__self__))
        if isinstance(value, type):
            return self._class(value)
        return self._kernel(value) or self._array(value) or self._object(value)

    def _named(self, name: str, value: Any) -> Any:
        self._path.append(name)
        described = self.of(value)
        self._path.pop()
        return described

    def _apart(self, value: Any) -> Any:
        """An element of a set, whose order differs between processes: it has no effect on the numbers of other visits."""
        visits, self._visits = self._visits, dict(self._visits)
        described = self.of(value)
        self._visits = visits
        return described

    def _code(self, code: types.CodeType) -> Any:
        return ("code", code.co_name, self.of(code.co_code), self.of(getattr(code, "co_exceptiontable", b"")), code.co_flags,
                code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, self.of(code.co_consts), code.co_names,
                code.co_varnames, code.co_freevars)

    def _function(self, function: types.FunctionType) -> Any:
        cells = zip(function.__code__.co_freevars, function.__closure__ or ())
        attributes = {name: each for name, each in vars(function).items() if not name.startswith("__")}
        return ("function", self._code(function.__code__), self.of(function.__defaults__), self.of(function.__kwdefaults__),
                [(name, self._named(name, cell.cell_contents)) for name, cell in cells if _has_value(cell)],
                self._globals(function), self.of(attributes))

    def _globals(self, function: types.FunctionType) -> Any:
        read, names = _names(function.__code__)
        modules: Set[str] = set()
        return [(name, self._global(name, function.__globals__[name], sorted(names), modules))
                for name in sorted(read & function.__globals__.keys())]

    def _global(self, name: str, value: Any, names: List[str], modules: Set[str]) -> Any:
        """A global, or a module's attribute. Of a module, what the code may read: the attributes that have one of `names`."""
        is_module = isinstance(value, types.ModuleType)
        if not is_module or value.__name__ in modules or _version_of(value.__name__) is not None:
            return self._named(name, value)
        modules.add(value.__name__)
        return (self.of(value), [(each, self._global(f"{name}.{each}", vars(value)[each], names, modules))
                                 for each in names if each in vars(value)])

    def _class(self, of: type) -> Any:
        """Values whose names begin with two underscores are derived from the others, as are slots and the registry of abc."""
        parts = sorted((name, each) for name, each in vars(of).items() if name != "_abc_impl" and not isinstance(
            each, (types.MemberDescriptorType, types.GetSetDescriptorType)))
        return ("class", of.__qualname__, self.of(of.__bases__), self.of(type(of)),
                [(name, self._part(name, each)) for name, each in parts
                 if not name.startswith("__") or callable(each) or isinstance(each, (staticmethod, classmethod, property))])

    def _part(self, name: str, value: Any) -> Any:
        """A class's own: pickle does not take descriptors."""
        if isinstance(value, (staticmethod, classmethod)):
            return (type(value).__name__, self._named(name, value.__func__))
        if isinstance(value, property):
            return ("property", *(self._named(name, each) for each in (value.fget, value.fset, value.fdel)))
        if isinstance(value, functools.cached_property):
            return ("cached_property", self._named(name, value.func))
        return self._named(name, value)

    def _kernel(self, value: Any) -> Any:
        """A kernel or tuner of a language, by the function that it was made of and its options; else None."""
        top = type(value).__module__.partition(".")[0]
        if top == "cuda" and isinstance(getattr(value, "_pyfunc", None), types.FunctionType):
            return ("kernel", self.of(value._pyfunc), repr(getattr(value, "_compiler_options", None)))
        if top not in ("triton", "tuneonce") or not callable(getattr(value, "fn", None)):
            return None
        options = ("configs", "values", "do_not_specialize", "key")  # Of triton.autotune, heuristics and jit.
        return ("kernel", type(value).__qualname__, self.of(value.fn),
                [self._named(name, getattr(value, name, None)) for name in options])

    def _array(self, value: Any) -> Any:
        """An array or numpy's number; else None."""
        shape, dtype = getattr(value, "shape", None), getattr(value, "dtype", None)
        if not isinstance(shape, tuple) or dtype is None or not any(hasattr(value, each) for each in _PROTOCOLS):
            return None
        described = ("array", type(value).__name__, tuple(map(str, shape)), str(dtype))
        if self._is_data and hasattr(value, "__len__"):  # Not numpy's numbers.
            return described
        if type(value).__module__.partition(".")[0] == "numpy":
            return (*described, self._object(value))
        try:
            if not hasattr(value, "__dlpack_device__") or value.__dlpack_device__()[0] != 1:  # kDLCPU
                return described
            torch = sys.modules.get("torch")
            if torch is not None and isinstance(value, torch.Tensor):  # numpy has no bfloat16.
                value = value.detach().reshape(-1).view(torch.uint8)
            import numpy
            return (*described, _hash_of(numpy.asarray(value).tobytes()))
        except Exception:
            return self._refused(value)

    def _object(self, value: Any) -> Any:
        """Any other object, as pickle has it: the protocol by which objects of libraries, too, state what is of them."""
        named = (getattr(value, "__module__", None), getattr(value, "__qualname__", None))
        if isinstance(value, types.BuiltinFunctionType) and isinstance(value.__module__, str):
            return ("function", *named, _version_of(value.__module__))
        if isinstance(value, _CACHED):  # Pickle takes its name alone.
            return ("cached", self.of(value.__wrapped__))
        ctypes = sys.modules.get("ctypes")
        if ctypes is not None and isinstance(value, ctypes.CDLL):  # Its address would stand for its code.
            return self._refused(value)
        try:
            reduce = copyreg.dispatch_table.get(type(value))
            state = reduce(value) if reduce is not None else value.__reduce_ex__(4)
        except Exception:
            return self._refused(value)
        if isinstance(state, str):
            return ("object", self.of(type(value)), named, state, _version_of(named[0]))
        self._kept.append(state)
        made_by, arguments, *rest = state
        return ("object", self.of(type(value)), self.of(made_by), self.of(arguments),
                [self.of(list(each) if hasattr(each, "__next__") else each) for each in rest])

    def _refused(self, value: Any) -> Any:
        if self._otherwise is not None:
            return self._otherwise(value)
        name = f"'{'.'.join(self._path)}'" if self._path else "it"
        raise NotDescribable(f"{name} is of type {type(value).__qualname__}, whose state pickle cannot take")


def _hash_of(value: Any) -> Tuple[str, int, str]:
    content = value.encode("utf-8", "surrogatepass") if isinstance(value, str) else value
    return (type(value).__name__, len(value), hashlib.sha256(content).hexdigest())


def _has_value(cell: Any) -> bool:
    try:
        cell.cell_contents
    except ValueError:
        return False
    return True


def _names(code: types.CodeType) -> Tuple[Set[str], Set[str]]:
    """The globals that the code reads, and these with all attributes that it reads."""
    read = {each.argval for each in dis.get_instructions(code) if each.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            inner_read, inner_names = _names(constant)
            read, names = read | inner_read, names | inner_names
    return read, names


def _version_of(name: Any) -> Optional[str]:
    """What identifies the code of a library's module; None for a module whose code is to be described."""
    if not isinstance(name, str):
        return None
    top = name.partition(".")[0]
    file = str(getattr(sys.modules.get(top), "__file__", None) or "")
    if top in _LIBRARIES or not _PACKAGES.isdisjoint(pathlib.PurePath(file).parts):
        while name and not hasattr(sys.modules.get(name), "__version__"):
            name = name.rpartition(".")[0]
        return str(sys.modules[name].__version__) if name else ""
    file = str(getattr(sys.modules.get(name), "__file__", None) or "")
    is_extension = file.endswith(tuple(importlib.machinery.EXTENSION_SUFFIXES))
    return _hash_of(pathlib.Path(file).read_bytes())[2] if is_extension else None


def _is_of_library(value: Any) -> bool:
    """Whether a class or function is the one that a library has by its name; others are made by the library's functions."""
    if _version_of(value.__module__) is None:
        return False
    if isinstance(value, type) and not value.__flags__ & _IS_MADE:
        return True
    try:
        return operator.attrgetter(value.__qualname__)(sys.modules[value.__module__]) is value
    except (AttributeError, KeyError):
        return False
