#!/usr/bin/env python3
"""Where the axes num_worker_warps and opt-level pay: each bundle's Tile IR configs against the same configs with the
axis, each side tuned and then raced by `tuneonce compare`.

tile_hint_axes.py --tuneonce PROGRAM --bundles FOLDER --json FILE [--only NAME ...] [--axis AXIS ...] [--check TARGET]

Needs a GPU and tileiras. A speedup is the time without the axis divided by that with it, with its 95 % interval: the
axis pays where the interval lies above 1. With --check nothing is measured and no GPU is needed: the bundles are planned for
the target (sm_90), which shows that their code takes the axes.
"""
import argparse
import copy
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
from typing import Any, Dict, List

from tile_cpp_bundles import compare

# Beside what a bundle does without the axis: the compiler's own choice of worker warps, and level 3.
AXES = {"num_worker_warps": {"kind": "hint", "values": [4, 8, 16]},
        "opt-level": {"kind": "option", "values": [3, 2, 1]}}
# One shape each that is limited by memory, by arithmetic, or by latency, as the kernel has them.
SHAPES = {
    "attention": ["S=4096 T=4096 B=2 H=32 G=8 D=128", "S=2048 T=2048 B=1 H=32 G=8 D=64"],
    "decode_attention": [""],
    "dual_gemm": [""],
    "elementwise": [""],
    "fp8_block_matmul": [""],
    "fp8_matmul": [""],
    "grouped_gemm": [""],
    "layer_norm": [""],
    "matmul": ["M=4096 N=4096 K=4096", "M=16 N=4096 K=4096"],
    "paged_attention": [""],
    "persistent_matmul": [""],
    "rms_norm": ["M=4096 N=4096", "M=64 N=4096"],
    "rope": [""],
    "silu_and_mul": [""],
    "softmax": ["M=4096 N=1024", "M=4096 N=16384"],
    "split_k_matmul": [""],
    "varlen_attention": [""],
    "vector_add": ["N=67108864"],
}  # "": the bundle's example.


def with_axis(bundle: pathlib.Path, folder: pathlib.Path, axis: str) -> pathlib.Path:
    """A copy of the bundle's Tile IR configs, each with all values of the axis; none without an axis of this name."""
    target = folder / (axis or "plain") / bundle.name
    shutil.copytree(bundle, target)  # A bundle's files may be no links to others.
    manifest = json.loads((bundle / "manifest.json").read_text())
    values = AXES[axis]["values"] if axis else [None]

    def extended(config: Dict[str, Any], value: Any) -> Dict[str, Any]:
        return {**config, axis: value} if axis else config

    configs: List[Dict[str, Any]] = [each for each in manifest["configs"] if each["backend"] == "tile"]
    manifest["configs"] = [extended(config, value) for config in configs for value in values]
    manifest["max_configs"] = len(manifest["configs"])
    if axis == "opt-level":  # It may change results, so that a kernel without a tolerance is refused.
        manifest.setdefault("tolerance", {"absolute": 1e-2, "relative": 1e-2})
    if axis:
        manifest["axes"].append({"name": axis, **copy.deepcopy(AXES[axis])})
    for field in ("baseline", "fallback"):
        if isinstance(manifest.get(field), list):
            manifest[field] = [{**each, "config": extended(each["config"], values[0])} for each in manifest[field]
                               if each["config"]["backend"] == "tile"]
        elif field in manifest:
            manifest[field] = extended(manifest[field], values[0])
    (target / "manifest.json").write_text(json.dumps(manifest, indent=1))
    return target


def check(options: argparse.Namespace, bundle: pathlib.Path) -> Dict[str, Any]:
    command = [options.tuneonce, "bundle", "compile", str(bundle), "--target", options.check, "--dry-run", "--json",
               "-o", str(bundle) + ".out"]
    done = subprocess.run(command, capture_output=True, text=True)
    return {"rc": done.returncode, "error": done.stderr[-300:]} if done.returncode else {"rc": 0}


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--tuneonce", required=True)
    parser.add_argument("--bundles", type=pathlib.Path, required=True)
    parser.add_argument("--json", type=pathlib.Path, required=True)
    parser.add_argument("--only", nargs="*", default=list(SHAPES))
    parser.add_argument("--axis", nargs="*", default=list(AXES), choices=list(AXES))
    parser.add_argument("--check", metavar="TARGET")
    options = parser.parse_args()
    rows: List[Dict[str, Any]] = []
    is_right = True
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for bundle in options.only:
            plain = with_axis(options.bundles / bundle, folder, "")
            for axis in options.axis:
                extended = with_axis(options.bundles / bundle, folder, axis)
                for shape in [""] if options.check else SHAPES[bundle]:
                    row = (check(options, extended) if options.check else
                           compare(options, f"{plain}:tile", f"{extended}:tile", shape))
                    is_right &= row.get("rc", 0) == 0
                    rows.append({"bundle": bundle, "axis": axis, **row})
                    print(json.dumps(rows[-1]), flush=True)
                    options.json.write_text(json.dumps({"rows": rows}, indent=1))
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main())
