#!/usr/bin/env python3
"""check_reference.py ROOT: docs/reference.md lists every public header, status code and environment variable."""

import pathlib
import re
import sys
from typing import Iterator, List, Set

_HEADER_FOLDERS = ("include/tuneonce", "include/tuneonce/plugin", "tools/include/tuneonce",
                   "components/redis/include/tuneonce", "components/mpi/include/tuneonce")
_ROW = re.compile(r"^\| (.*?) \| (.*) \|$")
_CODE = re.compile(r"`([^`]+)`")
_VARIABLE_READ = re.compile(r'(?:->Get\w*\(|, )"([A-Z][A-Z0-9_]+)"')


def section(page: str, heading: str) -> List["re.Match[str]"]:
    """The rows of the table under a heading."""
    text = page.split(f"\n## {heading}\n", 1)
    return [row for row in map(_ROW.match, text[1].split("\n## ")[0].split("\n")) if row] if len(text) == 2 else []


def first_cells(rows: List["re.Match[str]"]) -> Set[str]:
    return {name for row in rows for name in _CODE.findall(row[1])}


def difference(what: str, listed: Set[str], existing: Set[str], not_listed: Set[str]) -> Iterator[str]:
    """`existing` must be listed; beyond them `not_listed` names what may be."""
    for name in sorted(existing - listed):
        yield f"docs/reference.md does not list the {what} {name}: add a row"
    for name in sorted(listed - existing - not_listed):
        yield f"docs/reference.md lists the {what} {name}, which does not exist: remove it"


def header_mistakes(root: pathlib.Path, page: str) -> Iterator[str]:
    files = [file for folder in _HEADER_FOLDERS for file in (root / folder).glob("*.h")]
    headers = {file.name: file.read_text(encoding="utf-8") for file in files}
    plugins = {file.name for file in (root / "include/tuneonce/plugin").glob("*.h")}
    of_host, of_plugin = section(page, "Headers of a host"), section(page, "Headers of an extension")
    yield from difference("header", first_cells(of_host[1:]), set(headers) - plugins, set())
    yield from difference("header", first_cells(of_plugin[1:]), plugins, set())
    for row in [*of_host[1:], *of_plugin[1:]]:
        for header in first_cells([row]) & set(headers):
            for name in _CODE.findall(row[2]):
                if not re.search(rf"\b{name.rstrip(':')}\b", headers[header]):
                    yield f"docs/reference.md: {header} does not declare {name}"


def mistakes(root: pathlib.Path) -> Iterator[str]:
    page = (root / "docs/reference.md").read_text(encoding="utf-8")
    yield from header_mistakes(root, page)
    codes = (root / "include/tuneonce/result.h").read_text().split("enum class StatusCode {", 1)[1].split("\n};", 1)[0]
    yield from difference("status code", first_cells(section(page, "Status codes")),
                          set(re.findall(r"^  (k[A-Z]\w*),", codes, re.MULTILINE)), set())
    # The command's colours, and variables of the exporters.
    others = {"NO_COLOR", "TERM", "TILEIR_ENABLE_FTZ", "TILEIR_ENABLE_APPROX"}
    reader = (root / "lib/base/environment.cc").read_text().split("Environment ReadAll", 1)[1]
    yield from difference("variable", first_cells(section(page, "Environment variables")),
                          set(_VARIABLE_READ.findall(reader)), others)


def main() -> int:
    found = list(mistakes(pathlib.Path(sys.argv[1])))
    print("\n".join(found) or "docs/reference.md is complete")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
