"""What a search found: plain data, whole."""
import dataclasses
from typing import Generic, Literal, Optional, Tuple, TypeVar

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
    """A config whose code and launch are those of another one, and which was therefore not measured again."""
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

    best: the choice. successes: fastest first; the others in the order of the space. not_measured: what a budget that ended
    left out. baseline: None if there is none, or it failed. speedup_over_baseline: never below 1; None without a baseline.
    is_certain: False if a budget ended the race. is_isolated: they ran in a worker process. timer: how they were timed. drift: how much slower the best ran in the
    second half of its rounds than in the first. notes: what one should know about how was measured."""
    kernel: str
    best: Success[C]
    successes: Tuple[Success[C], ...]
    failures: Tuple[Failure[C], ...]
    duplicates: Tuple[Duplicate[C], ...]
    not_measured: Tuple[C, ...]
    baseline: Optional[Success[C]]
    speedup_over_baseline: Optional[float]
    is_certain: bool
    is_isolated: bool
    timer: str
    drift: float
    notes: Tuple[str, ...]
    cost: TuningCost

    def __repr__(self) -> str:
        counts = [f"{len(each)} {name}" for each, name in (
            (self.successes, "successes"), (self.failures, "failures"), (self.duplicates, "duplicates"),
            (self.not_measured, "not measured")) if each]
        faster = "" if self.speedup_over_baseline is None else f", {self.speedup_over_baseline:.2f}x the baseline's speed"
        doubt = "" if self.is_certain else ", not certain"
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
