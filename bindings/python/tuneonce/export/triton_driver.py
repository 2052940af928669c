"""What a kernel's file may ask Triton's driver for while it is imported, on a machine without a GPU."""
import contextlib
import dataclasses
from typing import Any, Dict, Iterator, Optional, Type

from triton.backends import backends
from triton.backends.compiler import GPUTarget
from triton.runtime import driver

from tuneonce.export import stub_log
from tuneonce.export.environment import environment

# The name of Triton's Tile IR back end, and the variable that selects it.
TILE_IR, SWITCH = "tileir", "ENABLE_TILE"


class ExportDriver:
    """Stands in for a GPU's: lists of configs depend on the target, scripts name their device. It launches nothing."""

    def __init__(self, capability: int, backend: str = "cuda") -> None:
        self._target = GPUTarget(backend, capability, 32)

    def __getattr__(self, name: str) -> Any:
        stub_log.record(f"Triton's driver without a GPU has no '{name}'")
        raise AttributeError(f"there is no GPU, whose driver has '{name}'")

    def get_current_target(self) -> GPUTarget:
        return self._target

    def get_current_device(self) -> int:
        return 0

    def get_active_torch_device(self) -> Any:
        import torch
        return torch.device("cuda", self.get_current_device())


def ensure_driver(capability: int) -> None:
    """Sets a driver for `capability`, unless there is a GPU."""
    try:
        driver.active.get_current_target()
    except Exception:  # No active driver; or one that cannot be made: it compiles a module with this machine's compiler.
        driver.set_active(ExportDriver(capability))
        if "nvidia" in backends:  # Packages ask the back ends, too, and do without Triton if none has a GPU.
            backends["nvidia"] = dataclasses.replace(backends["nvidia"], driver=_active_driver(capability))


def _active_driver(capability: int) -> Type[ExportDriver]:
    """The class of the back end's driver, as Triton makes one where there is a GPU."""
    class ActiveDriver(ExportDriver):
        def __init__(self) -> None:
            super().__init__(capability)

        @staticmethod
        def is_active() -> bool:
            return True

    return ActiveDriver


@contextlib.contextmanager
def compiling_for(backend: str, capability: int, changes: Dict[str, Optional[str]] = {}) -> Iterator[None]:  # Not changed here.
    """Within the block Triton compiles for the back end, "cuda" or "tileir", whichever ENABLE_TILE selects, and its driver answers
    accordingly. `changes`: other variables of the environment. Without a Tile IR back end the block runs as it is."""
    if TILE_IR not in backends:
        yield
        return
    before = driver.active
    with environment({SWITCH: "1" if backend == TILE_IR else None, **changes}):
        driver.set_active(ExportDriver(capability, backend))
        try:
            yield
        finally:
            driver.set_active(before)
