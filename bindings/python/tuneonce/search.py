"""exhaustive_search with the names that cuTile's users know, over anything that launches."""
import collections.abc
import contextlib
import dataclasses
import inspect
import itertools
import sys
from typing import Any, Callable, ContextManager, Dict, Iterator, List, Optional, Sequence, Tuple


@dataclasses.dataclass(frozen=True)
class Success:
    """A config that ran. Times in microseconds; the margin is half of the 95 % confidence interval (None: unknown)."""
    config: Any
    mean_us: float
    error_margin_us: Optional[float]
    num_samples: int


@dataclasses.dataclass(frozen=True)
class Failure:
    """A config that did not, and why."""
    config: Any
    error: str


@dataclasses.dataclass(frozen=True)
class TuningResult:
    """best: the choice. successes: fastest first. failures: in the order of the space. timer: how they were timed."""
    best: Success
    successes: Tuple[Success, ...]
    failures: Tuple[Failure, ...]
    timer: str


class Hints:
    """Values of a compiler hint that differ by target."""

    @staticmethod
    def by_target(default: Any = None, **targets: Any) -> Dict[str, Any]:
        """`by_target(sm_90=4, default=2)`: a target's own value beats the default."""
        if default is not None:
            targets["default"] = default
        if not targets:
            raise ValueError("by_target needs at least one target or a default")
        return targets


class SearchSpace(collections.abc.Sequence):
    """Every combination of the axes' values that the constraints keep, as dicts, the last axis turning fastest."""

    def __init__(self, axes: Dict[str, Sequence[Any]], constraints: Sequence[Callable[[Dict[str, Any]], bool]] = ()):
        for name, values in axes.items():
            if isinstance(values, (str, bytes)) or not isinstance(values, collections.abc.Sequence) or not values:
                raise ValueError(f"axis '{name}' needs a list of at least one value")
        combinations = (dict(zip(axes, values)) for values in itertools.product(*axes.values()))
        self._configs: List[Dict[str, Any]] = [c for c in combinations if all(holds(c) for holds in constraints)]
        if not self._configs:
            raise ValueError("the constraints leave no config")

    def __len__(self) -> int:
        return len(self._configs)

    def __getitem__(self, index: Any) -> Any:
        return self._configs[index]

    def __iter__(self) -> Iterator[Dict[str, Any]]:
        return iter(self._configs)


def exhaustive_search(search_space: Sequence[Any], stream: Any, grid_fn: Callable[[Any], Any], kernel: Any,
                      args_fn: Callable[[Any], Sequence[Any]], hints_fn: Optional[Callable[[Any], Dict[str, Any]]] = None,
                      *, quiet: bool = False, device: str = "cuda", timer: Optional[str] = None) -> TuningResult:
    """Runs every config and returns the fastest; ties go to the earliest in the space.

    kernel: a cuTile kernel (launched by ct.launch on grid_fn(config)); a TunedKernel; or a callable `kernel(config)` that returns
    something to call with the arguments; or any callable `kernel(*args)` that launches by itself, on the current stream:
    PyTorch's is set to the one that is timed. hints_fn: for cuTile kernels, as its replace_hints; a hint that differs by
    target is Hints.by_target's. stream: an int, or a framework's stream. What is timed is what a config launches on the
    stream; on the CPU device there are no callables that do.

    Outputs are not verified and not protected: args_fn decides what is written. Failing configs are data; if none works
    the error lists why.
    """
    if isinstance(search_space, collections.abc.Iterator) or not isinstance(search_space, collections.abc.Sequence):
        raise TypeError("the search space must be a sequence, since it is gone through more than once: give "
                        "list(search_space)")
    configs = list(search_space)
    if not configs:
        raise ValueError("the search space is empty")
    launchers = [_launcher(config, grid_fn, kernel, args_fn, hints_fn, device) for config in configs]
    from tuneonce import _tuneonce
    raced = _tuneonce._race(len(configs), lambda index, on: launchers[index](on), stream, device, timer)
    successes, failures, by_index = [], [], {}
    for index, (config, outcome) in enumerate(zip(configs, raced["configs"])):
        if outcome["error"]:
            failures.append(Failure(config, outcome["error"]))
        else:
            by_index[index] = Success(config, outcome["mean_us"], outcome["error_margin_us"], outcome["num_samples"])
            successes.append(by_index[index])
    if raced["best"] is None:
        reasons = "; ".join(f"{f.config}: {f.error}" for f in failures[:5])
        raise _tuneonce.InternalError(f"all {len(configs)} configs failed: {reasons}")
    successes.sort(key=lambda success: success.mean_us)
    result = TuningResult(by_index[raced["best"]], tuple(successes), tuple(failures), raced["timer"])
    if not quiet:
        print(f"tuneonce: best of {len(configs)}: {result.best.config}, {result.best.mean_us:.2f} us", file=sys.stderr)
    return result


def _launcher(config: Any, grid_fn: Callable, kernel: Any, args_fn: Callable,
              hints_fn: Optional[Callable], device: str) -> Callable[[int], None]:
    """What launches this config once, on the stream of the given handle."""
    args = tuple(args_fn(config))
    if hasattr(kernel, "replace_hints"):  # cuTile's.
        import cuda.tile as ct
        hints = hints_fn(config) if hints_fn is not None else {}
        variant = kernel.replace_hints(**{name: ct.ByTarget(**value) if isinstance(value, dict) else value
                                          for name, value in hints.items()}) if hints else kernel
        grid = grid_fn(config)
        return lambda stream: ct.launch(stream, grid, variant, args)
    if hints_fn is not None:
        raise TypeError("hints_fn is for cuTile kernels: the kernel given has no replace_hints")
    run = kernel(config) if _takes_config(kernel) else kernel
    from tuneonce import TunedKernel
    if isinstance(run, TunedKernel):
        return lambda stream: run(*args, stream=stream)

    def launch(stream: int) -> None:
        with _current(stream, device):
            run(*args)
    return launch


def _current(stream: int, device: str) -> ContextManager[Any]:
    """Makes `stream` PyTorch's current one, if PyTorch is in use."""
    torch = sys.modules.get("torch")
    if torch is None or not device.startswith("cuda"):
        return contextlib.nullcontext()
    return torch.cuda.stream(torch.cuda.ExternalStream(stream))


def _takes_config(kernel: Any) -> bool:
    """True for `kernel(config)`: a callable whose one parameter is named config or cfg."""
    try:
        names = list(inspect.signature(kernel).parameters)
    except (TypeError, ValueError):
        return False
    return names in (["config"], ["cfg"])
