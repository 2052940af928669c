#!/usr/bin/env python3
"""make_blocks.py ROOT MISTAKES OUTPUT: writes the C++ source of all blocks that are run, for docs_blocks.

MISTAKES (planted_blocks.txt) has blocks that must fail, in the form of a page. Files of the machine that blocks name
("/var/lib/engine/tuned.db") become files of the folder in which a block runs.
"""

import pathlib
import re
import sys
from typing import List

from cpp_blocks import is_of_cpp, is_run, source_of
from pages import Page, all_pages

_OF_MACHINE = re.compile(r'"/(?=(?:etc|opt|srv|var)/)')


def source(pages: List[Page]) -> str:
    text, entries = '#include "block_runner.h"\n', ""
    for number, page in enumerate(pages):
        parts = "".join(source_of(page, only_run=True))
        text += f"namespace page{number} {{\n{_OF_MACHINE.sub(chr(34) + './', parts)}}}\n"
        for block in filter(is_of_cpp, page.blocks()):
            if is_run(page, block):
                entries += f'    {{"{page.name}", {block.line}, page{number}::Block{block.line}}},\n'
    table = f"static const std::vector<DocsBlock> all = {{\n{entries}}};\nreturn all;\n"
    return f"{text}const std::vector<DocsBlock>& DocsBlocks() {{\n{table}}}\n"


def main() -> int:
    root, planted, output = (pathlib.Path(argument) for argument in sys.argv[1:])
    pages = all_pages(root.resolve())
    pages.append(Page("planted", planted.read_text(encoding="utf-8").split("\n")))
    text = source(pages)
    if not output.exists() or output.read_text() != text:  # A page's prose is no reason to compile.
        output.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
