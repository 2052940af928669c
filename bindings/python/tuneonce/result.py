"""The result of a search, as plain data."""
import dataclasses
import html
from typing import Any, Dict, Generic, List, Literal, Optional, Tuple, TypeVar

C = TypeVar("C")

FailureKind = Literal["compile", "load", "resources", "launch", "run", "wrong result", "out of bounds", "not written",
                      "wrote an input", "not verified", "crash", "timeout", "protocol"]


@dataclasses.dataclass(frozen=True)
class Success(Generic[C]):
    """A config that ran. Times in microseconds; the margin is half of the 95 % confidence interval (None: unknown).

    variant: what it was built by; "" in a search over callables. ties_with_fastest: False if it is surely slower than the
    fastest, by more than 1 %."""
    config: C
    mean_us: float
    error_margin_us: Optional[float]
    num_samples: int
    std_us: float
    median_us: float
    min_us: float
    max_us: float
    variant: str
    ties_with_fastest: bool

    def __str__(self) -> str:
        margin = "" if self.error_margin_us is None else f" +-{self.error_margin_us:.2f}"
        return f"{self.config}: {self.mean_us:.2f}{margin} us"


@dataclasses.dataclass(frozen=True)
class Failure(Generic[C]):
    """A config that did not run, or not as it should. message: the tool's, the driver's or the exception's own words.
    is_transient: the reason may pass (no memory, no process, no time)."""
    config: C
    kind: FailureKind
    message: str
    is_transient: bool

    def __str__(self) -> str:
        return f"{self.config}: {self.kind}: {self.message}"


@dataclasses.dataclass(frozen=True)
class Duplicate(Generic[C]):
    """A config whose code and launch equal those of another one, so that not measured."""
    config: C
    same_as: C

    def __str__(self) -> str:
        return f"{self.config}: the same as {self.same_as}"


@dataclasses.dataclass(frozen=True)
class TuningCost:
    """What a search cost. compile_seconds: what one core would have taken. compile_wall_seconds: until the last was
    compiled. num_compiled: the others came from a cache. peak_bytes: of device memory, beside what the caller passed.
    workers_replaced: worker processes that candidates ended."""
    compile_seconds: float
    compile_wall_seconds: float
    num_compiled: int
    gpu_seconds: float
    wall_seconds: float
    num_launches: int
    num_rounds: int
    peak_bytes: int
    workers_replaced: int = 0


@dataclasses.dataclass(frozen=True, repr=False)
class TuningResult(Generic[C]):
    """The result of a search: successes, failures, duplicates and not_measured together are the whole space.

    best: the selected config; reason: why it was selected, as records have it ("fastest", "tie_baseline", ...). successes: fastest first; the others in the order of the space. not_measured: what a budget that ended
    left out. baseline: None if there is none, or it failed. speedup_over_baseline: never below 1; None without a baseline.
    is_conclusive: False if a budget ended the race. is_isolated: they ran in a worker process. timer: how they were timed. drift: how much slower the best ran in the
    second half of its rounds than in the first. notes: what one should know about how was measured. device_before,
    device_after: the device right before the race and right after it, by NVML: sm_clock_mhz, temperature_c, power_mw and
    more, as far as they are known; None on the CPU device."""
    kernel: str
    best: Success[C]
    successes: Tuple[Success[C], ...]
    failures: Tuple[Failure[C], ...]
    duplicates: Tuple[Duplicate[C], ...]
    not_measured: Tuple[C, ...]
    baseline: Optional[Success[C]]
    speedup_over_baseline: Optional[float]
    is_conclusive: bool
    is_isolated: bool
    timer: str
    drift: float
    notes: Tuple[str, ...]
    cost: TuningCost
    reason: str = "unknown"
    device_before: Optional[Dict[str, Any]] = None
    device_after: Optional[Dict[str, Any]] = None

    def __repr__(self) -> str:
        counts = [f"{len(each)} {name}" for each, name in (
            (self.successes, "successes"), (self.failures, "failures"), (self.duplicates, "duplicates"),
            (self.not_measured, "not measured")) if each]
        faster = "" if self.speedup_over_baseline is None else f", {self.speedup_over_baseline:.2f}x the baseline's speed"
        doubt = "" if self.is_conclusive else ", not conclusive"
        return f"<TuningResult {self.best}{faster}{doubt}; {', '.join(counts)}; by {self.timer}>"

    def __str__(self) -> str:
        lines = [repr(self)]
        for success in self.successes:
            marks = ("*" if success.config == self.best.config else " ") + (
                "b" if self.baseline is not None and success.config == self.baseline.config else " ")
            lines.append(f"{marks} {success}")
        lines += [f"   {each}" for each in (*self.failures, *self.duplicates)]
        lines += [f"   {config}: not measured" for config in self.not_measured]
        return "\n".join(lines + [f"   note: {note}" for note in self.notes])

    def _rows(self) -> List[Dict[str, Any]]:
        """A row per config with its outcome and its axes (a config that is not a dict is one column)."""
        def axes(config: Any) -> Dict[str, Any]:
            return dict(config) if isinstance(config, dict) else {"config": config}

        rows = [{**axes(each.config), "outcome": "measured", "mean_us": each.mean_us, "error_margin_us": each.error_margin_us,
                 "num_samples": each.num_samples, "variant": each.variant, "is_selected": each.config == self.best.config,
                 "is_baseline": self.baseline is not None and each.config == self.baseline.config, "message": ""}
                for each in self.successes]
        nothing = {"mean_us": None, "error_margin_us": None, "num_samples": 0, "variant": "", "is_selected": False,
                   "is_baseline": False}
        rows += [{**axes(each.config), "outcome": each.kind, **nothing, "message": each.message} for each in self.failures]
        rows += [{**axes(each.config), "outcome": "duplicate", **nothing, "message": f"the same as {each.same_as}"}
                 for each in self.duplicates]
        return rows + [{**axes(config), "outcome": "not measured", **nothing, "message": ""} for config in self.not_measured]

    def to_pandas(self) -> Any:
        """A pandas.DataFrame with a row per config of the space: its axes, outcome, mean_us, error_margin_us, num_samples,
        variant, is_selected, is_baseline, message. ImportError where pandas is not installed."""
        try:
            import pandas
        except ImportError as error:
            raise ImportError("TuningResult.to_pandas needs pandas: pip install pandas") from error
        return pandas.DataFrame(self._rows())

    def _repr_html_(self) -> str:
        """A table, for notebooks; tuneonce.report(result) has more."""
        def cell(value: Any) -> str:
            return "" if value is None else f"{value:.4g}" if isinstance(value, float) else html.escape(str(value))

        rows = self._rows()
        columns = list(dict.fromkeys(name for row in rows for name in row))
        head = "".join(f"<th>{cell(name)}</th>" for name in columns)
        body = "".join("<tr" + (' style="font-weight:bold"' if row["is_selected"] else "") + ">"
                       + "".join(f"<td>{cell(row.get(name))}</td>" for name in columns) + "</tr>" for row in rows)
        return (f"<p>{html.escape(repr(self))}</p><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
                + "".join(f"<p>{html.escape(note)}</p>" for note in self.notes))
