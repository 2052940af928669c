#!/usr/bin/env python3
"""compile_bundles.py --tuneonce PROGRAM [--bundles FOLDER] [--only BUNDLE ...] [--all-configs] [--json FILE]

That the shipped bundles compile for GPUs that are not here: `tuneonce bundle compile` of each for sm_80, sm_90, sm_100 and
sm_120: all configs by all variants that are for the target, or the baselines and the first config of each back end, by the
first variant of each compiler, back end and dtype.
Nothing is run. A target for which a compiler refuses something is a failure: exit code 1. Rows of other bundles that the file
has stay, and those of all configs where now fewer were asked for. Needs tileiras and NVRTC; no GPU.
"""
import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Dict, List

TARGETS = ("sm_80", "sm_90", "sm_100", "sm_120")
ALL, FEW = "all", "few"


def with_few_configs(bundle: Path, folder: Path) -> Path:
    """A copy of the bundle whose space has its baselines and the first config of each back end, and of its variants the first
    of each compiler for each back end and dtype."""
    copy = folder / bundle.name
    shutil.copytree(bundle, copy)
    manifest = json.loads((copy / "manifest.json").read_text())
    baselines = manifest["baseline"] if isinstance(manifest["baseline"], list) else [{"config": manifest["baseline"]}]
    kept = [each["config"] for each in baselines]
    for config in manifest.get("configs", ()):
        if config["backend"] not in {each["backend"] for each in kept} or config in kept:
            kept.append(config)
    if "configs" in manifest:
        manifest["configs"] = [config for config in manifest["configs"] if config in kept]
    first: Dict[Any, Any] = {}
    for variant in manifest["variants"]:
        dtypes = [str(a["dtype"]) for a in variant.get("assumptions", ()) if "dtype" in a]
        first.setdefault((variant["source"], variant.get("backend", variant["name"]), *dtypes), variant)
    manifest["variants"] = list(first.values())
    (copy / "manifest.json").write_text(json.dumps(manifest))
    return copy


def compiled(program: str, bundle: Path, target: str, configs: str) -> Dict[str, Any]:
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        source = bundle if configs == ALL else with_few_configs(bundle, Path(folder))
        done = subprocess.run([program, "bundle", "compile", str(source), "--target", target, "--json", "-o", f"{folder}/ahead"],
                              capture_output=True, text=True)
    row: Dict[str, Any] = {"bundle": bundle.name, "target": target, "which": configs}
    if done.returncode != 0:
        return {**row, "failed": (done.stderr or done.stdout).strip()}
    of = json.loads(done.stdout)["targets"][0]
    return {**row, "configs": of["configs"], "images": of["compiled"] + of["machine_code_already"], "refused": of["refused"],
            "bytes": of["bytes"], "toolchains": of["toolchains"], "seconds": round(time.monotonic() - begin, 1)}


def added(rows: List[Dict[str, Any]], row: Dict[str, Any]) -> List[Dict[str, Any]]:
    same = [old for old in rows if (old["bundle"], old["target"]) == (row["bundle"], row["target"])]
    if row["which"] == FEW and any(old["which"] == ALL for old in same):
        return rows
    return sorted([*(old for old in rows if old not in same), row], key=lambda r: (r["bundle"], TARGETS.index(r["target"])))


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
            row = compiled(options.tuneonce, bundle, target, ALL if options.all_configs else FEW)
            has_failed |= "failed" in row or row["refused"] > 0
            print(*(f"{name}={value}" for name, value in row.items() if name != "toolchains"), flush=True)
            rows = added(rows, row)
            if options.json:
                options.json.write_text(json.dumps({"rows": rows}, indent=1) + "\n")
    return 1 if has_failed else 0


if __name__ == "__main__":
    sys.exit(main())
