"""tuneonce.triton.autotune and what it makes of a kernel."""
import pathlib
import threading
import warnings
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

import triton
from triton.runtime import autotuner as triton_autotuner
from triton.runtime.driver import driver as triton_driver
from triton.runtime.jit import JITFunction

from tuneonce import _tuneonce
from tuneonce.triton.compiler import Compiler, why_not
from tuneonce.triton.instance import Instance
from tuneonce.live.unsupported import Unsupported

# The versions of Triton whose launches and compiler this package knows, the last one not included.
VERSIONS = ((3, 6), (3, 10))


def _check_version() -> None:
    version = tuple(int(part) for part in triton.__version__.split(".")[:2])
    if not VERSIONS[0] <= version < VERSIONS[1]:
        raise ImportError(f"tuneonce.triton.autotune cannot be used: it needs Triton 3.6 to 3.9, and {triton.__version__} is "
                          "installed; use triton.autotune, or install another version")


class Autotuner(_tuneonce._GridCaller, triton_autotuner.Autotuner):  # type: ignore[misc]
    """A kernel under @tuneonce.triton.autotune. `kernel[grid](...)` launches it; see `autotune`. It is a triton.runtime.Autotuner
    too, which runs the calls that this one cannot.

    Thread rule: any thread.
    """

    error_type = _tuneonce.Error  # For C++.

    def __init__(self, fn: Any, configs: Sequence[Any], key: Sequence[str], device: str, options: Dict[str, Any],
                 **as_given: Any) -> None:
        triton_autotuner.Autotuner.__init__(self, fn, fn.arg_names, list(configs), list(key), **as_given)
        self.heuristics: List[Tuple[str, Callable[[Dict[str, Any]], Any]]] = []
        within = fn
        while not isinstance(within, JITFunction) and hasattr(within, "fn"):
            self.heuristics += getattr(within, "values", {}).items()
            within = within.fn
        self.function = within
        self.compiler: Optional[Any] = Compiler(within) if isinstance(within, JITFunction) else None
        self._lock = threading.RLock()
        self._has_warned = False
        self._of_triton: Optional[Any] = None  # The best config of the last call that Triton ran, if that was the last call.
        is_pruned = bool(self.early_config_prune or self.perf_model)
        signature = getattr(within, "params", ())
        self._set_up([(p.name, p.default if p.has_default else ..., p.is_constexpr, 2 if is_pruned and p.name in self.keys else 0)
                      for p in signature], device, options)

    @property
    def best_config(self) -> Any:
        """The config of the last call."""
        if self._of_triton is not None:
            return self._of_triton
        last = self._last_launch()
        if last is None:
            raise AttributeError("best_config")
        return self.configs[last[1]]

    @best_config.setter
    def best_config(self, config: Any) -> None:
        self._of_triton = config

    def run(self, *args: Any, grid: Any, warmup: bool, **kwargs: Any) -> Any:
        """What decorators above this one call."""
        if warmup:
            return triton_autotuner.Autotuner.run(self, *args, grid=grid, warmup=True, **kwargs)
        return self[grid](*args, **kwargs)

    def export(self, folder: Any, capabilities: Optional[Sequence[int]] = None, source: str = "cubin") -> None:
        """Writes a bundle of the kernel for arguments of the types of the last call, without a declaration: what one says is known
        from the calls so far. A call of the bundle takes the kernel's tensors and numbers in order, without constants and without
        the strides that are a tensor's. A tensor whose strides the kernel does not take must be contiguous, and tensors that had one
        shape in all calls must have one. docs/bundles.md describes bundles.

        capabilities: compute capabilities (90 for 9.0); default: the current device's. source: "cubin" or "ptx".

        Raises ValueError where the calls do not say enough, for instance which of two equal sizes the grid counts: then call the
        kernel with other sizes, too.
        """
        last = self._last_launch()
        if last is None:
            raise ValueError(f"cannot export '{self.base_fn.__name__}': it was not called by tuneonce yet; call it once")
        from tuneonce.export import __main__ as exporter
        from tuneonce.export import triton as exporter_of_triton
        from tuneonce.export.declaration_error import DeclarationError
        name, path = self.function.__name__, pathlib.Path(folder)
        try:
            declaration = last[0].declaration()
            exporter.known_manifest(path / "manifest.json", name)
            path.mkdir(parents=True, exist_ok=True)
            target = triton_driver.active.get_current_target().arch
            declaration, variants, _ = exporter_of_triton.export(self, name, declaration, path, capabilities or [target], source)
            exporter.write(path, name, declaration, path, variants)
        except (DeclarationError, SystemExit) as error:
            raise ValueError(f"cannot export '{name}': {error}") from None

    def _describe(self, values: List[Any], options: Dict[str, Any], tensors: List[Tuple[int, int]],
                  num_positional: int) -> Optional[Instance]:
        """Called by C++ for a call of new types or constants. None: Triton runs such calls."""
        with self._lock:
            try:
                reason = why_not(self.function)
                if reason is not None:
                    raise Unsupported(reason)
                self._check_conflicts(values)
                return Instance(self, values, options, tensors, self._pruned(values, options, num_positional))
            except Unsupported as error:
                self._warn(str(error))
                return None

    def _check_conflicts(self, values: List[Any]) -> None:
        """Raises ValueError, as Triton does, for arguments that the configs set."""
        for parameter, value in zip(self.function.params, values):
            is_given = value is not ... and not (parameter.has_default and value is parameter.default)
            if is_given and any(parameter.name in config.kwargs for config in self.configs):
                raise ValueError(f"Conflicting meta-parameters: {parameter.name}. Make sure that you don't re-define auto-tuned symbols.")

    def _pruned(self, values: List[Any], options: Dict[str, Any], num_positional: int) -> Sequence[Any]:
        """The configs that prune_configs_by leaves for a call. Its functions see which arguments were given by name."""
        self.nargs = dict(zip(self.arg_names, values[:num_positional]))
        named = {p.name: v for p, v in list(zip(self.function.params, values))[num_positional:]
                 if v is not ... and not (p.has_default and v is p.default)}
        try:
            return self.prune_configs({**named, **options})
        finally:
            self.nargs = None

    def _note_tuned(self, instance: Instance, values: List[Any], config: int, grid: Any) -> None:
        """Called by C++ after a call of a new key."""
        self._of_triton = None
        instance.observe(values, grid)
        given = {p.name: v for p, v in zip(self.function.params, values)
                 if v is not ... and not (p.has_default and v is p.default)}
        key = [given[name] for name in self.keys if name in given]
        key += [str(value.dtype) for value in given.values() if hasattr(value, "dtype")]
        self.cache[tuple(key)] = self.configs[config]

    def _is_refused(self, error: Exception) -> bool:
        """Called by C++ when a key could not be tuned: whether Triton runs such calls from now on."""
        if isinstance(error, _tuneonce.CancelledError):
            return False
        self._warn(str(error))
        return True

    def note_capture(self) -> None:
        """A call in a capture has a key that was not tuned."""
        self._warn_once(f"'{self.function.__name__}' was captured with its first config, since its key was not tuned: call it once with "
                        "such arguments before the capture")

    def _run_otherwise(self, grid: Any, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Any:
        """Runs a call as triton.autotune does."""
        self._warn("its arguments are of types that it does not know")
        return triton_autotuner.Autotuner.run(self, *args, grid=grid, warmup=False, **kwargs)

    def _warn(self, reason: str) -> None:
        name = getattr(self.base_fn, "__name__", "kernel")
        self._warn_once(f"'{name}' runs by Triton's own autotuner, not by tuneonce: {reason}")

    def _warn_once(self, text: str) -> None:
        if not self._has_warned:
            self._has_warned = True
            warnings.warn(text, RuntimeWarning, stacklevel=4)


def autotune(configs: Sequence[Any], key: Sequence[str], prune_configs_by: Optional[Dict[str, Any]] = None,
             reset_to_zero: Optional[Sequence[str]] = None, restore_value: Optional[Sequence[str]] = None,
             pre_hook: Optional[Callable[..., Any]] = None, post_hook: Optional[Callable[..., Any]] = None,
             warmup: Optional[int] = None, rep: Optional[int] = None, use_cuda_graph: bool = False,
             do_bench: Optional[Callable[..., Any]] = None, cache_results: bool = False, *, device: str = "cuda",
             **options: Any) -> Callable[[Any], Autotuner]:
    """Takes the arguments of triton.autotune, in the same place. `warmup`, `rep`, `use_cuda_graph` and `do_bench` have no effect,
    since trials run in a race of their own, and `cache_results` has none, since results are always stored.

    The key is the values of the arguments that `key` names and the dtypes of all tensors, as in Triton, and the kernel's other
    constants. The first call of a key compiles the configs in several processes, and tunes: trials run on copies, the results of
    each config are compared with those of the first one, and the record and the code go into the store. Each call runs the code
    that Triton compiles for its arguments (alignment, divisibility by 16, the value 1). Which tensors are written is read from the
    code.

    A kernel that uses what only Triton's own launches have (tensor descriptors that the caller makes, tuples, cooperative grids)
    runs through triton.autotune, with one warning.

    device: "cuda", "cuda:1", or "cpu" for tests. options: the keywords of TunedKernel (`store`, `mode`, `observer`, `ranks`, ...).
    """
    _check_version()
    if options.get("mode") == "tune_deferred":
        raise ValueError("tuneonce.triton.autotune cannot defer tuning: nothing would tune the pending keys; use the mode tune_on_miss "
                         "or stored_only")
    ignored = [name for name, value in (("warmup", warmup), ("rep", rep), ("use_cuda_graph", use_cuda_graph), ("do_bench", do_bench))
               if value]
    if ignored:
        warnings.warn(f"tuneonce.triton.autotune ignores {', '.join(ignored)}: trials run in a race of their own", RuntimeWarning,
                      stacklevel=2)

    def decorate(fn: Any) -> Autotuner:
        return Autotuner(fn, configs, key, device, options, reset_to_zero=reset_to_zero, restore_value=restore_value,
                         pre_hook=pre_hook, post_hook=post_hook, prune_configs_by=prune_configs_by, cache_results=cache_results)
    return decorate
