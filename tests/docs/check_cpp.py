#!/usr/bin/env python3
"""check_cpp.py ROOT COMPILER FLAG...: every block of C++ in the pages compiles, also those that are not run.

All are one translation unit; errors name the page and its line. Only syntax, names, types and warnings are checked:
nothing is linked. run_cpp.py runs them.
"""

import pathlib
import subprocess
import sys

from cpp_blocks import source_of
from pages import all_pages


def main() -> int:
    root, compiler = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2:]
    source, num_blocks = '#include "names.h"\n', 0
    try:
        for number, page in enumerate(all_pages(root)):
            parts = source_of(page, only_run=False)
            num_blocks += len(parts)
            source += f"namespace page{number} {{\n{''.join(parts)}}}\n"
    except ValueError as error:
        print(error)
        return 1
    command = [*compiler, "-std=c++17", "-fsyntax-only", f"-I{pathlib.Path(__file__).parent}", "-xc++", "-"]
    result = subprocess.run(command, input=source, text=True, stderr=subprocess.PIPE)
    print(f"{result.stderr}{num_blocks} blocks: {'they compile' if result.returncode == 0 else 'NOT all compile'}")
    return 1 if result.returncode != 0 or num_blocks == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
