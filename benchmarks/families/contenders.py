"""Who is raced at one shape: our winner, our baseline, cuTile's and Triton's own choices of the same kernel from the same
configs, torch's operators."""
import dataclasses
import importlib
import inspect
import sys
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional

import tuneonce
from cases import Case, Family, Operators
from home import OPTIONS, CutileHome, TritonHome
from measuring import synchronize

Launch = Callable[[], Any]


class Results(tuneonce.Observer):
    """Keeps the last search's result: the next shape's too, where both are of one bucket."""

    def __init__(self) -> None:
        self.last: Optional[tuneonce.TuningResult] = None

    def on_tuned(self, kernel: str, key: str, result: tuneonce.TuningResult) -> None:
        self.last = result

    def configs(self, backend: str) -> List[Dict[str, Any]]:
        """All of the space at this shape that ran, by this back end."""
        assert self.last is not None
        of = [*(s.config for s in self.last.successes), *(d.config for d in self.last.duplicates)]
        return [config for config in of if config.get("backend") == backend]


class Contenders:
    """Of one family, over its shapes; what is compiled for one is there for the next. One thread."""

    def __init__(self, family: Family, bundles: Path, device: str):
        self._family, self._folder, self._device = family, bundles / family.bundle, device
        self.results = Results()
        self._ours = tuneonce.TunedKernel(self._folder, device=device, store="memory", observer=self.results,
                                          on_tune_error="raise")
        self._baseline = tuneonce.TunedKernel(self._folder, device=device, store="memory", mode="baseline_only")
        self._parameters = list(tuneonce.Bundle(self._folder).parameters)
        self.choices: Dict[str, Any] = {}  # By contender, of the last shape: the config that it took.

    def ours(self, case: Case) -> Launch:
        """Tuned, not launched."""
        arguments = self._arguments(case)
        self._ours.warmup_with(*arguments)
        return lambda: self._ours(*arguments)

    def others(self, case: Case, operators: Operators, left_out: Dict[str, str]) -> Dict[str, Launch]:
        """By name; who cannot run is in `left_out`, with the reason. Each has run once to its end: what one breaks is blamed
        on it, though those behind it may not run then."""
        arguments = self._arguments(case)
        assert self.results.last is not None
        self.choices = {"ours": self.results.last.best.config}
        tried: Dict[str, Callable[[], Launch]] = {"baseline": lambda: lambda: self._baseline(*arguments)}
        tried.update({name: lambda call=call: call for name, call in operators.items()})  # type: ignore[misc]
        if self._device == "cuda":
            if self._family.has_triton:
                tried["Triton's choice"] = lambda: self._home(TritonHome, "triton", self._family.bundle + "_triton", case)
            tried["cuTile's choice"] = lambda: self._home(CutileHome, "tile", self._family.bundle, case)
        found = {}
        for name, make in tried.items():
            try:
                launch = make()
                launch()
                synchronize(self._device)
                found[name] = launch
            except Exception as error:  # Of anybody's: a contender that cannot run is left out, and said.
                left_out[name] = f"{type(error).__name__}: {(str(error).splitlines() or [''])[0][:200]}"
        return found

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
