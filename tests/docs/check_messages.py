#!/usr/bin/env python3
"""check_messages.py ROOT: scripts/messages finds messages in every form, and a tree with a changed one fails."""

import pathlib
import subprocess
import sys
import tempfile
from typing import List

# C++ code, and the texts that are listed for it.
_SPECIMENS = [
    ('return InvalidArgumentError("too long");', ["too long"]),
    ('return InvalidArgumentError(absl::StrCat("axis \'", name, "\' has ", n, " values"));',
     ["axis '<...>' has <...> values"]),
    ('Warn("kernel \'" + name() + "\': it is "\n     "slow");', ["kernel '<...>': it is slow"]),
    ('PrintLine("%s, %d %% of all", name, n);', ["<...>, <...> % of all"]),
    ('error.WithPrefix("reference");', ["reference"]),
    ('std::string why = is_cpu ? "the CPU device has none" : "the GPU is too old";',
     ["the CPU device has none", "the GPU is too old"]),
    ('Fail(absl::StrCat("found ", n, n == 1 ? " thing" : " things"));', ["found <...>< thing| things>"]),
    ('Note(absl::StrCat(Join(names, ", "), " are missing"));', ["<...> are missing"]),
    ('#include "not a message here"\n// "nor this one here"\nstatic const char* kKey = "compile_s";', []),
    ('const char* text = R"(one\ntwo three four)";', []),
]


def run(root: pathlib.Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-B", str(root / "scripts" / "messages"), *arguments]
    return subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def listed(root: pathlib.Path, tree: pathlib.Path, code: str) -> List[str]:
    (tree / "lib" / "specimen.cc").write_text(code + "\n")
    prefix = "lib/specimen.cc: "
    return [line[len(prefix):] for line in run(root, "--list", str(tree)).stdout.splitlines() if line]


def main() -> int:
    root = pathlib.Path(sys.argv[1]).resolve()
    mistakes = []
    with tempfile.TemporaryDirectory() as folder:
        tree = pathlib.Path(folder)
        (tree / "lib").mkdir()
        (tree / "tests" / "data").mkdir(parents=True)
        for code, expected in _SPECIMENS:
            found = listed(root, tree, code)
            if found != expected:
                mistakes.append(f"{code}\n  lists {found}, expected {expected}")

        specimen = tree / "lib" / "specimen.cc"
        specimen.write_text('return NotFoundError("no such kernel");\n')
        if run(root, "--update", str(tree)).returncode != 0 or run(root, "--check", str(tree)).returncode != 0:
            mistakes.append("an unchanged tree fails")
        specimen.write_text('\n\nreturn NotFoundError("no such kernel");\n')
        if run(root, "--check", str(tree)).returncode != 0:
            mistakes.append("moved code fails")
        specimen.write_text('return NotFoundError("no such bundle");\n')
        changed = run(root, "--check", str(tree))
        for part in ("-lib/specimen.cc: no such kernel\n", "+lib/specimen.cc: no such bundle\n", "--update"):
            if changed.returncode != 1 or part not in changed.stdout:
                mistakes.append(f"exit code {changed.returncode}, without '{part}': {changed.stdout}")
    print("\n".join(mistakes))
    return 1 if mistakes else 0


if __name__ == "__main__":
    sys.exit(main())
