# What the package itself uses of its C++ part beside what it shows (tuneonce/__init__.pyi).
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple

from tuneonce import Bundle as Bundle
from tuneonce import CancelledError as CancelledError
from tuneonce import DataLossError as DataLossError
from tuneonce import DeadlineExceededError as DeadlineExceededError
from tuneonce import Error as Error
from tuneonce import FailedPreconditionError as FailedPreconditionError
from tuneonce import InternalError as InternalError
from tuneonce import InvalidArgumentError as InvalidArgumentError
from tuneonce import NotFoundError as NotFoundError
from tuneonce import ResourceExhaustedError as ResourceExhaustedError
from tuneonce import TunedKernel as TunedKernel
from tuneonce import UnavailableError as UnavailableError
from tuneonce import UnimplementedError as UnimplementedError
from tuneonce import disable_autotune as disable_autotune
from tuneonce import warmup_all as warmup_all
from tuneonce.result import TuningResult

__version__: str

class _TileIrCompile:
    def __init__(self, bytecode: bytes, symbol: str, options: Sequence[str], capability: Tuple[int, int]) -> None: ...
    def wait(self) -> Tuple[bytes, float]: ...

def _search(configs: List[Any], labels: Sequence[str], launch: Callable[[int, int, List[int]], None],
            outputs: Sequence[List[Any]], stream: Any, device: str, baseline: Optional[int],
            keywords: Dict[str, Any]) -> TuningResult[Any]: ...
def _begin_trace() -> None: ...
def _end_trace() -> str: ...
def _doctor_json() -> str: ...
def _report_text(form: str, paths: Sequence[str], results: Sequence[Tuple[str, str]], kernel: str) -> str: ...
def _records_json(path: Any) -> str: ...
def _family_json(name: str, targets: Sequence[str], extents: Mapping[str, int]) -> str: ...
def _classify_json(bundle: str, target: str, extents: Mapping[str, int], ptx: Mapping[str, Sequence[str]]) -> str: ...
def _check_grid(pattern: str, fields: Sequence[str], num_tiles: int) -> None: ...
