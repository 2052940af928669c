import os
from typing import Any, Callable, Dict, Iterable, List, Literal, Mapping, Optional, Sequence, Tuple, Union, final

from tuneonce import families as families
from tuneonce.choice import Choice as Choice
from tuneonce.pointer_table import PointerTable as PointerTable
from tuneonce.observer import Observer as Observer
from tuneonce.ranks import RankGroup
from tuneonce.reporting import Report as Report
from tuneonce.reporting import report as report
from tuneonce.result import Duplicate as Duplicate
from tuneonce.result import Failure as Failure
from tuneonce.result import Success as Success
from tuneonce.result import TuningCost as TuningCost
from tuneonce.result import TuningResult as TuningResult
from tuneonce.search import Hints as Hints
from tuneonce.search import SearchSpace as SearchSpace
from tuneonce.search import exhaustive_search as exhaustive_search
from tuneonce.tracing import trace as trace
from tuneonce.typed import ConfigValue as _ConfigValue
from tuneonce.typed import Counters as Counters
from tuneonce.typed import Doctor as Doctor
from tuneonce.typed import Example as _Example
from tuneonce.typed import ParameterInfo as _ParameterInfo
from tuneonce.typed import Record as Record
from tuneonce.typed import WarmedKey as WarmedKey

__all__ = [
    "doctor", "families", "load", "records", "Bundle", "TunedKernel", "disable_autotune", "warmup_all", "__version__", "Error",
    "CancelledError", "InvalidArgumentError", "DeadlineExceededError", "NotFoundError", "ResourceExhaustedError",
    "FailedPreconditionError", "UnimplementedError", "InternalError", "UnavailableError", "Hints", "SearchSpace",
    "exhaustive_search", "Duplicate", "Failure", "Success", "TuningCost", "TuningResult", "Observer", "trace", "Report", "report", "Choice", "PointerTable",
    "Counters", "Doctor", "Record", "WarmedKey",
]

__version__: str

class Error(RuntimeError): ...
class CancelledError(Error): ...
class InvalidArgumentError(Error, ValueError): ...
class DeadlineExceededError(Error, TimeoutError): ...
class NotFoundError(Error, LookupError): ...
class ResourceExhaustedError(Error, MemoryError): ...
class FailedPreconditionError(Error): ...
class UnimplementedError(Error, NotImplementedError): ...
class InternalError(Error): ...
class UnavailableError(Error): ...

_Path = Union[str, os.PathLike[str]]
_Store = Union[None, _Path, Sequence[Optional[_Path]]]
_Shape = Union[Mapping[str, Union[int, float, bool, str]], Sequence[int]]
_Shapes = Iterable[_Shape]
_Mode = Literal["tune", "tune_in_background", "stored_only", "baseline_only"]
_OnTuneError = Literal["use_baseline", "raise"]
_Minimize = Literal["worst", "mean"]
_Match = Literal["exact", "other_driver", "other_device"]
_Isolation = Literal["off", "preferred", "required"]
_Timer = Optional[Literal["cupti", "events"]]

class Bundle:
    def __init__(self, folder: _Path) -> None: ...
    @property
    def name(self) -> str: ...
    @property
    def dims(self) -> Tuple[str, ...]: ...
    @property
    def parameters(self) -> Dict[str, _ParameterInfo]: ...
    @property
    def variants(self) -> List[str]: ...
    @property
    def example(self) -> _Example: ...
    def check(self) -> None: ...

