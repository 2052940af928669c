"""The peers' suite without a GPU: ours for real on the CPU device, and peers that crash, hang, lie or are missing.

suite_test.py BENCHMARKS_PEERS_SUITE_FOLDER. Ours needs tuneonce and numpy on PYTHONPATH.
"""

import copy
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import xml.dom.minidom
from typing import Any, Dict, List, Optional

FOLDER, HERE = pathlib.Path(sys.argv[1]), pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(FOLDER), str(FOLDER.parents[1]), str(HERE.parent / "python")]

import experiments  # noqa: E402
import peers_plots  # noqa: E402
import show  # noqa: E402
from running import run_tests  # noqa: E402

EXPERIMENTS = ("tune", "restart", "crash", "hang", "wrong", "two_processes")


def run_suite(*options: str, code: int = 0, before: Optional[Dict[str, Any]] = None) -> Dict[str, Any]:
    """What a run on the CPU device wrote, in the place of what one `before` it had."""
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "out.json"
        if before is not None:
            out.write_text(json.dumps(before))
        done = subprocess.run(
            [sys.executable, str(FOLDER / "run"), "--device", "cpu", "--out", str(out), *options],
            capture_output=True,
            text=True,
        )
        assert done.returncode == code, (done.returncode, done.stderr)
        return json.loads(out.read_text()) if code == 0 else {"stderr": done.stderr}


def fakes(*options: str, **more: Any) -> Dict[str, Any]:
    experiments = () if "--experiments" in options else ("--experiments", *EXPERIMENTS)
    return run_suite(
        "--peer-folder", str(HERE / "fakes"), "--works", "vector_add", "matmul", *experiments, *options, **more
    )


result = fakes()
cells = {name.split(",")[0]: each for name, each in result["cells"].items()}


def test_a_peer_that_does_as_it_should_is_tuned_restarted_and_says_what_it_cannot() -> None:
    tuned = cells["Good"]["tune"]["works"]
    assert tuned["vector_add"]["config"] == "a=1" and tuned["vector_add"]["searched"] is True
    assert tuned["matmul"] == {"cannot": "it has no matrices"}
    assert cells["Good"]["restart"]["works"]["vector_add"]["searched"] is False
    assert cells["Good"]["crash"]["outcome"] == "chose a sound one"
    assert cells["Good"]["hang"]["cannot"] == "it waits for nobody"
    assert cells["Good"]["wrong"]["outcome"] == "chose the faulty one"


def test_a_crash_ends_its_cell_alone_and_is_said_with_its_last_words() -> None:
    assert cells["Crashing"]["tune"]["failed"] == "the process died: signal 6: about to crash"
    assert cells["Crashing"]["crash"]["outcome"] == "chose a sound one"


def test_a_hang_ends_at_the_deadline_with_all_that_it_started() -> None:
    assert cells["Hanging"]["crash"]["failed"] == "did not end in 1 s"
    left = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True).stdout
    assert "fake_peers Hanging" not in left, left


def test_what_keeps_a_cells_output_open_does_not_keep_the_suite() -> None:
    os.kill(int(cells["Leaving"]["tune"]["works"]["matmul"]["config"]), signal.SIGKILL)


def test_an_error_and_a_lost_device_are_results() -> None:
    assert cells["Lying"]["tune"]["works"]["vector_add"]["failed"] == "RuntimeError: no candidate"
    assert cells["Lying"]["crash"]["outcome"] == "context lost"
    assert cells["Lying"]["crash"]["error"] == "RuntimeError: illegal access"
    assert cells["Lying"]["wrong"]["outcome"] == "chose the faulty one"


def test_who_is_not_here_says_why() -> None:
    assert cells["Missing"]["tune"]["cannot"] == "it is not installed"
    assert cells["OnGpus"]["tune"]["cannot"] == "it needs a GPU"


def test_two_processes_have_one_place_to_remember() -> None:
    both = cells["Good"]["two_processes"]["processes"]
    assert len(both) == 2 and all(each["works"]["vector_add"]["config"] == "a=1" for each in both)


def test_the_table_has_a_line_for_each_and_a_reason_for_what_was_not_run() -> None:
    text = show.markdown(result)
    lines: Dict[str, Dict[str, str]] = {}
    columns: List[str] = []
    for line in text.split("\n"):
        if line.startswith("| ") and "---" not in line:
            name, *found = [each.strip() for each in line[2:-1].split("|")]
            if name:
                lines.setdefault(name.split(" (")[0], {}).update(zip(columns, found))
            else:
                columns = found
    assert sorted(lines) == sorted(cells) and max(map(len, text.split("\n"))) <= 120, lines
    assert all(list(each) == list(show.COLUMNS) for each in lines.values()), lines
    good = lines["Good"]
    assert good["hang"] == "n/a" and good["wrong"].startswith("**the faulty one**"), good
    assert good["cold tune, s"].endswith("/ –") and good["neighbour, %"] == "not run", good
    missing = dict.fromkeys(show.COLUMNS, "not run")
    assert lines["Missing"] == {**missing, "regret, %": "n/a", "hang": "n/a"}, lines["Missing"]
    assert lines["Hanging"]["crash"] == "did not end in 1 s"
    assert "Crashing, Python: the process died: signal 6: about to crash (tune, restart)" in text
    assert text.startswith("**These are figures of the CPU device") and "no GPU" in text


