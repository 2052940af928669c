"""Kernels at home: searched and launched by their own language's tools."""
import inspect
from typing import Any, Callable, Dict, List

from case import Case

HINTS = ("occupancy", "num_ctas", "num_worker_warps")  # Of cuTile.
OPTIONS = ("num_warps", "num_stages", "num_ctas", "maxnreg")  # Of triton.Config.


class CutileHome:
    """cuda.tile's exhaustive_search over the case's configs, then its launch on PyTorch's current stream."""

    def __init__(self, kernel: Any):
        self._kernel = kernel
        self._names = list(inspect.signature(getattr(kernel, "_pyfunc", None) or kernel.__wrapped__).parameters)
        self.config: Dict[str, Any] = {}

    def tune(self, case: Case) -> None:
        import cuda.tile as ct
        import torch
        self.config = case.configs[0]
        if len(case.configs) > 1:
            with ct.compiler_timeout(30):
                found = ct.tune.exhaustive_search(case.configs,
                                                  torch.cuda.current_stream(),
                                                  case.grid,
                                                  self._kernel,
                                                  lambda config: self.arguments(case, config),
                                                  hints_of,
                                                  quiet=True)
            self.config = found.best.config
        self.launcher(case)()

    def launcher(self, case: Case) -> Callable[[], None]:
        import cuda.tile as ct
        import torch
        hints = hints_of(self.config)
        kernel = self._kernel.replace_hints(**hints) if hints else self._kernel
        grid, arguments = tuple(case.grid(self.config)), self.arguments(case, self.config)
        return lambda: ct.launch(torch.cuda.current_stream(), grid, kernel, arguments)

    def choice(self) -> Dict[str, Any]:
        return self.config

    def arguments(self, case: Case, config: Dict[str, Any]) -> tuple:
        values = {**case.arguments, **config}
        return tuple(values[name] for name in self._names)


def hints_of(config: Dict[str, Any]) -> Dict[str, Any]:
    return {name: config[name] for name in HINTS if config.get(name) is not None}


class TritonHome:
    """triton.autotune over the case's configs, or what the package wrapped the kernel in."""

    def __init__(self, kernel: Any):
        self._kernel = kernel
        while not hasattr(kernel, "arg_names"):
            kernel = kernel.fn
        self._names: List[str] = list(kernel.arg_names)
        self._tuned = kernel
        self.config: Dict[str, Any] = {}

    def tune(self, case: Case) -> None:
        import triton
        self._tuned, self.config = self._kernel, {}
        if case.configs is not None and len(case.configs) > 1:
            self._tuned = triton.autotune([config_of(triton, c) for c in case.configs], key=[])(self._kernel)
        elif case.configs is not None:
            self.config = case.configs[0]
        self.launcher(case)()

    def choice(self) -> Dict[str, Any]:
        best = getattr(self._tuned, "best_config", None)  # Of an Autotuner, after its first launch.
        return self.config if best is None else best.all_kwargs()

    def launcher(self, case: Case) -> Callable[[], None]:
        ahead = []  # By position as far as possible, which is how the packages call, then by name.
        for name in self._names:
            if name not in case.arguments:
                break
            ahead.append(case.arguments[name])
        named = {n: v for n, v in case.arguments.items() if n not in self._names[:len(ahead)]}
        launch = self._tuned[lambda meta: case.grid(meta)]
        return lambda: launch(*ahead, **named, **self.config)


def config_of(triton: Any, config: Dict[str, Any]) -> Any:
    constants = {name: value for name, value in config.items() if name not in OPTIONS}
    return triton.Config(constants, **{name: value for name, value in config.items() if name in OPTIONS})


class CallableHome:
    """What the case launches by itself: no search."""
    config: Dict[str, Any] = {}

    def __init__(self, kernel: Any):
        del kernel

    def tune(self, case: Case) -> None:
        case.home()

    def launcher(self, case: Case) -> Callable[[], None]:
        return case.home


def home_of(language: str, kernel: Any, case: Case) -> Any:
    if case.home is not None:
        return CallableHome(kernel)
    return {"cutile": CutileHome, "triton": TritonHome}[language](kernel)
