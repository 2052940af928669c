#!/usr/bin/env python3
"""check_cpp.py ROOT COMPILER FLAG...: every block of C++ in the pages compiles.

All are one translation unit: a namespace per page, in it a function per block, after the names of tests/docs/names.h;
errors name the page and its line. A block that is marked `declarations` stands outside of any function, and counts for
those after it on its page. Only syntax, names, types and warnings are checked: nothing is linked.
"""

import pathlib
import subprocess
import sys
from typing import List

from pages import Page, all_pages


def source_of(page: Page) -> List[str]:
    """One part per block."""
    parts: List[str] = []
    for block in page.blocks():
        if block.language != "cpp" or block.mark.startswith("file "):  # A file of its own is another block's business.
            continue
        located = f'#line {block.line} "{page.name}"\n{block.text}'
        if block.mark != "declarations":
            # Of a Status, for blocks with TUNEONCE_RETURN_IF_ERROR.
            located = f"[[maybe_unused]] static Status Block{block.line}() {{\n{{\n{located}}}\nreturn Status();\n}}\n"
        parts.append(located)
    return parts


def main() -> int:
    root, compiler = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2:]
    source, num_blocks = '#include "names.h"\n', 0
    for number, page in enumerate(all_pages(root)):
        parts = source_of(page)
        num_blocks += len(parts)
        source += f"namespace page{number} {{\n{''.join(parts)}}}\n"
    command = [*compiler, "-std=c++17", "-fsyntax-only", f"-I{pathlib.Path(__file__).parent}", "-xc++", "-"]
    result = subprocess.run(command, input=source, text=True, stderr=subprocess.PIPE)
    print(f"{result.stderr}{num_blocks} blocks: {'they compile' if result.returncode == 0 else 'NOT all compile'}")
    return 1 if result.returncode != 0 or num_blocks == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
