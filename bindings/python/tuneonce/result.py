"""The outcome of a search: a record and its candidates, in the form that stores and `records export` have."""
import html
from types import SimpleNamespace
from typing import Any, Callable, Dict, Generic, List, Literal, Optional, Tuple, TypeVar

C = TypeVar("C")

OutcomeKind = Literal["measured", "duplicate", "not_measured", "predicted", "compile", "load", "resources", "launch", "run",
                      "wrong_result", "out_of_bounds", "not_written", "wrote_input", "not_verified", "crash", "timeout",
                      "protocol", "quarantined"]
_NO_FAILURE = ("measured", "duplicate", "not_measured", "predicted")


class _Fields:
    """The fields of an object of records' JSON as attributes. docs/internal/json_output.md lists them."""
    _fields: Dict[str, Any]

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["_fields"][name]
        except KeyError:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'") from None

    def __dir__(self) -> List[str]:
        return sorted({*super().__dir__(), *self._fields})

    def __eq__(self, other: Any) -> bool:
        return type(self) is type(other) and bool(self._fields == other._fields)


class CandidateOutcome(_Fields, Generic[C]):
    """The outcome of one config.

    kind: "measured", "duplicate" (its code equals that of same_as, which was measured), "not_measured" (a budget ended first),
    or the kind of failure. A measured candidate has times in microseconds (mean_us, median_us, ...), of which error_margin_us is
    half of the 95 % confidence interval (None: unknown), and ties_with_fastest: False if it is certainly slower than the fastest,
    by more than 1 %. A failure has the message of the tool, the driver or the exception, and is_transient: another search may
    measure it. variant: what built it; "" in a search over callables. remarks: what the compiler states about its
    optimizations."""
    config: C
    same_as: Optional[C]
    kind: OutcomeKind
    mean_us: float
    error_margin_us: Optional[float]
    num_samples: int
    variant: str
    message: str
    remarks: List[str]
    is_transient: bool
    ties_with_fastest: bool

    def __init__(self, fields: Dict[str, Any], config_of: Callable[[List[Dict[str, Any]]], C]) -> None:
        self._fields = fields
        self.kind = fields["outcome"]
        self.config = config_of(fields["config"])
        self.same_as = None if fields["same_as"] is None else config_of(fields["same_as"])

    def failed(self) -> bool:
        """Returns whether the candidate failed."""
        return self.kind not in _NO_FAILURE

    def __str__(self) -> str:
        if self.kind == "measured":
            margin = "" if self.error_margin_us is None else f" +-{self.error_margin_us:.2f}"
            return f"{self.config}: {self.mean_us:.2f}{margin} us"
        if self.kind == "duplicate":
            return f"{self.config}: the same as {self.same_as}"
        return f"{self.config}: {self.kind.replace('_', ' ')}" + (f": {self.message}" if self.message else "")

    def __repr__(self) -> str:
        return f"<CandidateOutcome {self}>"


