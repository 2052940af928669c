#!/usr/bin/env python3
"""check_texts_test.py: check_language.py, check_commits.py and check_reference.py find planted mistakes, and nothing in
texts without any."""
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest
from typing import Tuple

HERE = pathlib.Path(__file__).resolve().parent
RULE_HOLDS, BEFORE = "2026-12-01T00:00:00+00:00", "2026-11-01T00:00:00+00:00"


def run(script: str, root: pathlib.Path) -> Tuple[int, str]:
    done = subprocess.run([sys.executable, "-B", HERE / script, root], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


class LanguageTest(unittest.TestCase):
    def of(self, path: str, line: str) -> Tuple[int, str]:
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / path
            file.parent.mkdir(parents=True)
            file.write_text(line + "\n")
            return run("check_language.py", pathlib.Path(folder))

    def test_phrases_are_found_with_their_place(self) -> None:
        for path, line in (("lib/base/a.h", "/// Of all keys: the first."), ("lib/base/a.cc", 'return Error("this is no file");'),
                           ("include/tuneonce/a.h", "void Seal();"), ("docs/a.md", "# What is where"),
                           ("docs/internal/a.md", "The kernel runs beside another."), ("bindings/cli/a.cc", "// As it was, for ever.")):
            code, text = self.of(path, line)
            self.assertEqual((code, text.startswith(path + ":1: ")), (1, True), text)

    def test_plain_sentences_pass(self) -> None:
        for path, line in (("lib/base/a.h", "/// Returns the first key."), ("docs/a.md", "The result is no longer valid."),
                           ("tests/a.cc", "// Of all keys: tests are not read.")):
            self.assertEqual(self.of(path, line), (0, "no place found\n"))


class CommitsTest(unittest.TestCase):
    def of(self, message: str, lines: int, date: str = RULE_HOLDS) -> Tuple[int, str]:
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "file").write_text("line\n" * lines)
            for command in (["init", "-q"], ["add", "file"],
                            ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--date", date, "-m", message]):
                subprocess.run(["git", "-C", folder, *command], check=True, capture_output=True)
            return run("check_commits.py", pathlib.Path(folder))

    def test_forms_that_are_not_allowed_are_named(self) -> None:
        for message, lines, why in (("Add " + "x" * 69, 1, "73 characters"), ("Add a line.", 1, "full stop"), ("Formatted", 1, "imperative"),
                                    ("add a line", 1, "imperative"), ("A line", 1, "imperative"), ("Add many lines", 51, "without a body")):
            code, text = self.of(message, lines)
            self.assertEqual((code, why in text), (1, True), text)

    def test_good_messages_and_those_from_before_the_rule_pass(self) -> None:
        for message, lines, date in (("Add a line", 50, RULE_HOLDS), ("Add lines\n\nThey were missing.", 51, RULE_HOLDS), ("Need a line", 1, RULE_HOLDS),
                                     ("lines.", 60, BEFORE)):
            self.assertEqual(self.of(message, lines, date), (0, "\n"))

    def test_without_a_history_it_is_skipped(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(run("check_commits.py", pathlib.Path(folder))[0], 77)


class ReferenceTest(unittest.TestCase):
    def of(self, old: str, new: str, header: str = "include/tuneonce/result.h") -> Tuple[int, str]:
        """check_reference.py on this tree, with `old` in the page replaced, and `header` in any case."""
        root = HERE.parent.parent
        with tempfile.TemporaryDirectory() as folder:
            tree = pathlib.Path(folder)
            for path in ("include/tuneonce", "tools/include", "components/redis/include", "components/mpi/include"):
                shutil.copytree(root / path, tree / path)
            for path in ("docs/reference.md", "lib/base/environment.cc"):
                (tree / path).parent.mkdir(parents=True)
                shutil.copy(root / path, tree / path)
            (tree / header).touch()
            page = tree / "docs/reference.md"
            self.assertIn(old, page.read_text())
            page.write_text(page.read_text().replace(old, new))
            return run("check_reference.py", tree)

    def test_names_that_are_missing_or_do_not_exist_are_found(self) -> None:
        for old, new, why in (("`bundle.h`", "`bundles.h`", "does not list the header bundle.h"),
                              ("`bundle.h`", "`bundles.h`", "lists the header bundles.h, which does not exist"),
                              ("`Bundle`", "`Bundles`", "bundle.h does not declare Bundles"),
                              ("`kDataLoss`", "`kLost`", "does not list the status code kDataLoss"),
                              ("`TUNEONCE_LOG`", "`TUNEONCE_LEVEL`", "does not list the variable TUNEONCE_LOG")):
            code, text = self.of(old, new)
            self.assertEqual((code, why in text), (1, True), text)
        self.assertIn("does not list the header new.h", self.of("# Reference", "# Reference", "include/tuneonce/plugin/new.h")[1])

    def test_a_complete_page_passes(self) -> None:
        self.assertEqual(self.of("# Reference", "# Reference"), (0, "docs/reference.md is complete\n"))


if __name__ == "__main__":
    unittest.main()
