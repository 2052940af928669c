"""What the GPU does while a cell runs, seen from outside: memory in use and the share of time in which it is busy."""

import os
import threading
import time
from typing import Any, Dict, List, Optional, Tuple

PERIOD_S = 0.02  # NVML's own samples of utilization are not finer than that.


def device_of(nvml: Any) -> Any:
    """The device that a program sees as its first: NVML numbers them all, whatever CUDA_VISIBLE_DEVICES says."""
    first = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")[0].strip()
    if first.startswith("GPU-"):
        return nvml.nvmlDeviceGetHandleByUUID(first)
    return nvml.nvmlDeviceGetHandleByIndex(int(first or 0))


class Watcher:
    """Samples from start() to stop(), by NVML, in a thread. Without NVML it sees nothing."""

    def __init__(self) -> None:
        self._samples: List[Tuple[float, int]] = []  # When, bytes in use.
        self._busy: List[Tuple[float, int]] = []  # When, percent.
        self._stop = threading.Event()
        try:
            import pynvml

            pynvml.nvmlInit()
            self._nvml, self._device = pynvml, device_of(pynvml)
        except Exception:  # noqa: BLE001
            self._nvml = None
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> "Watcher":
        self._thread.start()
        return self

    def stop(self) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        while self._nvml is not None and not self._stop.is_set():
            now = time.monotonic()
            try:
                self._samples.append((now, self._nvml.nvmlDeviceGetMemoryInfo(self._device).used))
                self._busy.append((now, self._nvml.nvmlDeviceGetUtilizationRates(self._device).gpu))
            except Exception:  # noqa: BLE001
                return
            self._stop.wait(PERIOD_S)

    def between(self, begin: float, end: float) -> Dict[str, Optional[Any]]:
        """gpu_busy_s: busy time in the interval. peak_mib: the most memory in use in it, over what was at its begin."""
        memory = [used for when, used in self._samples if begin <= when <= end]
        busy = [percent for when, percent in self._busy if begin <= when <= end]
        return {
            "gpu_busy_s": sum(busy) / len(busy) / 100 * (end - begin) if busy else None,
            "peak_mib": (max(memory) - memory[0]) / 2**20 if memory else None,
        }


def machine() -> Dict[str, Any]:
    """Device, driver, cores: what a result says about where it is from."""
    import platform

    found: Dict[str, Any] = {"cores": len(os.sched_getaffinity(0)), "python": platform.python_version(), "device": None}
    try:
        import pynvml

        pynvml.nvmlInit()
        handle = device_of(pynvml)
        found.update(device=_text(pynvml.nvmlDeviceGetName(handle)), driver=_text(pynvml.nvmlSystemGetDriverVersion()))
    except Exception as error:  # noqa: BLE001
        found["no_device"] = f"{type(error).__name__}: {error}"
    return found


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)
