#!/usr/bin/env python3
"""report_test.py TUNEONCE ROOT: what `tuneonce report` makes of files, without a browser: tables, errors, stores that
are damaged, old, empty or shipped."""

import csv
import io
import json
import pathlib
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import unittest
from typing import Any, Dict

import made_records

TUNEONCE, ROOT = sys.argv[1], pathlib.Path(sys.argv[2])


def run(*arguments: Any) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([TUNEONCE, *map(str, arguments)], capture_output=True, text=True)


class ReportTest(unittest.TestCase):
    def setUp(self) -> None:
        made = tempfile.TemporaryDirectory()
        self.addCleanup(made.cleanup)
        self.folder = pathlib.Path(made.name)
        self.page = self.folder / "report.html"
        self.telling = made_records.write(self.folder / "telling.json", made_records.telling())

    def good(self, *arguments: Any) -> str:
        done = run(*arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def store(self) -> pathlib.Path:
        store = self.folder / "store" / "tuned.db"
        self.good("records", "import", self.telling, "--store", store)
        return store

    def overview(self) -> Dict[str, Any]:
        text = self.page.read_text()
        found = re.search(r'<script type="application/json" id="overview">(.*?)</script>', text, re.S)
        assert found is not None
        return dict(json.loads(found.group(1)))

    def test_csv_has_a_line_per_candidate_that_a_spreadsheet_reads_and_does_not_run(self) -> None:
        rows = list(csv.DictReader(io.StringIO(self.good("report", self.telling, "--csv"))))
        self.assertEqual(
            [row["outcome"] for row in rows[:7]],
            ["measured", "measured", "measured", "crash", "compile", "duplicate", "not_measured"],
        )
        (choice,) = (row for row in rows[:7] if row["is_selected"] == "true")
        self.assertEqual(
            [choice[name] for name in ("kernel", "config", "mean_us", "error_margin_us", "driver", "why")],
            [
                "matmul",
                "TILE=64, occupancy=2",
                "10.06",
                "0.04",
                "13.0",
                "as fast as the fastest, and the first of these in the space",
            ],
        )
        self.assertEqual(rows[4]["message"], "error: tile of 512 needs 300 KiB of shared memory\nnote: there are 227")
        self.assertEqual(rows[5]["same_as"], "TILE=64, occupancy=2")
        formula = made_records.record("=HYPERLINK(1)", "+1", {"T": 1}, [])
        text = self.good("report", made_records.write(self.folder / "formula.json", [formula]), "--csv")
        (row,) = csv.DictReader(io.StringIO(text))
        self.assertEqual([row["kernel"], row["key"]], ["'=HYPERLINK(1)", "'+1"])

    def test_markdown_has_a_row_per_search_and_what_failed(self) -> None:
        text = self.good("report", self.telling, "--markdown")
        self.assertIn(
            "| matmul | M=64, N=4096 | NVIDIA H200 | 13.0 | {TILE=64, occupancy=2} | 10.06 us +- 0.04 | 1.53x |", text
        )
        self.assertIn("| matmul | {TILE=256, occupancy=2} | crash | illegal address (700) | 1 |", text)
        hostile = self.good(
            "report", made_records.write(self.folder / "hostile.json", made_records.hostile()), "--markdown"
        )
        self.assertNotIn("<script", hostile)
        self.assertNotIn("\x1b", hostile)

    def test_the_page_holds_all_that_it_needs_and_a_few_records_take_little(self) -> None:
        self.assertIn("3 searches of 1 files written to", self.good("report", self.telling, "-o", self.page))
        text = self.page.read_text()
        self.assertLess(len(text), 1_400_000)
        self.assertIn(
            "content=\"default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:\"", text
        )
        self.assertIn("Apache License", text)
        self.assertIn("Neither the name of the author", text)
        said = json.loads(self.good("report", self.telling, "-o", self.page, "--json"))
        self.assertEqual([said["searches"], said["inputs"], said["bytes"]], [3, 1, self.page.stat().st_size])

    def test_a_hostile_name_ends_no_element_of_the_page(self) -> None:
        self.good("report", made_records.write(self.folder / "h.json", made_records.hostile()), "-o", self.page)
        # The data's, the library's and the page's own, and no other.
        self.assertEqual(len(re.findall(r"<script", self.page.read_text())), 4)
        self.assertTrue(any("</script>" in text for text in self.overview()["texts"]))

    def test_what_it_is_given_is_a_store_records_or_a_result_whatever_the_file_is_called(self) -> None:
        store = self.store()
        packed = self.folder / "shipped.db"
        self.good("records", "pack", "--store", store, "-o", packed)
        tuned = self.folder / "result"
        tuned.write_text(self.good("tune", "vector_add", "--device", "cpu", "--shape", "N=4096", "--json", "--quiet"))
        exported = self.folder / "exported"
        shutil.copy(self.telling, exported)
        self.good("report", store, packed, tuned, exported, "-o", self.page)
        overview = self.overview()
        self.assertEqual(
            [each["kind"] for each in overview["inputs"]], ["store", "store", "records", "records"]
        )
        self.assertGreaterEqual(len(overview["rows"]), 3 + 3 + 1 + 3)
        self.good("report", store, packed, "--kernel", "softmax", "-o", self.page)
        self.assertEqual(len(self.overview()["rows"]), 2)

    def test_a_result_of_a_store_is_shown_as_the_search_that_was_stored(self) -> None:
        store = self.folder / "own" / "tuned.db"
        tune = ("tune", "vector_add", "--device", "cpu", "--shape", "N=4096", "--json", "--quiet", "--store", store)
        rows = []
        for name in ("search", "store"):
            result = self.folder / name
            result.write_text(self.good(*tune))
            self.assertEqual(json.loads(result.read_text())["from"], name)
            found = csv.DictReader(io.StringIO(self.good("report", result, "--csv")))
            rows.append(next(row for row in found if row["is_selected"] == "true"))
        for field in ("kernel", "shape", "config", "variant"):
            self.assertEqual(rows[0][field], rows[1][field])
        self.assertEqual(rows[1]["shape"], "N=4096")

    def test_a_result_says_what_decided_and_when_and_with_samples_each_of_them(self) -> None:
        tune = ("tune", "vector_add", "--device", "cpu", "--shape", "N=4096", "--json", "--quiet")
        plain, full = (json.loads(self.good(*tune, *more)) for more in ((), ("--samples",)))
        self.assertNotIn("timeline", plain)
        self.assertIn(plain["records"][0]["reason"], ("fastest", "tie_baseline", "tie_earliest", "baseline_by_margin"))
        self.assertIn("N<=4096", plain["records"][0]["key"])
        self.assertGreater(plain["records"][0]["unix_seconds"], 1_700_000_000)
        candidates = full["records"][0]["candidates"]
        measured = [i for i, each in enumerate(candidates) if each["outcome"] == "measured"]
        self.assertEqual([samples["candidate"] for samples in full["timeline"]["samples"]], measured)
        for samples in full["timeline"]["samples"]:
            self.assertEqual(len(samples["us"]), len(samples["at_ms"]))
            self.assertGreaterEqual(len(samples["us"]), candidates[samples["candidate"]]["num_samples"])
            self.assertEqual(samples["at_ms"], sorted(samples["at_ms"]))
        categories = {span["category"] for span in full["timeline"]["spans"]}
        self.assertLessEqual({"tune", "search", "compile", "race", "load", "verify"}, categories)
        for span in full["timeline"]["spans"]:
            self.assertLess(span["track"], len(full["timeline"]["tracks"]))
        self.assertEqual(run("tune", "vector_add", "--device", "cpu", "--samples").returncode, 1)

    def test_rows_that_are_damaged_are_said_and_the_others_shown(self) -> None:
        store = self.store()
        with sqlite3.connect(store) as database:
            database.execute("UPDATE records SET body = substr(body, 1, 40) WHERE id = 1")
        database.close()
        done = run("report", store, "-o", self.page)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("tuneonce: cannot read all of", done.stderr)
        overview = self.overview()
        self.assertEqual([len(overview["rows"]), len(overview["inputs"][0]["problems"])], [2, 1])

    def test_an_empty_store_is_a_page_too_and_the_users_own_is_the_default(self) -> None:
        store = self.store()
        self.good("records", "prune", "--kernel", "matmul", "--store", store)
        self.good("records", "prune", "--kernel", "softmax", "--store", store)
        self.good("report", store, "-o", self.page)
        self.assertEqual(self.overview()["rows"], [])
        self.assertIn("| kernel |", self.good("report", store, "--markdown"))

    def test_what_is_no_such_file_is_refused_in_a_line_that_says_what_to_give(self) -> None:
        broken = self.folder / "broken.json"
        for content, part in (
            ("", "the file is not JSON"),
            ("[1]", "the file is not a file of records"),
            ("{}", "the file is not a file of records"),
            ('{"keys": []}', "the file is not a file of records"),
            ('{"format": "tuneonce-records", "version": 99, "records": []}', "version"),
            ("[" * 10000, "nested deeper"),
        ):
            broken.write_text(content)
            done = run("report", broken, "-o", self.page)
            self.assertEqual(done.returncode, 1, content)
            self.assertRegex(done.stderr, rf"^tuneonce: .*{re.escape(str(broken))}.*{part}.*\n(  try: .*\n)?$")
        self.assertIn("no output file is given", run("report", self.telling).stderr)
        self.assertIn(
            "the kernels are: matmul, softmax", run("report", self.telling, "--kernel", "x", "-o", self.page).stderr
        )
        self.assertEqual(run("report", self.telling, "--csv", "--markdown").returncode, 2)
        self.assertEqual(run("report", self.folder / "none.db", "-o", self.page).returncode, 1)
        self.assertFalse(self.page.exists())
        for committed in sorted((ROOT / "benchmarks" / "results").glob("*.json")):  # Of other programs.
            self.assertRegex(
                run("report", committed, "-o", self.page).stderr, r"^tuneonce: .*the file is not a file of records"
            )

    def test_a_strange_timeline_is_not_shown_and_harms_nothing(self) -> None:
        file = json.loads(self.telling.read_text())
        del file["records"][1:]
        result = self.folder / "result.json"
        for timeline in (
            {"spans": 1},
            [],
            "x",
            {"samples": 3},
            {"samples": [3, None, {"candidate": -1}, {"candidate": 1 << 62}, {"candidate": 0}]},
        ):
            result.write_text(json.dumps({**file, "timeline": timeline}))
            self.good("report", result, "-o", self.page)
            self.assertEqual(len(self.overview()["rows"]), 1, timeline)
            self.good("report", result, "--csv")


if __name__ == "__main__":
    if shutil.which(TUNEONCE) is None:
        sys.exit(f"{TUNEONCE} is not in the store")
    unittest.main(argv=sys.argv[:1])
