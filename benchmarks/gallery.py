#!/usr/bin/env python3
"""gallery.py --bin FOLDER --out FOLDER [--device cuda] [--stop-after SECONDS] [--first N]

The searches that docs/gallery.md shows: each bundle at shapes of language models, by `tuneonce tune --json --samples`,
one file per search, and all records as records.json. FOLDER of --bin has the command. A search that fails is said and
passed over; after --stop-after (default 95 s) no other is begun. Then

    tuneonce report FOLDER/*.json -o report.html
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import time
from typing import Any, List, Tuple

# The nine families' bundles first, then the rest, then other shapes: what there is no time for is the least missed.
_SEARCHES: List[Tuple[str, str]] = [
    ("matmul", "M=4096 N=4096 K=4096"),
    ("softmax", "M=4096 N=4096"),
    ("elementwise", "N=16777216"),
    ("rope", "T=4096 H=32"),
    ("persistent_matmul", "M=4096 N=4096 K=4096"),
    ("attention", "B=2 H=32 G=8 S=4096 T=4096 D=128 causal=1"),
    ("fp8_matmul", "M=4096 N=4096 K=4096"),
    ("grouped_gemm", "T=4096 E=8 OFFSETS=9 K=4096 N=14336"),
    ("varlen_attention", "T=8192 OFFSETS=17 H=32 G=8 D=128 causal=1"),
    ("dual_gemm", "M=128 N=14336 K=4096"),
    ("rms_norm", "M=4096 N=4096"),
    ("layer_norm", "M=4096 N=4096"),
    ("silu_and_mul", "M=4096 N=14336 N2=28672"),
    ("decode_attention", "B=8 C=8192 H=32 G=8 D=128"),
    ("fp8_block_matmul", "M=4096 N=4096 K=4096 NB=32 KB=32"),
    ("vector_add", "N=4194304"),
    ("matmul", "M=16 N=14336 K=4096"),
    ("matmul", "M=128 N=4096 K=14336"),
    ("matmul", "M=1024 N=1024 K=1024"),
    ("softmax", "M=128 N=32768"),
    ("rms_norm", "M=16 N=8192"),
    ("elementwise", "N=65536"),
    ("rope", "T=32 H=32"),
    ("layer_norm", "M=32768 N=1024"),
    ("fp8_matmul", "M=16 N=14336 K=4096"),
    ("attention", "B=4 H=16 G=16 S=1024 T=1024 D=64 causal=0"),
    ("decode_attention", "B=64 C=2048 H=32 G=8 D=128"),
    ("silu_and_mul", "M=16 N=14336 N2=28672"),
]
_BUDGET = "12s"  # Of one search; what it does not come to is part of what is shown.


def shortened(value: Any) -> Any:
    """Numbers to six digits: no time is known better."""
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, list):
        return [shortened(each) for each in value]
    return {name: shortened(each) for name, each in value.items()} if isinstance(value, dict) else value


def tune(tuneonce: pathlib.Path, device: str, store: pathlib.Path, bundle: str, shape: List[str]) -> Any:
    """The result; a str says why there is none."""
    command = [
        str(tuneonce),
        "tune",
        bundle,
        "--device",
        device,
        "--json",
        "--samples",
        "--quiet",
        "--budget",
        _BUDGET,
        "--retune",
        "--store",
        str(store),
    ]
    if device != "cpu":  # There the bundles' own small shapes are used.
        command += [part for each in shape for part in ("--shape", each)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        return done.stderr.strip()
    return shortened(json.loads(done.stdout))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--stop-after", type=float, default=95)
    parser.add_argument("--first", type=int, default=len(_SEARCHES))
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    tuneonce = options.bin.resolve() / "tuneonce"
    began = time.monotonic()
    made = 0
    with tempfile.TemporaryDirectory() as folder:  # The store has the code, too, which is not wanted.
        store = pathlib.Path(folder) / "store" / "gallery.db"
        for bundle, text in _SEARCHES[: options.first]:
            if time.monotonic() - began > options.stop_after:
                print(f"out of time before {bundle} {text}")
                break
            result = tune(tuneonce, options.device, store, bundle, text.split())
            if isinstance(result, str):
                print(f"{bundle} {text}: {result}", file=sys.stderr)
                continue
            made += 1
            name = f"{made:02d}_{bundle}.json"
            (options.out / name).write_text(json.dumps(result, separators=(",", ":")) + "\n")
            print(f"{time.monotonic() - began:6.1f} s  {name}  {text}", flush=True)
        subprocess.run(
            [str(tuneonce), "records", "export", "--store", str(store), "-o", str(options.out / "records.json")],
            check=True,
        )
    total = sum(each.stat().st_size for each in options.out.glob("*.json"))
    print(f"{made} searches, {total / 1e6:.1f} MB in {options.out}")
    return 0 if made > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