class TuningRecord(_Fields, Generic[C]):
    """What is known of a key: the selected config (best), why (reason: "fastest", "tie_baseline", ...), and, if a search
    selected it, every candidate of that search: the measured ones, fastest first, then the others in the order of the space.

    baseline: None if there is none, or it failed. speedup_over_baseline: never below 1; None without a baseline. is_conclusive:
    False if a budget ended the race. is_isolated: the candidates ran in a worker process. timer: how they were timed. drift: how
    much slower the best ran in the second half of its rounds than in the first. notes: what one should know about how was
    measured. cost: what the search took (compile_seconds, gpu_seconds, num_launches, ...). device_before, device_after: the
    device right before the race and right after it; None on the CPU device."""
    best: CandidateOutcome[C]
    baseline: Optional[CandidateOutcome[C]]
    candidates: Tuple[CandidateOutcome[C], ...]
    kernel: str
    key: str
    reason: str
    speedup_over_baseline: Optional[float]
    is_conclusive: bool
    is_complete: bool
    is_isolated: bool
    timer: str
    drift: float
    notes: List[str]

    def __init__(self, fields: Dict[str, Any], config_of: Callable[[List[Dict[str, Any]]], C]) -> None:
        self._fields = fields
        self.best = CandidateOutcome(fields["best"], config_of)
        self.baseline = None if fields["baseline"] is None else CandidateOutcome(fields["baseline"], config_of)
        self.candidates = tuple(CandidateOutcome(each, config_of) for each in fields["candidates"])
        self.cost = SimpleNamespace(**fields["cost"])

    @property
    def successes(self) -> Tuple[CandidateOutcome[C], ...]:
        """The candidates that were measured, fastest first."""
        return tuple(each for each in self.candidates if each.kind == "measured")

    @property
    def failures(self) -> Tuple[CandidateOutcome[C], ...]:
        """The candidates that failed."""
        return tuple(each for each in self.candidates if each.failed())

    @property
    def duplicates(self) -> Tuple[CandidateOutcome[C], ...]:
        """The candidates whose code and launch equal those of another one."""
        return tuple(each for each in self.candidates if each.kind == "duplicate")

    @property
    def not_measured(self) -> Tuple[CandidateOutcome[C], ...]:
        """The candidates that a budget which ended left out; empty if there are more than 1,000."""
        return tuple(each for each in self.candidates if each.kind == "not_measured")

    def to_json(self) -> Dict[str, Any]:
        """Returns the record as `tuneonce records export` writes it."""
        return self._fields

    def __repr__(self) -> str:
        counts = [f"{len(each)} {name}" for each, name in (
            (self.successes, "successes"), (self.failures, "failures"), (self.duplicates, "duplicates"),
            (self.not_measured, "not measured")) if each]
        faster = "" if self.speedup_over_baseline is None else f", {self.speedup_over_baseline:.2f}x the baseline's speed"
        doubt = "" if self.is_conclusive else ", not conclusive"
        return f"<TuningRecord {self.best}{faster}{doubt}; {', '.join(counts)}; by {self.timer}>"

    def __str__(self) -> str:
        lines = [repr(self)]
        for each in self.candidates:
            marks = ("*" if self._is_best(each) else " ") + ("b" if self._is_baseline(each) else " ")
            lines.append(f"{marks} {each}")
        return "\n".join(lines + [f"   note: {note}" for note in self.notes])

    def _is_best(self, candidate: CandidateOutcome[C]) -> bool:
        return bool(candidate.config == self.best.config)

    def _is_baseline(self, candidate: CandidateOutcome[C]) -> bool:
        return self.baseline is not None and bool(candidate.config == self.baseline.config)

    def _rows(self) -> List[Dict[str, Any]]:
        """A row per config with its outcome and its axes (a config that is not a dict is one column)."""
        def row(each: CandidateOutcome[C]) -> Dict[str, Any]:
            axes = dict(each.config) if isinstance(each.config, dict) else {"config": each.config}
            is_measured = each.kind == "measured"
            return {**axes, "outcome": each.kind, "mean_us": each.mean_us if is_measured else None,
                    "error_margin_us": each.error_margin_us if is_measured else None,
                    "num_samples": each.num_samples if is_measured else 0, "variant": each.variant,
                    "is_selected": self._is_best(each), "is_baseline": self._is_baseline(each),
                    "message": each.message if each.same_as is None else f"the same as {each.same_as}"}

        return [row(each) for each in self.candidates]

    def to_pandas(self) -> Any:
        """A pandas.DataFrame with a row per config of the space: its axes, outcome, mean_us, error_margin_us, num_samples,
        variant, is_selected, is_baseline, message. ImportError where pandas is not installed."""
        try:
            import pandas
        except ImportError as error:
            raise ImportError("TuningRecord.to_pandas needs pandas: pip install pandas") from error
        return pandas.DataFrame(self._rows())

    def _repr_html_(self) -> str:
        """A table, for notebooks; tuneonce.report(record) has more."""
        def cell(value: Any) -> str:
            return "" if value is None else f"{value:.4g}" if isinstance(value, float) else html.escape(str(value))

        rows = self._rows()
        columns = list(dict.fromkeys(name for row in rows for name in row))
        head = "".join(f"<th>{cell(name)}</th>" for name in columns)
        body = "".join("<tr" + (' style="font-weight:bold"' if row["is_selected"] else "") + ">"
                       + "".join(f"<td>{cell(row.get(name))}</td>" for name in columns) + "</tr>" for row in rows)
        return (f"<p>{html.escape(repr(self))}</p><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
                + "".join(f"<p>{html.escape(note)}</p>" for note in self.notes))


def from_json(text: str) -> List["TuningRecord[Dict[str, Any]]"]:
    """Returns the records of a file of records, whose configs are {axis: value}."""
    import json
    return [TuningRecord(each, _axes) for each in json.loads(text)["records"]]


def _axes(config: List[Dict[str, Any]]) -> Dict[str, Any]:
    """Returns {axis: value} of a config of records' JSON."""
    return {_value(each["axis"]): _value(each["value"]) for each in config}


def _value(value: Any) -> Any:
    """Returns a value that JSON cannot hold as it is: {"bytes": "ff00"}, {"double": "7ff0000000000000"}."""
    import struct
    if isinstance(value, dict):
        if "bytes" in value:
            return bytes.fromhex(value["bytes"]).decode(errors="surrogateescape")
        return struct.unpack(">d", bytes.fromhex(value["double"]))[0]
    return value