@final
class TunedKernel:
    def __new__(
        cls, bundle: Union[Bundle, _Path], device: str = "cuda", *, store: _Store = None,
        mode: _Mode = "tune", on_tune_error: _OnTuneError = "use_baseline", weakest_match: _Match = "exact",
        shared_choice: str = "", observer: Optional[Observer] = None, ranks: Optional[RankGroup] = None,
        ranks_silence_ms: int = 60000, ranks_may_differ: bool = False, ranks_mixed_kinds: bool = False,
        ranks_share_search: bool = False, ranks_minimize: _Minimize = "worst", kept_inputs_bytes: int = 268435456,
        store_under_profiler: bool = False, accept_incomplete: bool = False, longest_wait_ms: int = 120000,
        retry_after_ms: int = 1000, tune_at_bucket_bound: bool = True, max_resident_keys: int = 65536,
        timer: _Timer = None, warm: bool = False, verify: bool = True, baseline_margin: float = 0.02, final_rounds: int = 0,
        max_rounds: int = 300, gpu_budget_ms: float = 500.0, race_budget_ms: float = 10000.0,
        max_proposed: int = 16, wall_budget_ms: float = 0.0,
        memory_budget_bytes: int = 0, isolation: _Isolation = "preferred", candidate_deadline_ms: float = 10000.0,
        seed: int = 1, compile_workers: int = 0, compile_timeout_ms: int = 120000,
        compile_budget_ms: int = 0, quiet: bool = True
    ) -> TunedKernel: ...
    def __call__(self, *args: Any, stream: Any = None) -> None: ...
    def is_tuned(self, *args: Any) -> bool: ...
    def warmup(self, shapes: _Shapes, dtypes: Optional[Mapping[str, str]] = None, stream: Any = None,
               on_done: Optional[Callable[[int, Optional[str]], object]] = None) -> None: ...
    def warmup_with(self, *args: Any, stream: Any = None) -> None: ...
    def choice_of(self, *args: Any, stream: Any = None) -> Choice: ...
    def pin(self, shape: _Shape, config: Dict[str, _ConfigValue], dtypes: Optional[Mapping[str, str]] = None,
            stored: bool = False) -> None: ...
    def unpin(self, shape: _Shape, dtypes: Optional[Mapping[str, str]] = None) -> None: ...
    def retune(self, shape: _Shape, dtypes: Optional[Mapping[str, str]] = None, stream: Any = None) -> None: ...
    def retune_with(self, *args: Any, stream: Any = None) -> None: ...
    def at_safe_point(self, stream: Any = None) -> None: ...
    def release_retired(self) -> None: ...
    def seal(self) -> None: ...
    def sealed_misses(self) -> List[str]: ...
    def counters(self) -> Counters: ...
    @property
    def name(self) -> str: ...
    @property
    def dims(self) -> Tuple[str, ...]: ...

def load(
    bundle: Union[Bundle, _Path], device: str = "cuda", *, store: _Store = None,
        mode: _Mode = "tune", on_tune_error: _OnTuneError = "use_baseline", weakest_match: _Match = "exact",
        shared_choice: str = "", observer: Optional[Observer] = None, ranks: Optional[RankGroup] = None,
        ranks_silence_ms: int = 60000, ranks_may_differ: bool = False, ranks_mixed_kinds: bool = False,
        ranks_share_search: bool = False, ranks_minimize: _Minimize = "worst", kept_inputs_bytes: int = 268435456,
        store_under_profiler: bool = False, accept_incomplete: bool = False, longest_wait_ms: int = 120000,
        retry_after_ms: int = 1000, tune_at_bucket_bound: bool = True, max_resident_keys: int = 65536,
        timer: _Timer = None, warm: bool = False, verify: bool = True, baseline_margin: float = 0.02, final_rounds: int = 0,
        max_rounds: int = 300, gpu_budget_ms: float = 500.0, race_budget_ms: float = 10000.0,
        max_proposed: int = 16, wall_budget_ms: float = 0.0,
        memory_budget_bytes: int = 0, isolation: _Isolation = "preferred", candidate_deadline_ms: float = 10000.0,
        seed: int = 1, compile_workers: int = 0, compile_timeout_ms: int = 120000,
        compile_budget_ms: int = 0, quiet: bool = True
) -> TunedKernel: ...
def warmup_all(kernels: Union[Mapping[TunedKernel, _Shapes], Iterable[Tuple[TunedKernel, _Shapes]]],
               deadline: Optional[float] = None, stream: Any = None,
               on_progress: Optional[Callable[[WarmedKey, int, int, float], object]] = None) -> List[WarmedKey]: ...
def disable_autotune(disable: bool = True) -> None: ...
def doctor() -> Doctor: ...
def records(path: Optional[_Path] = None) -> List[Record]: ...
