#!/usr/bin/env python3
"""compile_bundles.py --tuneonce PROGRAM [--bundles FOLDER] [--only BUNDLE ...] [--all-configs] [--json FILE]

That the shipped bundles compile for GPUs that are not here: `tuneonce bundle compile` of each for sm_80, sm_90, sm_100 and
sm_120, by all of its variants that are for the target: its baselines, or all configs. Nothing is run. A target on which a
bundle's compilers refuse something, or that none of its variants is for, is a failure: exit code 1. Rows that the file has,
of other bundles, or of all configs where now only baselines were asked for, stay. Needs tileiras and NVRTC; no GPU.
"""
import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Dict, List

TARGETS = ("sm_80", "sm_90", "sm_100", "sm_120")


def compiled(program: str, bundle: Path, target: str, all_configs: bool) -> Dict[str, Any]:
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([program, "bundle", "compile", str(bundle), "--target", target, "--json", "-o", f"{folder}/ahead",
                               *([] if all_configs else ["--only-decided"])], capture_output=True, text=True)
    row: Dict[str, Any] = {"bundle": bundle.name, "target": target, "code": "all configs" if all_configs else "baselines"}
    if done.returncode != 0:
        return {**row, "failed": (done.stderr or done.stdout).strip()}
    of = json.loads(done.stdout)["targets"][0]
    return {**row, "configs": of["configs"], "images": of["compiled"] + of["machine_code_already"], "refused": of["refused"],
            "bytes": of["bytes"], "toolchains": of["toolchains"], "seconds": round(time.monotonic() - begin, 1)}


def is_kept(row: Dict[str, Any], new: Dict[str, Any]) -> bool:
    return (row["bundle"], row["target"]) != (new["bundle"], new["target"])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tuneonce", required=True)
    parser.add_argument("--bundles", type=Path, default=Path(__file__).resolve().parents[1] / "bundles")
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--all-configs", action="store_true")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rows: List[Dict[str, Any]] = []
    if options.json and options.json.exists():
        rows = json.loads(options.json.read_text())["rows"]
    has_failed = False
    for bundle in sorted(manifest.parent for manifest in options.bundles.glob("*/manifest.json")):
        if options.only and bundle.name not in options.only:
            continue
        for target in TARGETS:
            row = compiled(options.tuneonce, bundle, target, options.all_configs)
            has_failed |= "failed" in row or row["refused"] > 0
            print(*(f"{name}={value}" for name, value in row.items() if name != "toolchains"), flush=True)
            known = next((old for old in rows if not is_kept(old, row)), None)
            if known is None or options.all_configs or known["code"] == "baselines":
                rows = sorted([*(old for old in rows if is_kept(old, row)), row],
                              key=lambda row: (row["bundle"], TARGETS.index(row["target"])))
            if options.json:
                options.json.write_text(json.dumps({"rows": rows}, indent=1) + "\n")
    return 1 if has_failed else 0


if __name__ == "__main__":
    sys.exit(main())
