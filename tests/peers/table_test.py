"""The table of benchmarks/peers on reports made up here, and ours run for real on the CPU device.

table_test.py BENCHMARKS_PEERS_FOLDER PEERS_TUNEONCE_PROGRAM
"""
import json
import pathlib
import subprocess
import sys
import tempfile
from typing import Any, Dict, Sequence

FOLDER, PROGRAM = pathlib.Path(sys.argv[1]), sys.argv[2]
sys.path[:0] = [str(FOLDER), str(pathlib.Path(__file__).parent.parent / "python")]

import table  # noqa: E402
from running import expect, run_tests  # noqa: E402


def row(call: str, keys: int, threads: int, host: float, added: float, waits: bool = False) -> Dict[str, Any]:
    return {"call": call, "keys": keys, "threads": threads, "waits": waits, "host_ns": host, "added_ns": added}


def report(peer: str, rows: Sequence[Dict[str, Any]], language: str = "C++", device: str = "some GPU",
           version: str = "") -> Dict[str, Any]:
    return {"peer": peer, "language": language, "version": version, "device": device, "is_cpu_device": False,
            "rows": list(rows)}


def ours(added: float) -> Dict[str, Any]:
    return report("tuneonce", [row("raw", 1, 1, 2400, 0), row("TunedKernel::Launch", 1, 1, 2400 + added, added),
                               row("TunedKernel::Launch", 4096, 16, 9000, 1500)])


def line_of(text: str, name: str) -> str:
    lines = [line for line in text.split("\n") if line.startswith(f"| {name}")]
    assert len(lines) == 1, (name, lines)
    return lines[0]


def test_a_cell_is_the_median_over_processes_with_the_least_and_the_most() -> None:
    text = table.markdown(table.merge([ours(20), ours(31), ours(22)], {}))
    cells = line_of(text, "tuneonce, C++").split(" | ")
    assert cells[1:] == ["+22 (+20 to +31)", "n/a", "n/a", "n/a", "n/a", "+1.50 us (+1.50 us to +1.50 us) |"], cells


def test_every_row_of_the_merged_value_says_of_how_many_processes_it_is() -> None:
    merged = table.merge([ours(20), ours(30)], {})
    assert [r["processes"] for r in merged["rows"]] == [2, 2, 2]
    assert merged["rows"][1]["added_ns"] == {"median": 25, "least": 20, "most": 30}


def test_what_a_peer_has_no_notion_of_is_not_what_was_not_run() -> None:
    ktt = report("KTT", [row("raw", 1, 1, 9000, 0, True), row("Tuner::Run", 1, 1, 21000, 12000, True)], version="2.1.0")
    text = table.markdown(table.merge([ours(20), ktt], {"Kernel Launcher, C++": "it was not built"}))
    run = line_of(text, "KTT, C++: `Tuner::Run`")
    assert "waits for the kernel's end" in run and "+12.00 us" in run and run.count("n/a") == 5, run
    for name in ("Kernel Launcher, C++: `WisdomKernel::launch`", "Triton, Python", "KTT, C++: `RunKernelAsync`"):
        line = line_of(text, name)
        assert line.count("not run") == 7 and "n/a" not in line, line
    assert "Not run: Kernel Launcher, C++: it was not built" in text


def test_a_raw_launch_that_waits_is_not_shown_as_the_raw_launch() -> None:
    ktt = report("KTT", [row("raw", 1, 1, 2410, 0), row("raw", 1, 1, 9000, 0, True)])
    assert "Raw, 1 thread: 2400 to 2410 ns" in table.markdown(table.merge([ours(20), ktt], {}))


def test_python_and_cpp_of_one_peer_are_two_lines() -> None:
    python = report("tuneonce", [row("kernel(x, y, z)", 1, 1, 3600, 1200)], "Python")
    text = table.markdown(table.merge([ours(20), python], {}))
    assert "+20" in line_of(text, "tuneonce, C++") and "+1.20 us" in line_of(text, "tuneonce, Python")


def test_figures_of_two_devices_are_no_table() -> None:
    other = report("KTT", [], device="another GPU")
    expect(ValueError, "of another GPU and some GPU", lambda: table.merge([ours(20), other], {}))
    expect(ValueError, "no device", lambda: table.merge([], {}))


def test_ours_runs_on_the_cpu_device_and_its_figures_are_marked() -> None:
    done = subprocess.run([PROGRAM, str(FOLDER / "vector_add"), "cpu", "short"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    merged = table.merge([json.loads(done.stdout)], {})
    ways = {(r["call"], r["keys"], r["threads"]) for r in merged["rows"]}
    launch = "TunedKernel::Launch"
    launches = {(launch, keys, threads) for keys in (1, 64) for threads in (1, 16)}
    assert ways == {("raw", 1, 1), ("raw", 1, 16)} | launches, ways
    assert all(r["host_ns"]["median"] > 0 for r in merged["rows"])
    assert table.markdown(merged).startswith("**These are figures of the CPU device")


def test_dispatch_shows_what_it_could_not_run_and_keeps_the_figures() -> None:
    with tempfile.TemporaryDirectory() as folder:
        programs = pathlib.Path(folder)
        # A fallback for ours that says what a program would; the others were not built.
        (programs / "peers_tuneonce").write_text(f"#!{sys.executable}\nprint('''{json.dumps(ours(25))}''')\n")
        (programs / "peers_tuneonce").chmod(0o755)
        (programs / "peers_ktt").write_text("#!/bin/sh\necho 'cuInit: no device' >&2\nexit 1\n")
        (programs / "peers_ktt").chmod(0o755)
        command = [sys.executable, str(FOLDER / "dispatch"), "--bin", folder, "--processes", "3",
                   "--out", str(programs / "out.json")]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 1, done.stderr  # KTT failed.
        assert "KTT, C++ is NOT run: cuInit: no device" in done.stderr, done.stderr
        assert "Kernel Launcher, C++ is NOT run: peers_kernel_launcher was not built" in done.stderr
        merged = json.loads((programs / "out.json").read_text())
        assert merged["processes"] == 3 and merged["rows"][1]["processes"] == 3
        assert sorted(merged["not_run"]) == ["KTT, C++", "Kernel Launcher, C++", "Python"]
        again = subprocess.run([*command[:2], "--table", str(programs / "out.json")], capture_output=True, text=True)
        assert again.returncode == 0 and again.stdout == done.stdout and "+25 (+25 to +25)" in done.stdout, again.stdout


if __name__ == "__main__":
    run_tests(globals(), sys.argv[3:])
