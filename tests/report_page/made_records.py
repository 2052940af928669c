"""Files of records as `tuneonce records export` writes them, made up: what a page must bear and no search gives at
once."""

import json
import pathlib
from typing import Any, Dict, Iterator, List, Optional

Axes = Dict[str, Any]


def config(axes: Axes) -> List[Dict[str, Any]]:
    return [{"axis": name, "kind": "structural", "value": value} for name, value in axes.items()]


def measured(
    axes: Axes, mean: float, margin: Optional[float] = 0.01, samples: int = 50, ties: bool = False
) -> Dict[str, Any]:
    figures = {"mean_us": mean, "error_margin_us": margin, "num_samples": samples, "ties_with_fastest": ties}
    return candidate(axes, "measured", variant="tile", **figures)


def candidate(axes: Axes, outcome: str, **fields: Any) -> Dict[str, Any]:
    made: Dict[str, Any] = {
        "config": config(axes),
        "outcome": outcome,
        "identity": "0" * 32,
        "variant": "",
        "passed_over": [],
        "message": "",
        "is_transient": False,
        "same_as": None,
        "artifact": "0" * 32,
        "toolchain": "",
        "remarks": [],
    }
    if outcome == "measured":
        mean = fields.get("mean_us", 0.0)
        made.update(
            mean_us=mean,
            error_margin_us=None,
            num_samples=0,
            std_us=0.1,
            median_us=mean,
            min_us=mean,
            max_us=mean,
            ties_with_fastest=False,
            geometry={**{name: {"x": 1, "y": 1, "z": 1} for name in ("grid", "block", "cluster")},
                      "shared_memory_bytes": 0, "programmatic_launch": False},
            resources={"registers": 0, "shared_bytes": 0, "local_bytes": 0},
            largest_difference=None,
            roofline=None,
            energy_mj=None,
        )
    if "same_as" in fields:
        fields["same_as"] = config(fields["same_as"])
    return {**made, **fields}


def record(kernel: str, key: str, axes: Axes, candidates: List[Dict[str, Any]], **fields: Any) -> Dict[str, Any]:
    """One whose choice is `axes`, by its figures among the candidates."""
    own = next((each for each in candidates if each["config"] == config(axes)), candidate(axes, "not_measured"))
    best = {**own, "variant": fields.pop("variant", "tile"), "toolchain": fields.pop("toolchain", "tileiras 13.5")}
    made = {
        "kernel": kernel,
        "kernel_fingerprint": "0123456789abcdef" * 2,
        "key": key,
        "key_words": [f"{abs(hash(key)) % (1 << 64):016x}"],
        "device": "NVIDIA H200",
        "capability": 90,
        "num_sms": 132,
        "driver_version": 13000,
        "best": best,
        "configs": "0" * 32,
        "verification": {
            "level": "reference",
            "outputs": [],
            "is_data_sufficient": True,
            "has_generated_data": False,
            "extents": [],
            "gaps": [],
        },
        "speedup_over_baseline": None,
        "baseline": None,
        "reason": "fastest",
        "workspace_bytes": 0,
        "tuned_at": key,
        "inputs": "fill",
        "candidates": candidates,
        "is_complete": True,
        "num_not_measured": 0,
        "fatal": [],
        "is_conclusive": True,
        "is_pinned": False,
        "fencing_token": 0,
        "signature": "",
        "timer": "cupti",
        "is_isolated": False,
        "drift": 0.0,
        "device_before": None,
        "device_after": None,
        "race_sm_clock_mhz": None,
        "notes": [],
        "cost": {
            "compile_seconds": 0.0,
            "compile_wall_seconds": 0.0,
            "num_compiled": 0,
            "gpu_seconds": 0.0,
            "wall_seconds": 0.0,
            "num_launches": 0,
            "num_rounds": 0,
            "peak_bytes": 0,
            "workers_replaced": 0,
        },
        "host": "node1",
        "unix_seconds": 1764000000,
        "conditions": {
            "sm_clock_mhz": 1980,
            "memory_clock_mhz": None,
            "power_limit_mw": None,
            "throttle_reasons": None,
            "mig_profile": "",
        },
        "nearest_dim": "",
        "rows": [],
    }
    return {**made, **fields}


def baseline(axes: Axes) -> Dict[str, Any]:
    return candidate(axes, "not_measured", variant="tile")


def write(path: pathlib.Path, records: List[Dict[str, Any]]) -> pathlib.Path:
    path.write_text(json.dumps({"format": "tuneonce-records", "version": 7, "records": records}))
    return path


# A search of which much can be asked: the choice is not the fastest mean, one config does not compile, one ends its
# process, one is another's code, one was not tried; and the key was tuned for an older driver, too.
CHOICE = {"TILE": 64, "occupancy": 2}
FASTEST = {"TILE": 128, "occupancy": 2}
BASELINE = {"TILE": 32, "occupancy": 1}
CRASHES = {"TILE": 256, "occupancy": 2}
REFUSED = {"TILE": 512, "occupancy": 1}
SAME = {"TILE": 64, "occupancy": 1}
NOT_TRIED = {"TILE": 1024, "occupancy": 1}


