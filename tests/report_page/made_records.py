"""Files of records as `tuneonce records export` writes them, made up: what a page must bear and no search gives at once."""
import json
import pathlib
from typing import Any, Dict, List, Optional

Axes = Dict[str, Any]


def config(axes: Axes) -> List[Dict[str, Any]]:
    return [{"axis": name, "kind": "structural", "value": value} for name, value in axes.items()]


def measured(axes: Axes, mean: float, margin: Optional[float] = 0.01, samples: int = 50) -> Dict[str, Any]:
    return candidate(axes, "measured", mean_us=mean, error_margin_us=margin, num_samples=samples, variant="tile")


def candidate(axes: Axes, outcome: str, **fields: Any) -> Dict[str, Any]:
    made = {"config": config(axes), "outcome": outcome, "variant": "", "mean_us": 0.0, "error_margin_us": None,
            "num_samples": 0, "message": "", "same_as": None}
    if "same_as" in fields:
        fields["same_as"] = config(fields["same_as"])
    return {**made, **fields}


def record(kernel: str, key: str, axes: Axes, candidates: List[Dict[str, Any]], **fields: Any) -> Dict[str, Any]:
    """One whose choice is `axes`, by its figures among the candidates."""
    own = next((each for each in candidates if each["config"] == config(axes)), candidate(axes, "measured"))
    made = {
        "kernel": kernel, "kernel_fingerprint": "0123456789abcdef" * 2, "key": key,
        "key_words": [f"{abs(hash(key)) % (1 << 64):016x}"], "device": "NVIDIA H200", "capability": 90, "num_sms": 132,
        "driver_version": 13000, "config": config(axes), "variant": "tile", "mean_us": own["mean_us"],
        "error_margin_us": own["error_margin_us"], "num_samples": own["num_samples"], "std_us": 0.1,
        "median_us": own["mean_us"], "min_us": own["mean_us"], "max_us": own["mean_us"], "speedup_over_baseline": None,
        "artifact": "0" * 32, "baseline": None, "reason": "fastest", "workspace_bytes": 0, "tuned_at": key, "inputs": "fill",
        "candidates": candidates, "is_complete": True, "num_not_measured": 0, "lethal": [], "is_certain": True,
        "is_pinned": False, "fencing_token": 0, "signature": "", "timer": "cupti", "host": "node1",
        "toolchain": "tileiras 13.5", "unix_seconds": 1764000000,
        "conditions": {"sm_clock_mhz": 1980, "memory_clock_mhz": None, "power_limit_mw": None, "throttle_reasons": None,
                       "mig_profile": ""},
        "nearest_dim": "", "rows": [],
    }
    return {**made, **fields}


def baseline(axes: Axes) -> Dict[str, Any]:
    return {"config": config(axes), "variant": "tile", "artifact": "0" * 32}


def write(path: pathlib.Path, records: List[Dict[str, Any]]) -> pathlib.Path:
    path.write_text(json.dumps({"format": "tuneonce-records", "version": 3, "records": records}))
    return path
