#!/usr/bin/env python3
"""run_cpp.py ROOT PROGRAM: the blocks of C++ of the documentation run, and return OK.

PROGRAM (docs_blocks) has all that are not marked `not run: REASON`. Each runs on the CPU device, in a process of its
own and in an empty folder, with a store in memory. The blocks of planted_blocks.txt must fail, as it states.
"""

import os
import pathlib
import subprocess
import sys
import tempfile
from typing import Dict, Tuple

_PLANTED = pathlib.Path(__file__).parent / "planted_blocks.txt"


def run(program: str, page: str, line: str, environment: Dict[str, str]) -> Tuple[bool, str]:
    with tempfile.TemporaryDirectory() as folder:
        result = subprocess.run([program, page, line], cwd=folder, env=environment, text=True, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT)
    killed = f"it was killed by signal {-result.returncode}\n" if result.returncode < 0 else ""
    return result.returncode == 0, result.stdout + killed


def main() -> int:
    root, program = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2]
    environment = {**os.environ, "TUNEONCE_STORE": "memory", "TUNEONCE_BUNDLES": str(root / "bundles")}
    environment.pop("DISABLE_AUTOTUNE", None)
    planted = _PLANTED.read_text().split("\n")
    listed = subprocess.run([program], text=True, stdout=subprocess.PIPE, check=True).stdout.splitlines()
    failed, num_planted = 0, 0
    for page, line in (entry.split() for entry in listed):
        is_ok, printed = run(program, page, line, environment)
        if page == "planted":
            num_planted += 1
            expected = planted[int(line) - 3]
            if is_ok or expected not in printed:
                failed += 1
                print(f"{_PLANTED.name}:{line}: did not fail with '{expected}':\n{printed}")
        elif not is_ok:
            failed += 1
            print(f"{page}:{line}: this block fails when it is run:\n{printed}")
    print(f"{len(listed) - num_planted} blocks were run, next to {num_planted} planted ones; {failed} mistakes")
    return 1 if failed or num_planted == 0 or len(listed) == num_planted else 0


if __name__ == "__main__":
    sys.exit(main())
