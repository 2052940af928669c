#!/usr/bin/env python3
"""tuneonce.report, and what a TuningRecord is in a notebook: report_test.py BUNDLES [NAME ...], on the CPU device."""

import html
import pathlib
import re
import sys
import tempfile
import types

import numpy as np

import tuneonce
from running import expect, run_tests

bundles = pathlib.Path(sys.argv[1])


def searched():
    """A search with a success, a baseline, a failure, and names that mean harm."""

    def refuse():
        raise ValueError("<i>no</i>")

    def launch(config):
        return refuse if config["N"] == "</script><b>" else lambda: None

    configs = [{"N": "slow"}, {"N": "fast"}, {"N": "</script><b>"}]
    return tuneonce.exhaustive_search(
        configs, None, None, launch, lambda config: (), device="cpu", quiet=True, baseline={"N": "slow"}, max_rounds=5
    )


def page_in(frame):
    return html.unescape(re.search(r'srcdoc="([^"]*)"', frame).group(1))


def test_a_result_is_a_page_a_table_and_markdown():
    report = tuneonce.report(searched())
    page = page_in(report._repr_html_())
    # The same page, but for when it was made.
    made_at = re.compile(r'"made_at":\d+')
    assert made_at.sub("", page) == made_at.sub("", report.html()) and page.startswith("<!DOCTYPE html>")
    assert 'sandbox="allow-scripts"' in report._repr_html_()
    assert len(re.findall("<script", page)) == 4, "a name ends no element"
    assert "| {N=" in report.markdown() and "<b>" not in report.markdown()
    assert report.csv().count("\n") == 4
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "report.html")
        report.save(file)
        assert file.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
        with open(file) as opened:  # Its number would be written to, and closed.
            expect(TypeError, "path is a path (str or os.PathLike), not ", lambda: report.save(opened.fileno()))
            assert opened.read(1)
    assert repr(report) == "<Report of result 1>"


def test_stores_and_results_stand_side_by_side_and_what_is_none_is_an_error():
    with tempfile.TemporaryDirectory() as folder:
        store = pathlib.Path(folder, "tuned", "store.db")
        kernel = tuneonce.load(bundles / "vector_add", "cpu", store=store)
        x = np.ones(4096, np.float32)
        kernel(x, x, np.empty_like(x))
        text = tuneonce.report(store, searched()).markdown()
        assert "| vector\\_add |" in text and "| {N=" in text
        assert "| {N=" not in tuneonce.report(store, searched(), kernel="vector_add").markdown()
        expect(tuneonce.NotFoundError, "the kernels are: vector_add", lambda: tuneonce.report(store, kernel="other").html())
        nothing = pathlib.Path(folder, "nothing.json")
        nothing.write_text("{}")
        expect(
            tuneonce.InvalidArgumentError, "the file is not a file of records", lambda: tuneonce.report(str(nothing)).html()
        )
        expect(TypeError, "int", lambda: tuneonce.report(3))


def test_a_result_is_a_table_in_a_notebook_and_says_what_decided():
    result = searched()
    table = result._repr_html_()
    assert table.count("<tr") == 4 and "&lt;/script&gt;&lt;b&gt;" in table and "<b>" not in table and "<i>" not in table
    assert result.reason in ("fastest", "tie_baseline", "tie_earliest", "baseline_by_margin"), result.reason


def test_to_pandas_gives_a_row_per_config_and_says_what_is_missing():
    result = searched()
    hidden = sys.modules.get("pandas")
    try:
        sys.modules["pandas"] = None  # type: ignore[assignment]
        expect(ImportError, "pip install pandas", result.to_pandas)
        sys.modules["pandas"] = types.SimpleNamespace(DataFrame=list)  # type: ignore[assignment]
        rows = result.to_pandas()
    finally:
        del sys.modules["pandas"]
        if hidden is not None:
            sys.modules["pandas"] = hidden
    assert [row["N"] for row in rows if row["outcome"] != "measured"] == ["</script><b>"]
    assert [row["N"] for row in rows if row["is_baseline"]] == ["slow"]
    assert sum(row["is_selected"] for row in rows) == 1


run_tests(globals(), sys.argv[2:])
