"""tuneonce.cutile.autotune and what it makes of a kernel."""
import inspect
import pathlib
import sys
import threading
import warnings
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple, Union

import cuda.tile as ct

from tuneonce import _tuneonce
from tuneonce.cutile.compiler import Compiler, is_array, shown
from tuneonce.cutile.instance import Instance, shape_and_strides
from tuneonce.export.cutile_kernel import CUTILE_HINTS, CutileKernel
from tuneonce.export.declaration_error import DeclarationError
from tuneonce.live.unsupported import Unsupported
from tuneonce.search import _labels as labels_of

HINTS = (*CUTILE_HINTS, "opt_level")
Grid = Union[Sequence[int], Callable[..., Sequence[int]]]


class Autotuner(_tuneonce._FunctionCaller):
    """A kernel under @tuneonce.cutile.autotune. `kernel(...)` launches it; see `autotune`.

    Attributes: `fn`, the cuTile kernel; `configs`; `cache`, the config of each key that was tuned in this process.

    Thread rule: any thread.
    """

    error_type = _tuneonce.Error  # For C++.

    def __init__(self, fn: Any, configs: Sequence[Any], grid: Grid, args: Optional[Callable[..., Sequence[Any]]],
                 hints: Optional[Callable[[Any], Mapping[str, Any]]], key: Optional[Callable[..., Any]], in_place: Sequence[str],
                 device: str, options: Dict[str, Any]) -> None:
        if not isinstance(fn, ct.kernel):
            raise TypeError(f"tuneonce.cutile.autotune is for a kernel under @ct.kernel, not for a {type(fn).__name__}")
        self.fn, self.configs = fn, list(configs)
        if not self.configs:
            raise ValueError("configs is empty")
        self.name = fn._pyfunc.__name__
        self.labels = labels_of(self.configs)
        self.cache: Dict[Any, Any] = {}
        self.compiler: Any = Compiler()
        self._grid, self._args, self._hints, self._key = grid, args, hints, key
        self.kernel_names = list(fn._annotated_function.pysig.parameters)
        self._named = [_named(config) for config in self.configs]
        self.constants = CutileKernel(fn, self.name).constants()
        self.has_args = args is not None
        self.__signature__ = self._signature_of_call()
        self.parameters = list(self.__signature__.parameters)
        self.in_place = [in_place] if isinstance(in_place, str) else list(in_place)
        for name in self.in_place:
            if name not in self.parameters:
                raise ValueError(f"in_place names '{name}', and a call of '{self.name}' takes ({', '.join(self.parameters)})")
        self._variants: Dict[int, Any] = {}
        self._instances: Dict[Any, Instance] = {}
        self._lock = threading.RLock()
        self._has_warned = False
        identified_by = 2 if self.has_args else 1  # What `args` computes may depend on any value.
        self._set_up([(p.name, ... if p.default is p.empty else p.default, p.name in self.constants and not self.has_args, identified_by)
                      for p in self.__signature__.parameters.values()], device, options)

    @property
    def best_config(self) -> Any:
        """The config of the last call."""
        last = self._last_launch()
        if last is None:
            raise AttributeError("best_config")
        return self.configs[last[1]]

    def arguments(self, config: int, values: List[Any]) -> Tuple[Any, ...]:
        """The kernel's arguments for a call at a config."""
        if self._args is not None:
            return tuple(self._args(self.configs[config], *values))
        given = dict(zip(self.parameters, values))
        return tuple(self._named[config][n] if n in self._named[config] else given[n] for n in self.kernel_names)

    def hints_of(self, config: int) -> Dict[str, Any]:
        """A config's compiler hints."""
        if self._hints is not None:
            return dict(self._hints(self.configs[config]))
        return {n: v for n, v in self._named[config].items() if n in HINTS and n not in self.kernel_names}

    def named_config(self, config: int) -> Dict[str, Any]:
        """A config as an export has it: what it has by name, with its hints."""
        return {**self._named[config], **self.hints_of(config)}

    def variant(self, config: int) -> Any:
        """The kernel with a config's hints."""
        if config not in self._variants:
            by_target = {n: ct.ByTarget(**v) if isinstance(v, dict) else v for n, v in self.hints_of(config).items()}
            self._variants[config] = self.fn.replace_hints(**by_target) if by_target else self.fn
        return self._variants[config]

    def grid_of(self, config: int, values: List[Any]) -> Tuple[int, int, int]:
        """Raises ValueError for a grid that cannot be launched."""
        grid = self._grid(self.configs[config], *values) if callable(self._grid) else self._grid
        extents = tuple(int(extent) for extent in grid)
        if not 1 <= len(extents) <= 3 or any(not 0 <= extent < 2**31 for extent in extents):
            raise ValueError(f"the grid of '{self.name}' is {extents}: it has 1 to 3 extents that are not negative")
        x, y, z = (*extents, 1, 1)[:3]
        return x, y, z

    def key_of(self, values: List[Any]) -> List[Any]:
        """The parts of a call's key."""
        if self._key is not None:
            key = self._key(*values)
            return list(key) if isinstance(key, (tuple, list)) else [key]
        return [n for value in values for n in (shape_and_strides(value)[0] if is_array(value) else
                                                [value] if isinstance(value, bool) else [])]

    def key_names(self, values: List[Any]) -> List[str]:
        """Names of these parts."""
        if self._key is not None:
            return [f"key_{i}" for i in range(len(self.key_of(values)))]
        return [name for n, value in zip(self.parameters, values)
                for name in ([f"{n}_{d}" for d in range(len(shape_and_strides(value)[0]))] if is_array(value) else
                             [n] if isinstance(value, bool) else [])]

    def note_capture(self) -> None:
        """A call in a capture has a key that was not tuned."""
        self._warn_once(f"'{self.name}' was captured with its first config, since its key was not tuned: call it once with such "
                        "arguments before the capture")

    def export(self, folder: Any, bytecode_version: str = "13.3") -> None:
        """Writes a bundle of the kernel for arguments of the types of the last call, without a declaration: what one says is known
        from the calls so far. A call of the bundle takes the kernel's arrays and numbers in order, without constants. The innermost
        stride of each array must be 1, and arrays that had one shape in all calls must have one. docs/bundles.md describes bundles.

        bytecode_version: of the Tile IR.

        Raises ValueError where the calls do not say enough, for instance which of two equal sizes the grid counts: then call the
        kernel with other sizes, too.
        """
        last = self._last_launch()
        if last is None:
            raise ValueError(f"cannot export '{self.name}': it was not called by tuneonce yet; call it once")
        from tuneonce.export import __main__ as exporter
        from tuneonce.export import cutile as exporter_of_cutile
        path = pathlib.Path(folder)
        try:
            declaration = last[0].declaration()
            exporter.known_manifest(path / "manifest.json", self.name)
            path.mkdir(parents=True, exist_ok=True)
            declaration, variants = exporter_of_cutile.export(self.fn, self.name, declaration, path, bytecode_version)
            exporter.write(path, self.name, declaration, path, variants)
        except (DeclarationError, SystemExit) as error:
            raise ValueError(f"cannot export '{self.name}': {error}") from None

    def _signature_of_call(self) -> inspect.Signature:
        """What a call takes: what `args` takes behind the config, or the kernel's parameters that no config gives."""
        if self._args is not None:
            parameters = list(inspect.signature(self._args).parameters.values())[1:]
        else:
            given = set.intersection(*(set(named) for named in self._named))
            parameters = [p for p in self.fn._annotated_function.pysig.parameters.values() if p.name not in given]
        for parameter in parameters:
            if parameter.kind is not inspect.Parameter.POSITIONAL_OR_KEYWORD:
                raise ValueError(f"args of '{self.name}' has the parameter '{parameter}': name each argument of a call")
            if parameter.name == "stream":
                raise ValueError(f"'{self.name}' has a parameter 'stream', which is the name of a call's stream")
        return inspect.Signature([p.replace(annotation=p.empty) for p in parameters])

    def _describe(self, values: List[Any], options: Dict[str, Any], tensors: List[Tuple[int, int]],
                  num_positional: int) -> Optional[Instance]:
        """Called by C++ for a call of new types, constants or extents. None: cuTile runs such calls."""
        missing = [n for n, value in zip(self.parameters, values) if value is ...]
        if options or missing:
            self._bind(tuple(values[:num_positional]), {**{n: v for n, v in list(zip(self.parameters, values))[num_positional:]
                                                           if v is not ...}, **options})
        with self._lock:
            identity = self._identity(values, dict(tensors))
            try:
                if identity not in self._instances:
                    self._instances[identity] = Instance(self, values, tensors, identity)
                return self._instances[identity]
            except Unsupported as error:
                self._warn(str(error))
                return None

    def _identity(self, values: List[Any], dtypes: Dict[int, int]) -> Tuple[Any, ...]:
        """What of a call's arguments decides which instance it has: their types, and the constants that the kernel gets."""
        kinds = tuple((dtypes[i], len(shape_and_strides(value)[0])) if i in dtypes else type(value).__name__ for i, value in enumerate(values))
        constants = tuple(tuple(shown(value) for name, value in zip(self.kernel_names, self.arguments(config, values))
                                if name in self.constants or value is None) for config in range(len(self.configs)))
        return (kinds, constants, len(self.key_of(values)))

    def _note_tuned(self, instance: Instance, values: List[Any], config: int, grid: Any) -> None:
        """Called by C++ after a call of a new key."""
        instance.observe(values)
        key = (*self.key_of(values), *(str(value.dtype) for value in values if hasattr(value, "dtype")))
        self.cache[key] = self.configs[config]

    def _is_refused(self, error: Exception) -> bool:
        """Called by C++ when a key could not be tuned: the error is raised."""
        return False

    def _bind(self, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> List[Any]:
        """The arguments in order. Raises TypeError."""
        try:
            bound = self.__signature__.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{self.name}(): {error}") from None
        bound.apply_defaults()
        return list(bound.arguments.values())

    def _run_otherwise(self, grid: Any, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> None:
        """Launches the first config by ct.launch."""
        stream = kwargs.pop("stream", None)
        values = self._bind(args, kwargs)
        self._warn("its arguments are of types that it does not know")
        torch = sys.modules.get("torch")
        if stream is None:
            stream = torch.cuda.current_stream() if torch is not None and torch.cuda.is_available() else 0
        ct.launch(stream, self.grid_of(0, values), self.variant(0), self.arguments(0, values))

    def _warn(self, reason: str) -> None:
        self._warn_once(f"'{self.name}' is launched by ct.launch with its first config, and not tuned: {reason}")

    def _warn_once(self, text: str) -> None:
        if not self._has_warned:
            self._has_warned = True
            warnings.warn(text, RuntimeWarning, stacklevel=4)


def _named(config: Any) -> Dict[str, Any]:
    """The values of a config by name, if it has names."""
    if isinstance(config, Mapping):
        return dict(config)
    if hasattr(config, "_asdict"):
        return dict(config._asdict())
    return dict(vars(config)) if hasattr(config, "__dict__") else {}


def autotune(configs: Sequence[Any], grid: Grid, args: Optional[Callable[..., Sequence[Any]]] = None,
             hints: Optional[Callable[[Any], Mapping[str, Any]]] = None, key: Optional[Callable[..., Any]] = None,
             in_place: Sequence[str] = (), *, device: str = "cuda", **options: Any) -> Callable[[Any], Autotuner]:
    """Tunes a cuTile kernel when it is called, `kernel(x, y)`, and launches it. A keyword `stream` gives the stream; otherwise it is
    the current one of the first array's framework.

    configs: dicts, or objects with the values as attributes; the first one is the baseline.
    grid: the grid, or a function of a config and the call's arguments: `lambda config, x, y: (ct.cdiv(x.shape[0], config["TILE"]),)`.
    args: a function of a config and the call's arguments that returns the kernel's. Its arrays are the call's own. Default: the
        kernel's parameters that a config has by name are the config's, and the call gives the others in order.
    hints: a function of a config that returns compiler hints, as for `kernel.replace_hints`; a hint that differs by target is a
        ct.ByTarget or Hints.by_target's. Default: what a config has by the names of hints (num_ctas, occupancy, num_worker_warps,
        opt_level).
    key: a function of the call's arguments that returns a tuple. Default: the extents of the arrays and the values of truth values.
        The dtypes, the device and the constants are always in the key.
    in_place: names of arrays that the kernel reads and writes although its code does not show it. What the code shows needs no name.

    `grid`, `args` and `key` are called once for arguments of the same extents, strides and values, and not at each launch. The first
    call of a key compiles the configs in several processes, and tunes: trials run on copies of what the kernel writes, the results of
    each config are compared with those of the first one, and the record and the code go into the store.

    device: "cuda", "cuda:1", or "cpu" for tests. options: the keywords of TunedKernel (`store`, `mode`, `observer`, `ranks`, ...).
    """
    if options.get("mode") == "tune_deferred":
        raise ValueError("tuneonce.cutile.autotune cannot defer tuning: nothing would tune the pending keys; use the mode tune_on_miss "
                         "or stored_only")
    return lambda fn: Autotuner(fn, configs, grid, args, hints, key, in_place, device, options)
