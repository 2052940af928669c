#!/usr/bin/env python3
"""page_test.py TUNEONCE [SCREENSHOTS]: the page of `tuneonce report` in a headless browser: what a reader finds in it,
what the controls do, and that nothing in the data does anything. With a folder it leaves screenshots there."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest
from typing import Any, Dict, List

import made_records
from browser import Browser, find_browser

TUNEONCE = sys.argv[1] if len(sys.argv) > 1 else "tuneonce"
SCREENSHOTS = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else None

browser: Browser
folder: pathlib.Path


def run(*arguments: Any) -> str:
    return subprocess.run([TUNEONCE, *map(str, arguments)], check=True, capture_output=True, text=True).stdout


def page_of(name: str, *files: pathlib.Path) -> pathlib.Path:
    page = folder / f"{name}.html"
    run("report", *files, "-o", page)
    return page


class PageTest(unittest.TestCase):
    page: pathlib.Path

    @classmethod
    def setUpClass(cls) -> None:
        cls.page = page_of("telling", made_records.write(folder / "telling.json", made_records.telling()))

    def open(self, page: pathlib.Path, view: str = "") -> str:
        browser.open(page, view)
        return browser.text()

    def tearDown(self) -> None:
        self.assertEqual(browser.console, [], "the page has nothing to say on the console")
        self.assertEqual(browser.requests, [], "the page loads nothing")

    def screenshot(self, name: str) -> None:
        if SCREENSHOTS is not None:
            browser.screenshot(SCREENSHOTS / f"{name}.png")

    def rows(self, caption: str) -> List[List[str]]:
        return list(
            browser.run(
                "[...[...document.querySelectorAll('table')]"
                f".find((each) => each.caption?.textContent === {json.dumps(caption)})"
                ".tBodies[0].rows].map((row) => [...row.cells].map((cell) => cell.innerText))"
            )
        )

    def test_a_newcomer_finds_answers_to_ten_questions_in_the_text_alone(self) -> None:
        overview = self.open(self.page)
        search = self.open(self.page, "search/0")
        for question, where, answers in (
            ("what was tuned here?", overview, ["3 searches of 2 kernels on 1 device"]),
            (
                "which config runs for M=64?",
                search,
                ["matmul: M=64, N=4096", "{TILE=64, occupancy=2} runs, in 10.06 ± 0.040 µs"],
            ),
            (
                "how much faster is it than the baseline?",
                search,
                ["1.53 times as fast as the baseline {TILE=32, occupancy=1}"],
            ),
            (
                "why not the fastest mean?",
                search,
                [
                    "The fastest mean is that of {TILE=128, occupancy=2}, 10.00 ± 0.050 µs",
                    "the choice's is 0.6 % above it",
                    "of those that tie the preferred one runs",
                ],
            ),
            (
                "what else is as fast?",
                search,
                ["1 other config cannot be told from the fastest: {TILE=128, occupancy=2}"],
            ),
            (
                "what failed, and why?",
                search,
                [
                    "{TILE=512, occupancy=1}",
                    "the compiler refused it",
                    "error: tile of 512 needs 300 KiB of shared memory",
                ],
            ),
            (
                "what crashed, and is it tried again?",
                search,
                ["{TILE=256, occupancy=2}: illegal address (700). It is not tried again"],
            ),
            (
                "is the search complete?",
                search,
                ["The search was cut short: 1 config was not measured.", "{TILE=1024, occupancy=1}"],
            ),
            ("which configs are the same code?", search, ["The same code as another's", "{TILE=64, occupancy=1}"]),
            (
                "what changed with the driver?",
                search,
                ["2 decisions for this key and device", "12.8", "{TILE=32, occupancy=1}"],
            ),
            ("what is not known?", search, ["What this file does not say", "each sample, and what was done when"]),
        ):
            for answer in answers:
                self.assertIn(answer, where, question)

    def test_the_ranking_marks_choice_and_baseline_and_gives_intervals(self) -> None:
        self.open(self.page, "search/0")
        self.assertEqual(
            [row[:4] for row in self.rows("All configs that ran")],
            [
                ["1", "{TILE=128, occupancy=2}", "", "10.00 ± 0.050 µs"],
                ["2", "{TILE=64, occupancy=2}", "choice", "10.06 ± 0.040 µs"],
                ["3", "{TILE=32, occupancy=1}", "baseline", "15.40 ± 0.10 µs"],
            ],
        )
        self.assertIn("choice: {TILE=64, occupancy=2}", browser.text())
        self.screenshot("search")

    def test_headings_sort_and_the_filters_keep_what_they_say(self) -> None:
        self.open(self.page)
        times = lambda: [row[5] for row in self.rows("Searches")]
        heading = "[...document.querySelectorAll('th button')].find((each) => each.textContent.startsWith('time'))"
        browser.run(f"{heading}.click()")
        self.assertEqual(times(), ["3.210 ± 0.010 µs", "10.06 ± 0.040 µs", "15.90 ± 0.010 µs"])
        self.assertEqual(browser.run(f"{heading}.parentElement.getAttribute('aria-sort')"), "ascending")
        browser.run(f"{heading}.click()")
        self.assertEqual(times()[0], "15.90 ± 0.010 µs")
        browser.run("document.getElementById('filter').focus()")
        browser.type("softmax")
        self.assertEqual([row[0] for row in self.rows("Searches")], ["softmax"])
        self.assertEqual(browser.run("document.getElementById('count').textContent"), "1 of 3 searches shown")
        self.open(self.page)
        for label, wanted, kernels in (("Kernel", "matmul", ["matmul", "matmul"]), ("Where", "failures", ["matmul"])):
            browser.run(
                f"(() => {{ const select = [...document.querySelectorAll('label')].find((each) => "
                f"each.firstChild.textContent === '{label}').querySelector('select'); select.value = '{wanted}'; "
                "select.dispatchEvent(new Event('change')); })()"
            )
            self.assertEqual([row[0] for row in self.rows("Searches")], kernels, wanted)
        self.screenshot("overview")

    def test_the_heat_map_shows_the_axes_that_one_chooses(self) -> None:
        self.open(self.page, "search/0")
        figure = "document.querySelector('section[aria-label=\"Heat map\"]')"
        self.assertIn("for each TILE and occupancy", browser.run(f"{figure}.innerText"))
        browser.run(
            f"(() => {{ const select = {figure}.querySelectorAll('select')[1]; select.value = 'TILE'; "
            "select.dispatchEvent(new Event('change')); })()"
        )
        self.assertIn("for each TILE,", browser.run(f"{figure}.innerText"))
        self.assertIn(
            "failed", browser.run(f"[...{figure}.querySelectorAll('svg text')].map((each) => each.textContent)")
        )

    def test_it_is_used_by_keyboard_alone_and_all_controls_have_names(self) -> None:
        self.open(self.page)
        browser.press("Tab")
        self.assertEqual(browser.run("document.activeElement.id"), "skip")
        for _ in range(60):
            browser.press("Tab")
            if browser.run("document.activeElement.textContent") == "M=64, N=4096":
                break
        browser.press("Enter")
        self.assertIn("Why this one", browser.text())
        self.assertEqual(browser.run("document.activeElement.tagName"), "H1")
        for view in ("", "search/0", "search/2"):
            self.open(self.page, view)
            nameless = browser.run(
                "[...document.querySelectorAll('button, select, input, [role=img], [role=region]')].filter((each) => "
                "!(each.textContent.trim() && each.tagName === 'BUTTON') && !each.getAttribute('aria-label') && "
                "!each.labels?.length).map((each) => each.outerHTML)"
            )
            self.assertEqual(nameless, [], view)

    def test_light_and_dark_follow_the_system_and_the_switch_and_can_be_read(self) -> None:
        def contrast() -> float:
            red = browser.run(
                "(() => { const style = getComputedStyle(document.body); return [style.color, "
                "style.backgroundColor].map((each) => each.match(/[\\d.]+/g).slice(0, 3).map(Number)); })()"
            )
            light = [
                sum(
                    part * weight
                    for part, weight in zip(
                        (((c / 255 + 0.055) / 1.055) ** 2.4 if c > 10 else c / 3294 for c in colour),
                        (0.2126, 0.7152, 0.0722),
                    )
                )
                for colour in red
            ]
            return (max(light) + 0.05) / (min(light) + 0.05)

        for scheme in ("light", "dark"):
            browser.prefer(scheme)
            self.open(self.page, "search/0")
            self.assertEqual(browser.run("document.documentElement.dataset.theme"), scheme)
            self.assertGreater(contrast(), 7)
            self.screenshot(f"search_{scheme}")
        browser.run(
            "(() => { const theme = document.getElementById('theme'); theme.value = 'light'; "
            "theme.dispatchEvent(new Event('change')); })()"
        )
        self.assertEqual(browser.run("document.documentElement.dataset.theme"), "light")
        browser.prefer("light")

    def test_hostile_names_are_shown_and_do_nothing(self) -> None:
        page = page_of("hostile", made_records.write(folder / "hostile.json", made_records.hostile()))
        for view in ("", "search/0"):
            text = self.open(page, view)
            self.assertIsNone(browser.run("window.harmed ?? null"))
            self.assertIn("</script><script>window.harmed = 1</script>", text)
            self.assertIn("\\x1b[31m\\u202e\\x00", text)
            self.assertEqual(browser.run("document.images.length"), 0)
        self.assertIn("__proto__=2", text)
        self.screenshot("hostile")

    def test_every_odd_record_has_a_page(self) -> None:
        page = page_of("odd", made_records.write(folder / "odd.json", made_records.odd()))
        for entry, texts in enumerate(
            (
                ["A person or a host pinned it", "Nothing was measured", "does not say which other configs there were"],
                ["decided elsewhere and imported", "any driver"],
                ["a table by M runs", "By M, the nearest serves", "{T=8}"],
                ["2 configs failed", "wrong result", "it did not end in time"],
                ["{} runs, in 2.500 µs"],
                ["the 40 fastest of 1000", "rows 1 to 100 of 1,000"],
                ["The first 10 of 30 axes"],
                ["{T=2.5}"],
                ["{T=true}", "{T=1}"],
            )
        ):
            text = self.open(page, f"search/{entry}")
            for wanted in texts:
                self.assertIn(wanted, text)
            self.assertEqual(browser.console, [], f"entry {entry}")
        self.assertIn("9 searches of 9 kernels", self.open(page))

    def test_a_page_stays_small_and_says_what_it_leaves_out_for_that(self) -> None:
        long = made_records.candidate({"T": 2}, "compile", message="x" * 200_000)
        many = [
            made_records.record(f"k{i}", f"N={i}", {"T": 1}, [made_records.measured({"T": 1}, 1.0), long])
            for i in range(128)
        ]
        page = page_of("long", made_records.write(folder / "long.json", many))
        self.assertLess(page.stat().st_size, 20_000_000)
        self.assertIn("rows 1 to 100 of 128", self.open(page))
        self.assertIn("What failed, and why", self.open(page, "search/0"))
        self.assertIn("The candidates of this search were left out", self.open(page, "search/127"))

    def test_a_result_of_any_form_has_a_page(self) -> None:
        best = {"config": {"T": 1}, "mean_us": 2.0, "error_margin_us": 0.1, "num_samples": 9}
        other = {**best, "config": {"T": 2}}
        strange: List[Dict[str, Any]] = [
            {"timeline": {"spans": [1, None, {"track": 7}]}},
            {"timeline": {"spans": "x", "tracks": 3}},
            {"notes": "text", "cost": "much", "drift": "x"},
            {"substitutions": [None, 1]},
            {"successes": [{**best, "samples": {"us": [1, 2]}}, {**other, "samples": {"us": "ab", "at_ms": [1]}}]},
            {"successes": [{**best, "roofline": "x"}, {**other, "roofline": {"intensity": -1, "tflop_per_s": "y"}}]},
            {"successes": [{**best, "latency": [1]}], "baseline": best},
            {"cost": {"wall_s": "x", "peak_bytes": None}},
        ]
        files = []
        for i, changed in enumerate(strange):
            files.append(folder / f"strange_{i}.json")
            files[-1].write_text(json.dumps({"kernel": f"k{i}", "best": best, "successes": [best, other], **changed}))
        page = page_of("strange", *files)
        for i in range(len(strange)):
            self.assertIn("{T=1} runs, in 2.000 ± 0.10 µs", self.open(page, f"search/{i}"))
            self.assertIn("The configs that ran", browser.text())
            self.assertEqual(browser.console, [], strange[i])

    def test_two_files_stand_side_by_side(self) -> None:
        now = made_records.telling()[:1]
        before = [
            made_records.record(
                "matmul",
                "M=64, N=4096",
                made_records.BASELINE,
                [made_records.measured(made_records.BASELINE, 15.4, 0.1)],
            )
        ]
        page = page_of(
            "two", made_records.write(folder / "before.json", before), made_records.write(folder / "now.json", now)
        )
        self.open(page, "compare")
        (row,) = self.rows("Keys of A and B")
        self.assertEqual(
            row[:2] + row[4:],
            ["matmul", "M=64, N=4096", "15.40 ± 0.10 µs", "10.06 ± 0.040 µs", "1.53× (1.52 to 1.54)", "changed"],
        )
        self.assertIn("of 1 the choice differs", browser.text())
        self.screenshot("compare")

    def test_a_store_that_was_just_tuned_and_a_result_with_its_samples(self) -> None:
        store = folder / "tuned" / "store.db"
        tune = ("tune", "matmul", "--device", "cpu", "--quiet", "--shape", "M=64", "--shape", "N=64", "--shape", "K=64")
        run(*tune, "--store", store)
        result = folder / "result.json"
        result.write_text(run(*tune, "--json", "--samples"))
        page = page_of("real", store, result)
        stored = self.open(page, "search/0")
        self.assertIn("The configs that ran", stored)
        self.assertIn("made up, as the kernel declares", stored)
        text = self.open(page, "search/1")
        for section in ("Roofline", "Samples over time", "Timeline", "ms since the search began", "searching thread"):
            self.assertIn(section, text)
        self.assertNotIn("What this file does not say", text)
        self.assertIn("This key over time", text)
        self.screenshot("real")


if __name__ == "__main__":
    program = find_browser()
    if program is None:
        print("SKIPPED: no Chromium here (Debian's chromium-headless-shell): nothing looked at the report's page")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as made, Browser(program) as browser:
        folder = pathlib.Path(made)
        unittest.main(argv=sys.argv[:1])
