"""The documentation as data: its pages, and the code blocks in them.

What a block is checked for goes by its language (cpp, python, sh, json, cmake; text: nothing) and by a comment on the
line above it, if there is one:

    <!-- test: declarations -->      cpp: stands outside of any function (default: inside of one)
    <!-- test: not run: REASON -->   cpp: only compiled (default: also run, on the CPU device)
    <!-- test: file scale.py -->     written to that file, which later blocks of the page use
    <!-- test: needs torch -->       python: only parsed where that module cannot be imported, or there is no GPU
"""

import dataclasses
import pathlib
import re
from typing import Iterator, List

_SKIPPED = {"build", ".deps", ".git", "third_party"}
_FENCE = re.compile(r"^( *)(```+)\s*(\S*)\s*$")
_MARK = re.compile(r"^<!-- test: (.*) -->$")


@dataclasses.dataclass
class Block:
    language: str
    mark: str  # What stands above it: "declarations"; empty without one.
    line: int  # Of its first line of code, from 1.
    text: str


@dataclasses.dataclass
class Page:
    name: str  # Relative to the root: "docs/cpp.md".
    lines: List[str]

    @staticmethod
    def read(root: pathlib.Path, name: str) -> "Page":
        return Page(name, (root / name).read_text(encoding="utf-8").split("\n"))

    def blocks(self) -> Iterator[Block]:
        number = 0
        while number < len(self.lines):
            opening = _FENCE.match(self.lines[number])
            if opening is None:
                number += 1
                continue
            mark = _MARK.match(self.lines[number - 1]) if number > 0 else None
            first = number = number + 1
            while number < len(self.lines) and self.lines[number].strip() != opening.group(2):
                number += 1
            if number == len(self.lines):
                raise ValueError(f"{self.name}:{first}: this code block has no end")
            indent = len(opening.group(1))
            text = "".join(line[indent:] + "\n" for line in self.lines[first:number])
            yield Block(opening.group(3), mark.group(1) if mark else "", first + 1, text)
            number += 1

    def prose(self) -> Iterator[tuple]:
        """(number, line) of the lines that are in no code block."""
        inside = False
        for number, line in enumerate(self.lines, 1):
            if _FENCE.match(line):
                inside = not inside
            elif not inside:
                yield number, line


def all_pages(root: pathlib.Path) -> List[Page]:
    names = [path.relative_to(root) for path in sorted(root.rglob("*.md"))]
    pages = [Page.read(root, str(name)) for name in names if not _SKIPPED.intersection(name.parts)]
    if len(pages) < 5:
        raise ValueError(f"only {len(pages)} pages under {root}: a wrong folder?")
    return pages
