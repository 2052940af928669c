#!/usr/bin/env python3
"""gallery_shots.py --bin FOLDER --results FOLDER [--out docs/internal/gallery]

Takes the picture NAME.webp that docs/internal/gallery.md shows of each result of gallery.py: the top of the search's
view in `tuneonce report`. Needs Chromium. Look at the pictures before you commit them."""

import argparse
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests" / "report_page"))
from browser import Browser, find_browser  # noqa: E402

# A picture ends behind the chart of the configs; in width it is what a page of the docs has, twice.
_WIDTH = 1200
_END = "document.querySelector('figure').getBoundingClientRect().bottom + scrollY + 10"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--results", type=pathlib.Path, required=True)
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("docs/internal/gallery"))
    options = parser.parse_args()
    program = find_browser()
    if program is None:
        print("there is no Chromium here", file=sys.stderr)
        return 1
    options.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, Browser(program, _WIDTH) as browser:
        page = pathlib.Path(folder) / "report.html"
        for result in sorted(options.results.glob("[0-9]*.json")):
            # By its name alone, which the page shows.
            subprocess.run(
                [options.bin.resolve() / "tuneonce", "report", result.name, "-o", page],
                check=True,
                cwd=options.results,
                stdout=subprocess.DEVNULL,
            )
            browser.open(page, "search/0")
            browser.screenshot(options.out / f"{result.stem}.webp", float(browser.run(_END)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
