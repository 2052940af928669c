#!/usr/bin/env python3
"""compile_bundles.py --tuneonce PROGRAM [--bundles FOLDER] [--only BUNDLE ...] [--configs few|structural|all]
                   [--variant NAME] [--json FILE]

Shows that the shipped bundles compile for GPUs that are not here: `tuneonce bundle compile` of each for sm_80, sm_90, sm_100
and sm_120. Nothing is run.

--configs all: all configs by all variants that are for the target. structural: the first of the configs that differ in hints
alone. few (default): the baselines and the first config of each back end, by the first variant of each compiler, back end and
dtype. --variant: only the variants that `tuneonce bundle compile --variant` selects; bundles without such a variant are passed
over.

A target for which a compiler refuses something is a failure: exit code 1. Rows of other bundles and variants that the file has
stay, and so do those of more configs than now asked for. Needs tileiras and NVRTC.
"""
import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Dict, List, Optional

TARGETS = ("sm_80", "sm_90", "sm_100", "sm_120")
ALL, STRUCTURAL, FEW = "all", "structural", "few"
CONFIGS = (FEW, STRUCTURAL, ALL)  # By how many.


def with_structural_configs(manifest: Dict[str, Any]) -> None:
    """Keeps the baselines and the first config of each combination of structural values."""
    structural = [axis["name"] for axis in manifest.get("axes", ()) if axis.get("kind", "structural") == "structural"]
    first: Dict[Any, Any] = {}
    for config in manifest.get("configs", ()):
        first.setdefault(tuple(config[name] for name in structural), config)
    baselines = manifest["baseline"] if isinstance(manifest["baseline"], list) else [{"config": manifest["baseline"]}]
    kept = [*first.values(), *(each["config"] for each in baselines)]
    if "configs" in manifest:
        manifest["configs"] = [config for config in manifest["configs"] if config in kept]


def with_few_configs(manifest: Dict[str, Any]) -> None:
    """Keeps the baselines and the first config of each back end, and of the variants the first of each compiler for each back
    end and dtype."""
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


def has_variant(bundle: Path, name: str) -> bool:
    names = [variant["name"] for variant in json.loads((bundle / "manifest.json").read_text())["variants"]]
    return any(each == name or each.startswith(name + "_") for each in names)


def commit(folder: Path) -> str:
    """The commit that is checked out, with `-dirty` if the folder differs from it."""
    def git(*words: str) -> str:
        return subprocess.run(["git", "-C", str(folder), *words], capture_output=True, text=True).stdout.strip()
    return git("rev-parse", "--short", "HEAD") + ("-dirty" if git("status", "--porcelain", ".") else "")


def compiled(program: str, bundle: Path, target: str, configs: str, variant: Optional[str]) -> Dict[str, Any]:
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        source = bundle
        if configs != ALL:
            source = Path(shutil.copytree(bundle, Path(folder) / bundle.name))
            manifest = json.loads((source / "manifest.json").read_text())
            with_few_configs(manifest) if configs == FEW else with_structural_configs(manifest)
            (source / "manifest.json").write_text(json.dumps(manifest))
        only = ["--variant", variant] if variant else []
        done = subprocess.run([program, "bundle", "compile", str(source), "--target", target, "--json", "-o", f"{folder}/ahead",
                               *only], capture_output=True, text=True)
    row: Dict[str, Any] = {"bundle": bundle.name, "target": target, "which": configs}
    if variant:
        row["variant"] = variant
    row.update(date=time.strftime("%Y-%m-%d", time.gmtime()), commit=commit(bundle))
    if done.returncode != 0:
        return {**row, "failed": (done.stderr or done.stdout).strip()}
    of = json.loads(done.stdout)["targets"][0]
    return {**row, "configs": of["configs"], "images": of["compiled"] + of["machine_code_already"], "refused": of["refused"],
            "bytes": of["bytes"], "toolchains": of["toolchains"], "seconds": round(time.monotonic() - begin, 1)}


def added(rows: List[Dict[str, Any]], row: Dict[str, Any]) -> List[Dict[str, Any]]:
    same = [old for old in rows if all(old.get(name) == row.get(name) for name in ("bundle", "target", "variant"))]
    if any(CONFIGS.index(old["which"]) > CONFIGS.index(row["which"]) for old in same):
        return rows
    return sorted([*(old for old in rows if old not in same), row], key=lambda r: (r["bundle"], TARGETS.index(r["target"])))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tuneonce", required=True)
    parser.add_argument("--bundles", type=Path, default=Path(__file__).resolve().parents[1] / "bundles")
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--configs", choices=CONFIGS, default=FEW)
    parser.add_argument("--variant")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rows: List[Dict[str, Any]] = []
    if options.json and options.json.exists():
        rows = json.loads(options.json.read_text())["rows"]
    has_failed = False
    for bundle in sorted(manifest.parent for manifest in options.bundles.glob("*/manifest.json")):
        if options.only and bundle.name not in options.only or options.variant and not has_variant(bundle, options.variant):
            continue
        for target in TARGETS:
            row = compiled(options.tuneonce, bundle, target, options.configs, options.variant)
            has_failed |= "failed" in row or row["refused"] > 0
            print(*(f"{name}={value}" for name, value in row.items() if name != "toolchains"), flush=True)
            rows = added(rows, row)
            if options.json:
                options.json.write_text(json.dumps({"rows": rows}, indent=1) + "\n")
    return 1 if has_failed else 0


if __name__ == "__main__":
    sys.exit(main())
