#!/usr/bin/env python3
"""check_cpp.py ROOT COMPILER FLAG...: every block of C++ in the pages compiles.

All blocks of a page are one translation unit, each a function of its own, after the names of tests/docs/names.h; errors
name the page and its line. A block that is marked `declarations` stands outside of any function, and counts for those
after it. Only the syntax is checked (and types, names, warnings): nothing is linked.
"""
import pathlib
import subprocess
import sys
from typing import List

from pages import Page, all_pages


def translation_unit(page: Page) -> str:
    """The page's blocks as one source; empty if there are none."""
    parts: List[str] = []
    for block in page.blocks():
        if block.language != "cpp" or block.mark.startswith("file "):  # A file of its own is another block's business.
            continue
        located = f'#line {block.line} "{page.name}"\n{block.text}'
        if block.mark == "declarations":
            parts.append(located)
        else:
            # For blocks that return a Status, with TUNEONCE_RETURN_IF_ERROR, say.
            parts.append(f"[[maybe_unused]] static Status Block{block.line}() {{\n{{\n{located}}}\nreturn Status();\n}}\n")
    return '#include "names.h"\n' + "".join(parts) if parts else ""


def main() -> int:
    root, compiler = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2:]
    failed = compiled = 0
    for page in all_pages(root):
        source = translation_unit(page)
        if not source:
            continue
        compiled += 1
        result = subprocess.run([*compiler, "-std=c++17", "-fsyntax-only", f"-I{pathlib.Path(__file__).parent}", "-xc++", "-"],
                                input=source, text=True, stderr=subprocess.PIPE)
        if result.returncode != 0:
            failed += 1
            print(result.stderr, end="")
    print(f"{compiled} pages have C++; that of {failed} does not compile")
    return 1 if failed or not compiled else 0


if __name__ == "__main__":
    sys.exit(main())
