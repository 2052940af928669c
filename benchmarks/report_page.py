#!/usr/bin/env python3
"""report_page.py --bin FOLDER [--records 100000] [--json FILE]

What a page of a fleet's store takes: made-up records, each of a search of eight configs, are written by `tuneonce
report`, and the page is opened in a headless Chromium. Says the page's size, how long it took to make, of a store and
of an export of it (`made_s`, `made_of_export_s`), when a reader sees content (`shown_ms`: the table of searches stands there; `loaded_ms`: all is read), and how long a search's own
view takes."""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests" / "report_page"))
import made_records  # noqa: E402
from browser import Browser, find_browser  # noqa: E402

_RUNS = 5


def write_crowd(path: pathlib.Path, count: int) -> None:
    """As made_records.write, without holding all of them."""
    with path.open("w") as file:
        file.write('{"format": "tuneonce-records", "version": 7, "records": [')
        for i, record in enumerate(made_records.crowd(count)):
            file.write((",\n" if i else "\n") + json.dumps(record))
        file.write("]}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--records", type=int, default=100000)
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    program = find_browser()
    if program is None:
        print("SKIPPED: no Chromium here", file=sys.stderr)
        return 77
    with tempfile.TemporaryDirectory() as folder, Browser(program) as browser:
        records, page = pathlib.Path(folder) / "records.json", pathlib.Path(folder) / "report.html"
        write_crowd(records, options.records)
        store = pathlib.Path(folder) / "store.db"
        subprocess.run([options.bin / "tuneonce", "records", "import", records, "--store", store], check=True)
        made_s = []
        for file in (records, store):
            began = time.monotonic()
            subprocess.run([options.bin / "tuneonce", "report", file, "-o", page], check=True)
            made_s.append(round(time.monotonic() - began, 2))
        size = page.stat().st_size
        shown, loaded = [], []
        for _ in range(_RUNS):
            browser.open(page)
            shown.append(round(browser.run("performance.getEntriesByName('shown')[0].startTime")))
            loaded.append(browser.run("performance.timing.loadEventEnd - performance.timing.navigationStart"))
        view_ms = browser.run(
            "(() => { const began = performance.now(); document.querySelector('td button').click(); "
            "return performance.now() - began; })()"
        )
    row = {
        "records": options.records,
        "bytes": size,
        "made_s": made_s[1],
        "made_of_export_s": made_s[0],
        "shown_ms": sorted(shown),
        "loaded_ms": sorted(loaded),
        "search_view_ms": round(view_ms, 1),
    }
    print(json.dumps(row, indent=1))
    if options.json:
        options.json.write_text(json.dumps(row, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
