#!/usr/bin/env python3
"""check_left_out.py TESTS: prints each pattern of TESTS/sanitized.cmake that names no test there, and fails if one does.

A test that was renamed would otherwise run in the sanitizer presets again, unnoticed but for their time.
"""

import fnmatch
import pathlib
import re
import sys


def main() -> int:
    tests = pathlib.Path(sys.argv[1])
    of_suite = re.compile(r"^TEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\s*\)", re.MULTILINE)
    names = {".".join(test) for file in tests.rglob("*.cc") for test in of_suite.findall(file.read_text())}
    patterns = re.findall(r"^    ([^\s)]+)", (tests / "sanitized.cmake").read_text(), re.MULTILINE)
    # An instantiation's name stands before a suite's, and a parameter's behind a test's.
    of_test = {pattern: re.sub(r"^\*/|(?<=\w)/.*$", "", pattern) for pattern in patterns}
    unknown = [pattern for pattern, test in of_test.items() if not fnmatch.filter(names, test)]
    for pattern in unknown:
        print(f"tests/sanitized.cmake: {pattern} names no test: rename it as its test, or remove it")
    return 1 if unknown or not patterns else 0


if __name__ == "__main__":
    sys.exit(main())
