#!/usr/bin/env python3
"""page_test.py TUNEONCE [SCREENSHOTS]: the page of `tuneonce report` in a headless browser: what a reader finds in it,
what the controls do, and that nothing in the data does anything. With a folder it leaves screenshots there."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest
from typing import Any, Dict, List, Optional

import made_records
from browser import Browser, find_browser

TUNEONCE = sys.argv[1] if len(sys.argv) > 1 else "tuneonce"
SCREENSHOTS = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else None

# Texts whose contrast with what lies behind them is below 4.5, which is too little to read (WCAG 2.1, 1.4.3).
FAINT_TEXTS = """(() => {
  const parts = (text) => {  // rgb(1, 2, 3), rgba(1, 2, 3, .5), color(srgb .1 .2 .3 / .5)
    const [r, g, b, opacity] = text.match(/[\\d.]+/g).map(Number);
    return [...[r, g, b].map((each) => text.startsWith("color") ? 255 * each : each), opacity ?? 1];
  };
  const over = (upper, lower) => lower.map((each, i) => upper[3] * upper[i] + (1 - upper[3]) * each);
  const behind = (each) => over(
      parts(getComputedStyle(each).backgroundColor), each.parentElement ? behind(each.parentElement) : [255, 255, 255]);
  const light = (rgb) => rgb.slice(0, 3).map((c) => c / 255)
      .map((c) => c <= .03928 ? c / 12.92 : ((c + .055) / 1.055) ** 2.4)
      .reduce((sum, c, i) => sum + c * [.2126, .7152, .0722][i], 0);
  const contrast = (each) => {
    const [a, b] = [parts(getComputedStyle(each).color), behind(each)].map(light);
    return (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
  };
  const hasText = (each) => [...each.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
  const texts = [...document.querySelectorAll("body *")].filter((each) => !each.closest("svg, script") &&
      each.offsetParent && hasText(each));
  return texts.length < 50 ? ["what was looked at?"] : texts.filter((each) => contrast(each) < 4.5)
      .map((each) => `${each.textContent}: ${contrast(each).toFixed(1)}`);
})()"""

browser: Browser
folder: pathlib.Path
opened: Optional[pathlib.Path] = None  # In the browser.


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

    def open(self, page: pathlib.Path, view: str = "", anew: bool = False) -> str:
        """What is to be read there. A page that is open already is not loaded again, which takes a second, unless it is
        wanted `anew`, in the state that it begins with."""
        global opened
        if anew or opened != page:
            browser.open(page, view)
            opened = page
        else:
            browser.run(
                f"history.replaceState(null, '', {json.dumps('#' + view)}); dispatchEvent(new PopStateEvent('popstate'))"
            )
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

    def open_by_keyboard(self, text: str) -> None:
        """What a button of that text leads to."""
        browser.press("Tab")
        self.assertEqual(browser.run("document.activeElement.id"), "skip")
        for _ in range(60):
            browser.press("Tab")
            if browser.run("document.activeElement.textContent") == text:
                break
        browser.press("Enter")

    def test_a_newcomer_finds_answers_to_ten_questions_in_the_text_alone(self) -> None:
        """In light and dark; there by keyboard."""
        for scheme in ("light", "dark"):
            browser.prefer(scheme)
            overview = self.open(self.page, anew=True)
            self.assertEqual(browser.run("document.documentElement.dataset.theme"), scheme)
            if scheme == "light":
                search = self.open(self.page, "search/0")
            else:
                self.open_by_keyboard("M=64, N=4096")
                search = browser.text()
            self.check_answers(overview, search)
        browser.prefer("light")

    def check_answers(self, overview: str, search: str) -> None:
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
                    "the selection's is 0.6 % above it",
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
                ["2 selections for this key and device", "12.8", "{TILE=32, occupancy=1}"],
            ),
            ("what is not known?", search, ["What this file does not say", "each sample, and what was done when"]),
        ):
            for answer in answers:
                self.assertIn(answer, where, question)

    def test_the_ranking_marks_selection_and_baseline_and_gives_intervals(self) -> None:
        self.open(self.page, "search/0")
        self.assertEqual(
            [row[:4] for row in self.rows("All configs that ran")],
            [
                ["1", "{TILE=128, occupancy=2}", "", "10.00 ± 0.050 µs"],
                ["2", "{TILE=64, occupancy=2}", "selection", "10.06 ± 0.040 µs"],
                ["3", "{TILE=32, occupancy=1}", "baseline", "15.40 ± 0.10 µs"],
            ],
        )
        self.assertIn("selection: {TILE=64, occupancy=2}", browser.text())
        self.screenshot("search")

    def test_headings_sort_and_the_filters_keep_what_they_say(self) -> None:
        self.open(self.page, anew=True)
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
        self.open(self.page, anew=True)
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
        self.open(self.page, anew=True)
        self.open_by_keyboard("M=64, N=4096")
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
        for scheme in ("light", "dark"):
            browser.prefer(scheme)
            self.open(self.page, "search/0", anew=True)
            self.assertEqual(browser.run("document.documentElement.dataset.theme"), scheme)
            self.assertEqual(browser.run(FAINT_TEXTS), [], scheme)
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

    def test_remarks_of_the_compiler_are_counted_and_shown_with_failures(self) -> None:
        failed, passed = "failed: Failed to select TMA load: stride not 16-byte aligned (k.py:3:4)", "passed: a load (k.py:3:4)"
        candidates = [
            {**made_records.measured({"T": 1}, 2.0), "remarks": [passed]},
            {**made_records.measured({"T": 2}, 3.0), "remarks": [failed, passed]},
            made_records.candidate({"T": 3}, "wrong_result", message="output 'y'", remarks=[failed, passed]),
        ]
        record = made_records.record("remarked", "N=1", {"T": 1}, candidates)
        page = page_of("remarked", made_records.write(folder / "remarked.json", [record]))
        self.assertIn("Remarks of the compiler", self.open(page, "search/0"))
        caption = "What the compiler could and could not do"
        self.assertEqual(self.rows(caption), [[passed, "3", "yes"], [failed, "2", "no"]])
        self.assertEqual(self.rows("1 config failed")[0][-1], f"output 'y'\n{failed}")
        self.assertEqual(browser.console, [])

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
        strange: List[Any] = [
            {"spans": [1, None, {"track": 7}]},
            {"spans": "x", "tracks": 3},
            {"samples": [{"candidate": 0, "us": [1, 2]}, {"candidate": 1, "us": "ab", "at_ms": [1]}]},
            [],
        ]
        files = []
        for i, timeline in enumerate(strange):
            candidates = [made_records.measured({"T": 1}, 2.0, 0.1, 9), made_records.measured({"T": 2}, 2.0, 0.1, 9)]
            file = {"records": [made_records.record(f"k{i}", "N=1", {"T": 1}, candidates)], "timeline": timeline}
            files.append(folder / f"strange_{i}.json")
            files[-1].write_text(json.dumps({"format": "tuneonce-records", "version": 7, **file}))
        page = page_of("strange", *files)
        for i in range(len(strange)):
            self.assertIn("{T=1} runs, in 2.000 ± 0.10 µs", self.open(page, f"search/{i}"))
            self.assertIn("The configs that ran", browser.text())
            self.assertEqual(browser.console, [], strange[i])

    def test_clocks_and_workers_are_shown_with_the_samples(self) -> None:
        spans = [
            {"name": name, "category": category, "track": track, "begin_ms": begin, "duration_ms": length}
            for name, category, track, begin, length in (
                ("search k", "search", 0, 0, 90),
                ("start", "worker", 1, 0, 20),
                ("prepare {T=2}", "worker", 1, 20, 10),
                ("lost: it crashed with 700", "worker", 1, 30, 0),
                ("start", "worker", 2, 31, 20),
                ("run a round", "worker", 2, 60, 1),
            )
        ]

        def reading(mhz: int, celsius: int, milliwatts: int, reasons: int) -> Dict[str, Any]:
            conditions = dict.fromkeys(("memory_clock_mhz", "power_limit_mw"))
            conditions.update(sm_clock_mhz=mhz, throttle_reasons=reasons, mig_profile="")
            return {"conditions": conditions, "temperature_c": celsius, "power_mw": milliwatts}

        record = made_records.record(
            "k",
            "N=1",
            {"T": 1},
            [made_records.measured({"T": 1}, 2.0, 0.1, 2)],
            drift=0.05,
            device_before=reading(1980, 41, 90500, 0),
            device_after=reading(1755, 55, 690000, 36),
        )
        result = {
            "format": "tuneonce-records",
            "version": 7,
            "records": [record],
            "timeline": {
                "tracks": ["searching thread", "worker 71", "worker 72"],
                "spans": spans,
                "device": [{"at_ms": at, "sm_clock_mhz": mhz} for at, mhz in ((58, 1980), (75, 1800), (90, 1755))],
                "samples": [{"candidate": 0, "at_ms": [60, 80], "us": [2.0, 2.1]}],
                "left_out": 0,
            },
        }
        file = folder / "clocks.json"
        file.write_text(json.dumps(result))
        text = self.open(page_of("clocks", file), "search/0")
        for wanted in (
            "The device before the race → after it: SM clock 1980 → 1755 MHz, temperature 41 → 55 °C, power 91 → 690 W",
            "clocks held back by the power limit and heat (the driver)",
            "5.0 % slower in the second half",
            "and the SM clock (right)",
            "MHz",
            "worker 71",
            "worker 72",
            "1 worker was lost: it crashed with 700",
        ):
            self.assertIn(wanted, text)
        self.screenshot("clocks")
        unknown = dict.fromkeys(record["conditions"])
        record.update(device_before=None, device_after=None, conditions={**unknown, "mig_profile": ""})
        file.write_text(json.dumps(result))
        self.assertIn("The device's clocks are not known.", self.open(page_of("clocks_2", file), "search/0"))

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
        self.assertIn("of 1 the selection differs", browser.text())
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
