"""The result of TunedKernel.explain: what a launch would run, and why."""
import dataclasses
from typing import Any, Dict, Literal, Optional

from tuneonce.result import TuningRecord


@dataclasses.dataclass(frozen=True)
class LaunchPlan:
    """What the next launch with such arguments would run, and why.

    action: "selected" (the selected config), "fallback" (the fallback config), "search" (a search, then the config that
        it selects), "nothing".
    reason: "ready", "stored", "no_record", "guard", "pending", "not_agreed", "failed_tune", "capture", "frozen",
        "mode", "unverified" (not yet verified at extents of this class), "empty".
    origin: where the selected config comes from: "search" (of this process), "store", "shipped", "pinned",
        "imported", "ranks", "predicted" (from records of other keys), "none".
    match: how well the record fits: "exact", "other_driver", "other_device"; None without a record.
    config: {axis: value}; None where it is not known yet. variant: what builds it; "" where that is not known.
    record: what is known of the selected config, as `tuneonce.records` returns it; None if there is no record.
    miss: why the store has no record that can be used; None if it has one, or was not asked.
    """

    action: Literal["selected", "fallback", "search", "nothing"]
    reason: Literal["ready", "stored", "no_record", "guard", "pending", "not_agreed", "failed_tune", "capture", "frozen", "mode", "unverified", "empty"]
    origin: Literal["search", "store", "shipped", "pinned", "imported", "ranks", "predicted", "none"]
    match: Optional[Literal["exact", "other_driver", "other_device"]]
    config: Optional[Dict[str, Any]]
    variant: str
    key: str
    detail: str
    record: Optional[TuningRecord[Dict[str, Any]]]
    miss: Optional[Literal["no_record", "other_driver", "other_device", "other_source", "refused"]]
