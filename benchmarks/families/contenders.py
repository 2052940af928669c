"""Who is raced at one shape: our winner, our baseline, cuTile's and Triton's own selections of the same kernel from the same
configs, torch's operators."""
import dataclasses
import importlib
import inspect
import sys
import tempfile
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional, Sequence

import tuneonce
from cases import Case, Family, Operators
from home import OPTIONS, CutileHome, TritonHome, hints_of
from measuring import copy_with, synchronize

Launch = Callable[[], Any]
OWN_SEARCH = "cuTile's selection"
OUR_SEARCH = "cuTile's kernel, by our search"  # In place of it, where its own search breaks the CUDA context.


class ContextLost(Exception):
    """No call of this process will succeed any more on the device. by: the contender that it happened to."""

    def __init__(self, by: str, error: Exception):
        super().__init__(f"{type(error).__name__}: {(str(error).splitlines() or [''])[0][:200]}")
        self.by = by


def context_is_lost(device: str) -> bool:
    try:
        synchronize(device)
    except Exception:
        return True
    return False


class Results(tuneonce.Observer):
    """Keeps the last search's result: the next shape's too, where both are of one bucket."""

    def __init__(self) -> None:
        self.last: Optional[tuneonce.TuningRecord] = None

    def on_tuned(self, kernel: str, key: str, result: tuneonce.TuningRecord) -> None:
        self.last = result

    def configs(self, backend: str) -> List[Dict[str, Any]]:
        """All of the space at this shape that ran, by this back end."""
        assert self.last is not None
        of = [*(s.config for s in self.last.successes), *(d.config for d in self.last.duplicates)]
        return [config for config in of if config.get("backend") == backend]


class Contenders:
    """Of one family, over its shapes; what is compiled for one is there for the next. One thread. without: names of those
    that are left out, since they cost a process its CUDA context."""

    def __init__(self, family: Family, bundles: Path, device: str, without: Sequence[str] = ()):
        self._without = without
        self._family, self._folder, self.device = family, bundles / family.bundle, device
        self.results = Results()
        self._ours = tuneonce.TunedKernel(self._folder, device=device, store="memory", observer=self.results,
                                          on_tune_error="raise")
        self._baseline = tuneonce.TunedKernel(self._folder, device=device, store="memory", mode="fallback_only")
        self._parameters = list(tuneonce.Bundle(self._folder).parameters)
        self.choices: Dict[str, Any] = {}  # By contender, of the last shape: the config that it took.

    def ours(self, case: Case) -> Launch:
        """Tuned, not launched."""
        arguments = self._arguments(case)
        self._ours.warmup_with(*arguments)
        return lambda: self._ours(*arguments)

    def others(self, case: Case, operators: Operators, left_out: Dict[str, str]) -> Dict[str, Launch]:
        """By name; who cannot run is in `left_out`, with the reason. Each has run once to its end. Raises ContextLost: what
        one breaks is blamed on it."""
        arguments = self._arguments(case)
        assert self.results.last is not None
        self.choices = {"ours": self.results.last.best.config}
        tried: Dict[str, Callable[[], Launch]] = {"baseline": lambda: lambda: self._baseline(*arguments)}
        tried.update({name: lambda call=call: call for name, call in operators.items()})  # type: ignore[misc]
        if self.device == "cuda":
            if self._family.has_triton:
                tried["Triton's selection"] = lambda: self._home(TritonHome, "triton", self._family.bundle + "_triton", case)
            tried[OWN_SEARCH] = lambda: self._home(CutileHome, "tile", self._family.bundle, case)
            if OWN_SEARCH in self._without:
                tried[OUR_SEARCH] = lambda: self._home(SearchedByUs, "tile", self._family.bundle, case)
        found = {}
        for name, make in tried.items():
            if name in self._without:
                left_out[name] = "it ended a process before with the loss of the CUDA context"
                continue
            try:
                launch = make()
                launch()
                synchronize(self.device)
                found[name] = launch
            except Exception as error:  # Of anybody's: a contender that cannot run is left out, and said.
                if context_is_lost(self.device):
                    raise ContextLost(name, error) from error
                left_out[name] = f"{type(error).__name__}: {(str(error).splitlines() or [''])[0][:200]}"
        return found

    def ours_at(self, backend: str, case: Case) -> Launch:
        """Our launch of what another search chose by this back end: where that is faster than ours, it says whether our
        search chose wrongly or our launch is slower. Has run once to its end."""
        choice = self.choices[backend]
        configs = self.results.configs(backend)  # Triton's selection has options that no axis is for.
        config = next(config for config in configs if all(choice.get(n, value) == value for n, value in config.items()))
        return self.ours_of(config)(case)

    def ours_of(self, config: Dict[str, Any]) -> Callable[[Case], Launch]:
        """Our launches of this config, each of which has run once to its end."""
        with tempfile.TemporaryDirectory() as scratch:
            bundle = copy_with(self._folder, Path(scratch) / self._family.bundle, baseline=config)
            kernel = tuneonce.TunedKernel(bundle, device=self.device, store="memory", mode="fallback_only")

        def launch_at(case: Case) -> Launch:
            arguments = self._arguments(case)
            kernel(*arguments)
            synchronize(self.device)
            return lambda: kernel(*arguments)

        return launch_at

    def kernel(self, module: str) -> Any:
        if str(self._folder) not in sys.path:
            sys.path.insert(0, str(self._folder))
        return getattr(importlib.import_module(module), self._family.bundle)

    def _arguments(self, case: Case) -> List[Any]:
        return [case.arguments[name] for name in self._parameters]

    def _home(self, home: Any, backend: str, module: str, case: Case) -> Launch:
        kernel = self.kernel(module)
        configs = [{n: v for n, v in c.items() if n != "backend"} for c in self.results.configs(backend)]
        if backend == "triton":  # It takes no axis that is neither a constant of the kernel nor an option.
            names = {*inspect.signature(kernel.fn).parameters, *OPTIONS}
            configs = [{n: v for n, v in c.items() if n in names} for c in configs]
            case = dataclasses.replace(case, arguments={n: v for n, v in case.arguments.items() if n in names})
        if not configs:
            raise LookupError(f"the bundle has no config by {backend} that runs here")
        case.configs = [c for i, c in enumerate(configs) if c not in configs[:i]]
        chosen = home(kernel)
        chosen.tune(case)
        self.choices[backend] = chosen.choice()
        return chosen.launcher(case)


class SearchedByUs(CutileHome):
    """cuTile's launches of its kernel, of which our search finds the fastest. cuTile's own search times launches that are
    nodes of CUDA graphs."""

    def tune(self, case: Case) -> None:
        import torch
        self.config = tuneonce.exhaustive_search(case.configs, torch.cuda.current_stream(), case.grid, self._kernel,
                                                 lambda config: self.arguments(case, config), hints_of, quiet=True).best.config
        self.launcher(case)()
