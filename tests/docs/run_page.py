#!/usr/bin/env python3
"""run_page.py ROOT BIN [PAGE] [--no-package]: runs a page's blocks of Python and shell in their order.

Without PAGE: of all pages, each in a process of its own. They run on the CPU device, in an empty folder in which `docs`
and `benchmarks` are the tree's, with a store in memory. Blocks of Python share one namespace, which begins with that of
tests/docs/names.py. Blocks of JSON and CMake are parsed.
"""

import argparse
import ast
import json
import os
import pathlib
import subprocess
import sys
import tempfile
from typing import Any, Dict

from pages import Block, Page, all_pages
from shell_command import ShellCommand


def run_python(page: Page, block: Block, names: Dict[str, Any], has_package: bool) -> None:
    padded = "\n" * (block.line - 1) + block.text  # So that a traceback has the page's line.
    ast.parse(padded, page.name)
    if not has_package or block.mark.startswith("needs "):
        return
    if not names:
        import names as given  # noqa: PLC0415

        names.update(vars(given))
    exec(compile(padded, page.name, "exec"), names)  # noqa: S102


def run_block(page: Page, block: Block, names: Dict[str, Any], shell: ShellCommand, has_package: bool) -> None:
    if block.mark.startswith("file "):
        file = pathlib.Path(block.mark[len("file ") :])
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(block.text)
    if block.language == "python":
        if block.mark.startswith("file "):
            ast.parse(block.text)
        else:
            run_python(page, block, names, has_package)
    elif block.language == "sh":
        for number, line in shell.lines(block.text):
            problem = shell.check(line)
            if problem:
                raise ValueError(f"line {block.line + number}: {line}: {problem}")
    elif block.language == "json":
        json.loads(block.text)
    elif block.language == "cmake":
        script = pathlib.Path("block.cmake")
        script.write_text(f"if(FALSE)\n{block.text}endif()\n")
        subprocess.run(["cmake", "-P", str(script)], check=True)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("root", type=lambda path: pathlib.Path(path).resolve())
    parser.add_argument("bin", type=lambda path: pathlib.Path(path).resolve())
    parser.add_argument("page", nargs="?")
    parser.add_argument(
        "--no-package", action="store_true", help="the Python package was not built: its blocks are parsed"
    )
    arguments = parser.parse_args()
    if arguments.page is None:
        again = [sys.executable, __file__, str(arguments.root), str(arguments.bin)]
        options = ["--no-package"] if arguments.no_package else []
        pages = [page.name for page in all_pages(arguments.root)]
        failed = [name for name in pages if subprocess.run([*again, name, *options]).returncode != 0]
        return 1 if failed else 0
    page = Page.read(arguments.root, arguments.page)
    os.environ["TUNEONCE_STORE"] = "memory"
    os.environ.pop("DISABLE_AUTOTUNE", None)
    shell = ShellCommand(arguments.root, arguments.bin, has_package=not arguments.no_package)
    names: Dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for name in ("docs", "benchmarks", "scripts", "tests"):
            os.symlink(arguments.root / name, name)
        for block in page.blocks():
            try:
                run_block(page, block, names, shell, has_package=not arguments.no_package)
            except Exception as error:  # noqa: BLE001
                print(f"{page.name}:{block.line}: {type(error).__name__}: {error}", flush=True)
                return 1
        os.chdir("/")
    print(
        f"{page.name}: {shell.num_run} commands were run, {shell.num_checked} checked by their options or files",
        flush=True,
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