def telling() -> List[Dict[str, Any]]:
    candidates = [
        measured(FASTEST, 10.0, 0.05, ties=True),
        measured(CHOICE, 10.06, 0.04, ties=True),
        measured(BASELINE, 15.4, 0.1),
        candidate(CRASHES, "crash", message="illegal address (700)"),
        candidate(REFUSED, "compile", message="error: tile of 512 needs 300 KiB of shared memory\nnote: there are 227"),
        candidate(SAME, "duplicate", same_as=CHOICE),
        candidate(NOT_TRIED, "not_measured"),
    ]
    facts = {
        "reason": "tie_earliest",
        "speedup_over_baseline": 1.53,
        "baseline": baseline(BASELINE),
        "fatal": [{"config": config(CRASHES), "reason": "illegal address (700)"}],
        "is_complete": False,
        "num_not_measured": 1,
    }
    now = record("matmul", "M=64, N=4096", CHOICE, candidates, **facts)
    old = record(
        "matmul",
        "M=64, N=4096",
        BASELINE,
        [measured(BASELINE, 15.9)],
        reason="fastest",
        driver_version=12080,
        unix_seconds=1750000000,
        baseline=baseline(BASELINE),
        speedup_over_baseline=1.0,
    )
    other = record("softmax", "M=1024, N=256", {"ONE_ROW": True}, [measured({"ONE_ROW": True}, 3.21)], is_conclusive=False)
    return [now, old, other]


def odd() -> List[Dict[str, Any]]:
    """One of each kind that is no common search."""
    many = [measured({"A": a, "B": b}, 5 + a / 7 + b / 11, 0.1) for a in range(40) for b in range(25)]
    wide = [{**{f"axis_{i}": 1 for i in range(30)}, f"axis_{i}": 2} for i in range(30)]
    endless = {"double": "7ff0000000000000"}
    return [
        record("pinned", "N=1", {"T": 1}, [], is_pinned=True, reason="pinned"),
        record("imported", "N=2", {"T": 2}, [], reason="imported", driver_version=0),
        record(
            "table",
            "M=0",
            {},
            [],
            reason="imported",
            driver_version=0,
            nearest_dim="M",
            rows=[{"at": 16, "config": config({"T": 1})}, {"at": 64, "config": config({"T": 8})}],
        ),
        record(
            "failed",
            "N=3",
            {"T": 1},
            [candidate({"T": 1}, "wrong_result", message="7 of 9 elements"), candidate({"T": 2}, "timeout")],
        ),
        record("alone", "N=4", {}, [measured({}, 2.5, None, 1)]),
        record("many", "N=5", {"A": 0, "B": 0}, many, baseline=baseline({"A": 39, "B": 24}), speedup_over_baseline=2.0),
        record("wide", "N=6", wide[0], [measured(each, 4 + i / 10) for i, each in enumerate(wide)]),
        record(
            "endless",
            "N=7",
            {"T": 1.5},
            [candidate({"T": 1.5}, "measured", mean_us=endless, num_samples=3), measured({"T": 2.5}, 3.0)],
        ),
        record(
            "mixed", "N=8", {"T": "1"}, [measured({"T": "1"}, 1.0), measured({"T": 1}, 2.0), measured({"T": True}, 3.0)]
        ),
    ]


# Names as somebody could give them who means harm, and as nobody expects them.
HOSTILE = "</script><script>window.harmed = 1</script><img src=x onerror='window.harmed = 1'>"


def hostile() -> List[Dict[str, Any]]:
    axes = {"__proto__": 1, "constructor": "<b>bold</b>", HOSTILE: "{a|b}"}
    others = {**axes, "__proto__": 2, "constructor": "\u202eleft"}
    return [
        record(
            HOSTILE,
            f"x:\u001b[31m\u202e\u0000<!--{HOSTILE}",
            axes,
            [
                measured(axes, 1.0),
                measured(others, 2.0),
                candidate({**axes, "__proto__": 3}, "compile", message=HOSTILE),
            ],
            device=HOSTILE,
            host=HOSTILE,
            toolchain=HOSTILE,
            variant=HOSTILE,
            tuned_at=HOSTILE,
            baseline=baseline(others),
            speedup_over_baseline=2.0,
        )
    ]


def crowd(count: int) -> Iterator[Dict[str, Any]]:
    """As many records as a fleet's store has, each of a search of eight configs."""
    space = [{"TILE_M": m, "TILE_N": n, "occupancy": o} for m in (64, 128) for n in (64, 128) for o in (1, 2)]
    for i in range(count):
        times = [5 + (i * 7 + j * 13) % 97 / 10 for j in range(len(space))]
        best = min(range(len(space)), key=times.__getitem__)
        yield record(
            f"kernel_{i % 20}",
            f"M={i}, N=4096, x:float16",
            space[best],
            [measured(each, time, 0.05) for each, time in zip(space, times)],
            baseline=baseline(space[0]),
            speedup_over_baseline=times[0] / times[best],
            device=("NVIDIA H200", "NVIDIA H100", "NVIDIA L4")[i % 3],
            unix_seconds=1760000000 + 60 * i,
        )
