"""What a kernel's file may ask Triton's driver for while it is imported, on a machine without a GPU."""
from typing import Any

from triton.backends.compiler import GPUTarget
from triton.runtime import driver

from tuneonce.export import stub_log


class ExportDriver:
    """Stands in for a GPU's: lists of configs depend on the target, scripts name their device. It launches nothing."""

    def __init__(self, capability: int) -> None:
        self._capability = capability

    def __getattr__(self, name: str) -> Any:
        stub_log.record(f"Triton's driver without a GPU has no '{name}'")
        raise AttributeError(f"there is no GPU, whose driver has '{name}'")

    def get_current_target(self) -> GPUTarget:
        return GPUTarget("cuda", self._capability, 32)

    def get_current_device(self) -> int:
        return 0

    def get_active_torch_device(self) -> Any:
        import torch
        return torch.device("cuda", self.get_current_device())


def stand_in(capability: int) -> None:
    """For `capability`, unless there is a GPU."""
    try:
        driver.active.get_current_target()
    except Exception:  # No active driver; or one that cannot be made: it compiles a module with this machine's compiler.
        driver.set_active(ExportDriver(capability))
