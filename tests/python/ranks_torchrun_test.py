#!/usr/bin/env python3
"""ranks_torchrun_test.py EXAMPLE BUNDLES [cpu|cuda]: docs/examples/ranks_torchrun.py with two ranks under torchrun: both run
one config, and compute the product. 77 without torch, or without two GPUs."""
import json
import os
import subprocess
import sys

try:
    import torch
except ImportError as error:
    print(f"SKIPPED: {error}")
    sys.exit(77)


def main() -> int:
    example, bundles, device = sys.argv[1], sys.argv[2], sys.argv[3] if len(sys.argv) > 3 else "cpu"
    if device == "cuda" and torch.cuda.device_count() < 2:
        print(f"SKIPPED: there are {torch.cuda.device_count()} GPUs, and two are needed")
        return 77
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--standalone",
               example, "--device", device]
    ran = subprocess.run(command, env=dict(os.environ, TUNEONCE_BUNDLES=bundles), capture_output=True, text=True, timeout=1200,
                         check=False)
    lines = [json.loads(line) for line in ran.stdout.splitlines() if line.startswith("{")]
    print(ran.stdout, ran.stderr, sep="\n")
    assert ran.returncode == 0, ran.returncode
    assert sorted(line["rank"] for line in lines) == [0, 1], lines
    assert len({(line["config"], line["variant"]) for line in lines}) == 1, lines
    assert all(line["from_graph"] == (device == "cuda") for line in lines), lines
    return 0


if __name__ == "__main__":
    sys.exit(main())
