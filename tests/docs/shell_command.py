"""One line of a shell block in the documentation: run if this machine can, else checked."""

import importlib.util
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
from typing import Iterator, List, Tuple

_ELSEWHERE = {"pip", "source", "cd"}  # Programs that nothing here can be said about.
_PLACEHOLDER = re.compile(r"\b[A-Z]{3,}\b|\.\.\.")  # FILE, PATH: for the reader to fill in.


class ShellCommand:
    """Duty: for a line, either run it (the command `tuneonce` on what is there, and the exporters) or check what it
    names: options by `--help`, scripts, programs and presets by the tree. Leaves what a page is to run_page.py."""

    def __init__(self, root: pathlib.Path, programs: pathlib.Path, has_package: bool):
        self._root, self._bin, self._has_package = root, programs, has_package
        self.num_run = self.num_checked = 0

    def lines(self, text: str) -> Iterator[Tuple[int, str]]:
        """(number from 0, command), continued lines as one, without comments."""
        pending, first = "", 0
        for number, line in enumerate(text.split("\n")):
            first = first if pending else number
            pending += line.rstrip("\\")
            if line.endswith("\\"):
                continue
            command, pending = pending.strip(), ""
            if command and not command.startswith("#"):
                yield first, command

    def check(self, line: str) -> str:
        """What is wrong with the line, or ""."""
        words = shlex.split(line.split(" && ")[0], comments=True)
        while words and re.match(r"^[A-Z_]+=", words[0]):  # VARIABLE=value before a command.
            words = words[1:]
        program = words[0]
        if program == "tuneonce":
            return self._tuneonce(line, words)
        if program in ("python", "python3"):
            return self._python(words)
        self.num_checked += 1
        if program in ("cmake", "ctest"):
            return self._preset(words)
        if program in _ELSEWHERE:
            return ""
        if "/" in program:
            file = self._root / program
            return "" if os.access(file, os.X_OK) else "there is no such program in the tree"
        return self._target(program)

    def _run(self, words: List[str]) -> str:
        self.num_run += 1
        result = subprocess.run(words, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return "" if result.returncode == 0 else f"exit code {result.returncode}: {result.stdout.strip()[-800:]}"

    def _tuneonce(self, line: str, words: List[str]) -> str:
        files = [w for w in words[1:] if re.search(r"/|\.[a-z]+$", w) and not w.startswith("-") and "=" not in w]
        written = words[words.index("-o") + 1] if "-o" in words else ""
        runs_here = "cuda" not in line and not any(_PLACEHOLDER.search(w) for w in words if "=" not in w)
        # A store and a file of the page's own are made by the command before.
        if runs_here and all(os.path.exists(f) for f in files if f != written and not f.startswith("./")):
            return self._run([str(self._bin / "tuneonce"), *words[1:]])
        self.num_checked += 1
        verbs = []
        for word in words[1:3]:  # tune; records list.
            if re.match(r"^[a-z]+$", word) and (not verbs or verbs[0] in ("records", "hints", "bundle")):
                verbs.append(word)
        shown = subprocess.run(
            [str(self._bin / "tuneonce"), *verbs, "--help"], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        if shown.returncode != 0:
            return f"there is no command {' '.join(verbs)}"
        for option in [w.split("=")[0] for w in words if w.startswith("-")]:
            if not re.search(re.escape(option) + r"\b", shown.stdout):
                return f"'{' '.join(verbs)}' has no option {option}"
        return ""

    def _python(self, words: List[str]) -> str:
        if words[1:3] == ["-m", "tuneonce.export"]:
            source = words[4].split(":")[0] if len(words) > 4 else ""
            module = {"cutile": "cuda.tile", "triton": "triton"}.get(words[3] if len(words) > 3 else "")
            if module is None:
                return "the exporters are cutile and triton"
            try:
                importable = importlib.util.find_spec(module) is not None
            except ModuleNotFoundError:
                importable = False
            if self._has_package and importable and os.path.exists(source):
                return self._run([sys.executable, *words[1:]])
            self.num_checked += 1
            return ""
        self.num_checked += 1
        file = words[1]
        return "" if _PLACEHOLDER.search(file) or (self._root / file).exists() else f"there is no {file} in the tree"

    def _preset(self, words: List[str]) -> str:
        if "--preset" not in words:
            return ""
        presets = json.loads((self._root / "CMakePresets.json").read_text())["configurePresets"]
        name = words[words.index("--preset") + 1]
        return "" if name in [p["name"] for p in presets] else f"there is no preset {name}"

    def _target(self, program: str) -> str:
        for file in self._root.rglob("CMakeLists.txt"):
            if (
                "build" not in file.parts
                and ".deps" not in file.parts
                and re.search(rf"\b{program}\b", file.read_text())
            ):
                return ""
        stem = re.sub("_benchmark$", "", program)
        return (
            ""
            if any((self._root / folder / f"{stem}.cc").exists() for folder in ("benchmarks", "benchmarks/internal"))
            else "there is no program of this name in the tree"
        )
