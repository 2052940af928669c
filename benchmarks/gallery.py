#!/usr/bin/env python3
"""gallery.py --bin FOLDER --out FOLDER [--device cuda] [--stop-after SECONDS] [--first N]

Runs the searches that docs/internal/gallery.md shows: each bundle at shapes of language models, by
`tuneonce tune --json --samples`, one file per search, written as soon as the search ends. FOLDER of --bin has the command. All end within --stop-after
(default 240 s): a search gets its share of what is left, and what it does not come to is part of what is shown. A
search that fails or does not end is said in a line and passed over; one whose file is there is not made again, so that
a run that was cut off goes on. Then

    tuneonce report FOLDER/*.json -o report.html
"""

import argparse
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
from typing import Any, Dict, List, Tuple

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
_BUNDLES = pathlib.Path(__file__).resolve().parent.parent / "bundles"
_MOST_S, _LEAST_S = 12.0, 2.0  # Of one search's budget.
_START_S = 2.0  # Beside its budget: the process, its context and its worker.
_LATE_S = 8.0  # So much later than that it is interrupted, and as much later again ended.


def shortened(value: Any) -> Any:
    """Numbers to six digits: no time is known better."""
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, list):
        return [shortened(each) for each in value]
    return {name: shortened(each) for name, each in value.items()} if isinstance(value, dict) else value


def run(command: List[str], most_s: float) -> Tuple[str, str]:
    """stdout, and why there is none. In files: who is ended may leave a child that keeps a pipe open."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as errors:
        try:
            process = subprocess.Popen(command, stdout=out, stderr=errors, start_new_session=True)
        except OSError as error:
            return "", str(error)
        late = ""
        for sent in (signal.SIGINT, signal.SIGKILL, None):
            try:
                process.wait(most_s)
                break
            except subprocess.TimeoutExpired:
                late, most_s = f"it did not end in {most_s:.0f} s", _LATE_S
                if sent is not None:
                    os.killpg(process.pid, sent)
        out.seek(0)
        errors.seek(0)
        said = errors.read().strip().splitlines()
        if process.returncode == 0:
            return out.read(), ""
        return "", " ".join(filter(None, [late, *said[-2:]])) or f"exit code {process.returncode}"


def tune(tuneonce: pathlib.Path, device: str, bundle: str, shape: List[str], budget_s: float) -> Tuple[Dict, str]:
    """The result, and why there is none."""
    command = [str(tuneonce), "tune", str(_BUNDLES / bundle), "--device", device, "--json", "--samples", "--quiet"]
    command += ["--budget", f"{max(1, round(budget_s))}s"]
    if device != "cpu":  # There the bundles' own small shapes are used.
        command += [part for each in shape for part in ("--shape", each)]
    printed, why = run(command, budget_s + _START_S + _LATE_S)
    if why:
        return {}, why
    try:
        return shortened(json.loads(printed)), ""
    except ValueError as error:
        return {}, f"its JSON is none: {error}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--stop-after", type=float, default=240)
    parser.add_argument("--first", type=int, default=len(_SEARCHES))
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    tuneonce = options.bin.resolve() / "tuneonce"
    _, why = run([str(tuneonce), "--version"], 30)
    if why:
        print(f"{tuneonce} does not run: {why}", file=sys.stderr)
        return 1
    began = time.monotonic()
    files = [options.out / f"{i:02d}_{bundle}.json" for i, (bundle, _) in enumerate(_SEARCHES[: options.first], 1)]
    missing = [file for file in files if not file.exists()]
    for i, file in enumerate(missing):
        bundle, text = _SEARCHES[files.index(file)]
        share_s = (began + options.stop_after - time.monotonic()) / (len(missing) - i) - _START_S
        if share_s < _LEAST_S / 2:
            print(f"out of time before {bundle} {text}")
            break
        result, why = tune(tuneonce, options.device, bundle, text.split(), min(_MOST_S, max(_LEAST_S, share_s)))
        if why:
            print(f"{bundle} {text}: {why}", file=sys.stderr, flush=True)
            continue
        part = file.with_suffix(".part")
        part.write_text(json.dumps(result, separators=(",", ":")) + "\n")
        part.replace(file)
        print(f"{time.monotonic() - began:6.1f} s  {file.name}  {text}", flush=True)
    made = [file for file in files if file.exists()]
    print(f"{len(made)} searches, {sum(file.stat().st_size for file in made) / 1e6:.1f} MB in {options.out}")
    return 0 if made else 1


if __name__ == "__main__":
    sys.exit(main())
