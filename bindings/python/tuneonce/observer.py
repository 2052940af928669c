"""Notifications about a kernel's misses."""
from typing import Any

from tuneonce.result import TuningRecord


class Observer:
    """What a TunedKernel says about its misses while it works; hits say nothing. Override what is of interest, and give it as
    `observer=`.

    Methods are called on the thread whose call or warm-up missed, by several at once if these are several. They must not call
    the kernel. What they raise goes to sys.unraisablehook and stops nothing; only KeyboardInterrupt and SystemExit end the
    call. `kernel`: the kernel's name. `key`: "M<=128, x:float16".
    """

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        for name in vars(cls):
            if name.startswith("on_") and not hasattr(Observer, name):
                known = ", ".join(n for n in vars(Observer) if n.startswith("on_"))
                raise TypeError(f"an Observer has no notification '{name}'; the notifications are {known}")

    def on_tune_begin(self, kernel: str, key: str) -> None:
        """A search begins."""

    def on_tuned(self, kernel: str, key: str, result: TuningRecord[Any]) -> None:
        """A search selected a config: result.best.config, {axis: value}."""

    def on_tune_failed(self, kernel: str, key: str, why: Exception) -> None:
        """The key could not be tuned; `why` is a tuneonce.Error. Calls run the fallback config."""

    def on_stored_hit(self, kernel: str, key: str, config: str) -> None:
        """A stored config was loaded without a search."""

    def on_refused_miss(self, kernel: str, key: str) -> None:
        """A call missed on a capturing stream, or after freeze()."""

    def on_warning(self, line: str) -> None:
        """Something does not work, such as a store that cannot be written. `line` states what is done instead."""
