"""The types of dicts that functions of tuneonce return."""
from typing import TYPE_CHECKING, Any, Dict, List, Literal, Optional, TypedDict, Union

if TYPE_CHECKING:
    from tuneonce import TunedKernel

ConfigValue = Union[bool, int, float, str]


class Counters(TypedDict):
    """The result of TunedKernel.counters(): events since the kernel was made."""
    hits: int  # Calls that found their key ready.
    tunes: int  # Searches made.
    stored_hits: int  # Keys served from a stored record, without a search.
    waits: int  # Calls that waited for another thread's tune.
    fallbacks: int  # Launches that ran the fallback config in place of a tuned one.
    frozen_misses: int  # Launches after freeze() whose key was not loaded. They count as fallbacks too.
    failed_tunes: int
    capture_misses: int
    busy_elsewhere: int  # Calls that did not tune since another process tuned their key.
    pending_keys: int  # That wait for TunePending now.
    pinned_keys: int
    kept_inputs_bytes: int
    inputs_not_kept: int
    misses_no_record: int  # Keys that the store had nothing for; the other misses_* are why what it had did not serve.
    misses_other_driver: int
    misses_other_device: int
    misses_other_source: int
    misses_incomplete: int
    misses_refused: int
    workers_replaced: int
    loaded_kernels: int
    ready_entries: int
    tuning_seconds: float
    tuning_gpu_seconds: float


class WarmedKey(TypedDict):
    """The result of warmup_all for one key. `shapes` are indices in the list of its kernel."""
    kernel: "TunedKernel"
    key: str
    shapes: List[int]
    state: Literal["tuned", "from_store", "ready", "fallback", "failed", "not_reached"]
    complete: bool
    error: Optional[str]


class _Parameter(TypedDict):
    kind: Literal["tensor", "scalar"]
    dtype: str


class ParameterInfo(_Parameter, total=False):
    """An entry of Bundle.parameters. A tensor has access and dims, in which a number is a constant extent."""
    dims: List[Union[str, int]]
    access: Literal["in", "out", "inout"]


class Example(TypedDict):
    """The value of Bundle.example."""
    dims: Dict[str, int]
    scalars: Dict[str, Any]


class Finding(TypedDict):
    """One finding of doctor()."""
    name: str
    found: bool
    detail: str
    advice: Optional[str]


class Doctor(TypedDict):
    """The result of doctor(). ok is False if nothing can be tuned."""
    ok: bool
    findings: List[Finding]