def test_a_cell_that_was_cut_off_is_that_of_the_next_result() -> None:
    first, second = copy.deepcopy(result), copy.deepcopy(result)
    over = {"cannot": "the run's 9 s were over"}
    first["cells"]["Good, Python"].update(crash=over, tune=over)
    second["cells"]["Good, Python"].update(crash=over, restart=over)
    cells_of_both = show.filled_up([first, second])["cells"]["Good, Python"]
    assert cells_of_both == {**cells["Good"], "crash": over}, cells_of_both
    second["machine"]["device"] = "another"
    try:
        show.filled_up([first, second])
    except SystemExit as error:
        assert "another" in str(error)
    else:
        raise AssertionError("results of two kinds of GPU are no one table")


def test_regret_is_over_the_fastest_candidate_by_the_one_timer() -> None:
    cell = {"works": {"matmul": {"config": "b", "space_us": {"a": 10.0, "b": 11.0, "c": 40.0}}}}
    assert abs(show.regret(cell, "matmul") - 0.1) < 1e-9 and show.regret(cell, "matmul", "c") == 3.0
    assert show.regret(cell, "softmax") is None and show.regret(cell, "matmul", "d") is None


def test_three_plots_are_drawn_of_who_tuned_and_none_of_nobody() -> None:
    assert peers_plots.draw({**result, "peers": [p for p in result["peers"] if p["name"] == "Missing"]}) == {}
    measured = copy.deepcopy(result)
    measured["cells"]["Good, Python"]["tune"]["works"]["vector_add"]["space_us"] = {"a=1": 12.0, "a=2": 10.0}
    plots = peers_plots.draw(measured)
    assert sorted(plots) == ["peers_faults", "peers_regret", "peers_seconds"]
    for svg in plots.values():
        xml.dom.minidom.parseString(svg)
        assert "Good (Python)" in svg and "Missing" not in svg
    assert "did not end in 1 s" in plots["peers_faults"] and plots["peers_regret"].count("<circle") == 1


def test_the_table_goes_between_the_marks_of_a_page_and_again() -> None:
    with tempfile.TemporaryDirectory() as folder:
        page, file = pathlib.Path(folder) / "page.md", pathlib.Path(folder) / "result.json"
        file.write_text(json.dumps(result))
        page.write_text(f"before\n{show.MARK}stale\n{show.MARK}after\n")
        for _ in range(2):
            done = subprocess.run([sys.executable, str(FOLDER / "show.py"), str(file), "--into", str(page)])
            assert done.returncode == 0
        text = page.read_text()
        assert (
            text.startswith("before\n")
            and text.endswith("after\n")
            and "stale" not in text
            and text.count("| Good") == len(show.TABLES)
        )


def test_when_the_time_is_over_the_rest_says_so() -> None:
    late = fakes("--peers", "Good", "--stop-after", "1")
    said = {name: cell["cannot"] for name, cell in late["cells"]["Good, Python"].items()}
    assert said.pop("hang") == "it waits for nobody" and all("1 s were over" in why for why in said.values()), said
    assert "nobody is called Nobody" in run_suite("--peers", "Nobody", code=2)["stderr"]


def test_a_run_that_was_cut_off_goes_on_with_what_it_has_not() -> None:
    cut, none = {"cannot": "the run was over"}, {"cannot": "it waits for nobody"}
    before = copy.deepcopy(result)
    good = before["cells"]["Good, Python"]
    good.update(crash=cut, hang=none, wrong={"outcome": "kept"}, tune={"works": "kept"})
    again = fakes("--peers", "Good", "--resume", "--experiments", "tune", "crash", "wrong", before=before)
    found = again["cells"]["Good, Python"]
    assert found["crash"]["outcome"] == "chose a sound one" and found["wrong"] == {"outcome": "kept"}, found
    assert found["tune"] == {"works": "kept"} and "hang" not in found, found
    del good["restart"]  # It needs what the tune left.
    again = fakes("--peers", "Good", "--resume", "--experiments", "tune", "restart", before=before)
    assert again["cells"]["Good, Python"]["restart"]["works"]["vector_add"]["searched"] is False
    other = fakes("--resume", "--commit", "another", code=2, before=before)["stderr"]
    assert "is of another commit" in other, other


def test_a_cell_that_the_runs_end_cut_off_is_no_fault_of_the_peers() -> None:
    hanging = {"module": "fake_peers", "class": "Hanging", "deadline_s": 20}
    os.environ["PYTHONPATH"] = os.pathsep.join([str(HERE / "fakes"), os.environ.get("PYTHONPATH", "")])
    with tempfile.TemporaryDirectory() as folder:
        found = experiments.Cell(hanging, "crash", pathlib.Path(folder), "cpu", []).run(1)
    assert found["cannot"] == "the run was over after 1 s of it" and "failed" not in found, found


def test_ours_tunes_restarts_and_survives_on_the_cpu_device() -> None:
    ours = run_suite("--peers", "tuneonce", "--works", "vector_add", "--experiments", *EXPERIMENTS)["cells"]
    assert all("cannot" in cell for cell in ours["tuneonce, cuTile"].values())
    bundle = ours["tuneonce, CUDA C++"]
    tuned = bundle["tune"]["works"]["vector_add"]
    assert tuned.get("searched") and tuned["tried"] == 18 and tuned["candidates_failed"] == 0, tuned
    assert bundle["restart"]["works"]["vector_add"]["searched"] is False
    for kind in ("crash", "hang", "wrong"):
        assert bundle[kind]["outcome"] == "chose a sound one" and bundle[kind]["candidates_failed"] == 2, bundle[kind]
    searched = [each["works"]["vector_add"]["searched"] for each in bundle["two_processes"]["processes"]]
    assert sorted(searched) == [False, True], searched


if __name__ == "__main__":
    run_tests(globals(), sys.argv[2:])
