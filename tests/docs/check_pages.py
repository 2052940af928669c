#!/usr/bin/env python3
"""check_pages.py ROOT: lines have at most 120 columns, links lead somewhere, code blocks have a language; and a page
that a comment in the code cites is there."""

import pathlib
import re
import sys
from typing import Iterator, Set

from pages import Page, all_pages

_MOST_COLUMNS = 120
_LANGUAGES = {"cpp", "python", "sh", "json", "cmake", "text"}
_LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
# Paths in `code` that name a file of the tree: what begins with one of its folders.
_PATH = re.compile(r"`((?:docs|tests|benchmarks|scripts|cpu_device|cmake|bindings|tools)/[\w./-]+)`")
_CITED = re.compile(r"docs/(?:\w+/)*\w+\.(?:md|json)")
_CODE = {".h", ".cc", ".cu", ".py", ".pyi", ".cmake", ".sh", ".txt"}


def anchors(page: Page) -> Set[str]:
    """As GitHub makes them of headings."""
    result: Set[str] = set()
    for _, line in page.prose():
        heading = re.match(r"#+ +(.*)", line)
        if heading:
            text = re.sub(r"[`*]|\]\([^)]*\)|\[", "", heading.group(1)).lower()
            result.add(re.sub(r"[^\w\- ]", "", text).replace(" ", "-"))
    return result


def broken_link(root: pathlib.Path, page: Page, target: str) -> str:
    """What is wrong with a link, or ""."""
    if re.match(r"[a-z]+:", target):
        return ""
    path, _, anchor = target.partition("#")
    file = (root / page.name).parent / path if path else root / page.name
    if not file.exists():
        return f"there is no {path}"
    if (
        anchor
        and file.suffix == ".md"
        and anchor not in anchors(Page.read(root, str(file.resolve().relative_to(root))))
    ):
        return f"{path or page.name} has no heading #{anchor}"
    return ""


def mistakes(root: pathlib.Path, page: Page) -> Iterator[str]:
    for number, line in enumerate(page.lines, 1):
        if len(line) > _MOST_COLUMNS:
            yield f"{page.name}:{number}: {len(line)} columns, more than {_MOST_COLUMNS}"
    for number, line in page.prose():
        for target in _LINK.findall(line):
            problem = broken_link(root, page, target)
            if problem:
                yield f"{page.name}:{number}: the link ({target}) is broken: {problem}"
        for path in _PATH.findall(line):
            if not (root / path).exists():
                yield f"{page.name}:{number}: `{path}`: there is no such file"
    for block in page.blocks():
        if block.language not in _LANGUAGES:
            yield (
                f"{page.name}:{block.line - 1}: a code block needs a language, one of "
                f"{', '.join(sorted(_LANGUAGES))}; this one has '{block.language}'"
            )


def cited_in_code(root: pathlib.Path) -> Iterator[str]:
    """Mistakes in what code and scripts say of the documentation."""
    for area in (
        "include",
        "lib",
        "tools",
        "components",
        "cpu_device",
        "worker",
        "bindings",
        "benchmarks",
        "cmake",
        "scripts",
        "tests",
        "docs/examples",
    ):
        for file in sorted(path for path in (root / area).rglob("*") if path.suffix in _CODE):
            for number, line in enumerate(file.read_text(encoding="utf-8").split("\n"), 1):
                for cited in _CITED.findall(line) if file.parent.name != "docs" else ():
                    if not (root / cited).exists():
                        yield f"{file.relative_to(root)}:{number}: there is no {cited}"


def main() -> int:
    root = pathlib.Path(sys.argv[1]).resolve()
    pages = all_pages(root)
    found = []
    for page in pages:
        try:
            found += mistakes(root, page)
        except ValueError as error:
            found.append(str(error))
    for file in [*root.glob("docs/*.json"), root / "docs/Doxyfile"]:
        lines = Page.read(root, str(file.relative_to(root))).lines
        found += [
            f"{file.name}:{n}: {len(line)} columns" for n, line in enumerate(lines, 1) if len(line) > _MOST_COLUMNS
        ]
    found += cited_in_code(root)
    print("\n".join(found) or f"{len(pages)} pages are well")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
