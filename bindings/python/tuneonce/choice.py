"""The result of TunedKernel.choice_of: what a tuned kernel would run, and why."""
import dataclasses
from typing import Any, Dict, Literal, Optional

from tuneonce.typed import Record


@dataclasses.dataclass(frozen=True)
class Choice:
    """What the next such call would run, and why.

    runs: "choice", "stand_in" (what runs where the choice may not), "search" (a search, then what it finds), "nothing".
    because: "resident", "stored", "no_record", "guard", "waits", "not_agreed", "failed_tune", "capture",
        "sealed", "mode", "unverified" (not yet verified at extents of this class), "empty".
    origin: where the choice is from: "search" (of this process), "store", "shipped", "pinned", "imported", "ranks",
        "nowhere".
    match: how the record fitted: "exact", "other_driver", "other_device"; None without a record.
    config: {axis: value}; None where that is not known yet. variant: what builds it; "" where that is not known.
    record: what is known of the choice, as `tuneonce.records` has it; None if nothing is.
    miss: why the store has nothing that serves; None if it has, or was not asked.
    """

    runs: Literal["choice", "stand_in", "search", "nothing"]
    because: Literal["resident", "stored", "no_record", "guard", "waits", "not_agreed", "failed_tune", "capture", "sealed", "mode", "unverified", "empty"]
    origin: Literal["search", "store", "shipped", "pinned", "imported", "ranks", "nowhere"]
    match: Optional[Literal["exact", "other_driver", "other_device"]]
    config: Optional[Dict[str, Any]]
    variant: str
    key: str
    detail: str
    record: Optional[Record]
    miss: Optional[Literal["no_record", "other_driver", "other_device", "other_source", "incomplete", "refused"]]
