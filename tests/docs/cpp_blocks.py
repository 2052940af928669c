"""The documentation's blocks of C++ as functions: those that check_cpp.py compiles, and make_blocks.py has run.

A namespace per page, in it a function per block, after the names of names.h. A block that is marked `declarations`
stands outside of any function, and counts for those after it on its page.
"""

from typing import List

from pages import Block, Page

_NOT_RUN = "not run: "


def is_of_cpp(block: Block) -> bool:
    """A file of its own is another block's business."""
    return block.language == "cpp" and not block.mark.startswith("file ")


def is_run(page: Page, block: Block) -> bool:
    """By default a block is run; <!-- test: not run: REASON --> exempts it."""
    if block.mark in ("", "declarations"):
        return block.mark == ""
    if not block.mark.startswith(_NOT_RUN) or not block.mark[len(_NOT_RUN) :].strip():
        raise ValueError(f"{page.name}:{block.line - 2}: '{block.mark}' is no mark of a block of C++: 'declarations', "
                         "'file NAME' or 'not run: REASON'")
    return False


def source_of(page: Page, only_run: bool) -> List[str]:
    """One part per block."""
    parts: List[str] = []
    for block in filter(is_of_cpp, page.blocks()):
        runs = is_run(page, block)
        located = f'#line {block.line} "{page.name}"\n{block.text}'
        if block.mark != "declarations":
            if only_run and not runs:
                continue
            # Of a Status, for blocks with TUNEONCE_RETURN_IF_ERROR.
            located = f"[[maybe_unused]] static Status Block{block.line}() {{\n{{\n{located}}}\nreturn Status();\n}}\n"
        parts.append(located)
    return parts
