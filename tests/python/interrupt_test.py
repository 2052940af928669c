#!/usr/bin/env python3
"""Ctrl-C in a race, in a search over callables, and behind another process, on the CPU device: interrupt_test.py BUNDLES_FOLDER
[NAME ...]. python_test.py has those of compiles and of other threads. Needs tuneonce and numpy."""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

from running import run_tests

BEGIN = """
import os, pathlib, sys, time, numpy, tuneonce
folder = sys.argv[1]
x, y = numpy.ones(1, "f"), numpy.zeros(1, "f")
def interrupted(call):
    try:
        call()
        print("it was not interrupted", flush=True)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
"""


def slow_bundle(path):
    """Two configs that say by a file that they run, and take 1 to 32 ms, by chance: no race is soon certain."""
    one = {"kind": "tensor", "dtype": "float32", "dims": ["N"]}
    (path / "manifest.json").write_text(json.dumps({
        "tuneonce_bundle": 1, "name": "slow", "version": "1", "dims": ["N"],
        "parameters": [{"name": "x", "access": "in", **one}, {"name": "y", "access": "out", **one}],
        "axes": [{"name": "A", "kind": "structural", "values": [1, 2]}],
        "variants": [{"name": "cpu", "source": "cpu_cpp", "symbol": "slow", "grid": {"pattern": "fixed", "blocks": [1]},
                      "artifacts": [{"config": {"A": a}, "file": f"{a}.cc"} for a in (1, 2)]}]}))
    for a in (1, 2):
        (path / f"{a}.cc").write_text(f"""
#include <cstdio>
#include <ctime>
static void slow(const tuneonce_block&, const float* x, float* y) {{
  static int runs = 0;
  if (++runs == 20) std::fclose(std::fopen("{path}/started", "w"));  // After what is checked and warmed up.
  static unsigned chance = {a};
  chance = chance * 1103515245 + 12345;
  timespec pause = {{0, 1000000 + (chance >> 27) * 1000000}};
  nanosleep(&pause, nullptr);
  *y = *x;
}}
TUNEONCE_CPU_KERNEL(slow);
""")


def child(program, path, **environment):
    return subprocess.Popen([sys.executable, "-c", BEGIN + program, str(path)], text=True, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, env={**os.environ, **environment})


def interrupt(run, begun):
    """Ctrl-C when the file `begun` is there. Returns what it says then."""
    while not begun.exists() and run.poll() is None:
        time.sleep(0.01)
    time.sleep(0.2)
    run.send_signal(signal.SIGINT)
    return run.stdout.readline()


# A race that would take an hour.
LONG = 'max_rounds=10**6, gpu_budget_ms=4e6, race_budget_ms=4e6, timer="events"'


def test_ctrl_c_ends_a_race():
    with tempfile.TemporaryDirectory() as temporary:
        path = pathlib.Path(temporary)
        slow_bundle(path)
        run = child(f"""
kernel = tuneonce.load(pathlib.Path(folder), "cpu", store=folder + "/store/store.db", {LONG})
interrupted(lambda: kernel(x, y))
assert tuneonce.records(folder + "/store/store.db") == [] and not kernel.is_ready(x, y)
""", path)
        try:
            said = interrupt(run, path / "started")
            assert said == "interrupted\n", (said, run.communicate(timeout=1200))
            assert run.communicate(timeout=1200) == ("", "") and run.returncode == 0
        finally:
            run.kill()
            run.communicate()


def test_ctrl_c_ends_a_search_over_callables():
    with tempfile.TemporaryDirectory() as temporary:
        path = pathlib.Path(temporary)
        run = child("""
runs = {1: 0, 2: 1}
def launch(which):
    time.sleep(0.03 if runs[which] % 2 else 0.002)  # Slow by turns: no race of these is soon certain.
    runs[which] += 1
    if sum(runs.values()) == 20: open(folder + "/started", "w").close()
interrupted(lambda: tuneonce.exhaustive_search([1, 2], None, None, launch, lambda config: (config,), device="cpu",
            quiet=True, max_rounds=10**6, gpu_budget_ms=4e6, race_budget_ms=4e6))
""", path)
        try:
            said = interrupt(run, path / "started")
            assert said == "interrupted\n", (said, run.communicate(timeout=1200))
        finally:
            run.kill()
            run.communicate()


def test_ctrl_c_ends_a_call_that_waits_for_another_process():
    with tempfile.TemporaryDirectory() as temporary:
        path = pathlib.Path(temporary)
        slow_bundle(path)
        program = f"""
kernel = tuneonce.load(pathlib.Path(folder), "cpu", store=folder + "/store/store.db", {LONG})
"""
        tunes = child(program + "kernel(x, y)", path)
        waits = None
        try:
            while not (path / "started").exists() and tunes.poll() is None:
                time.sleep(0.01)
            waits = child(program + 'open(folder + "/waits", "w").close(); interrupted(lambda: kernel(x, y))', path)
            said = interrupt(waits, path / "waits")
            assert said == "interrupted\n", (said, waits.communicate(timeout=1200))
            assert tunes.poll() is None, "the other goes on"
        finally:
            for run in (tunes, waits):
                if run is not None:
                    run.kill()
                    run.communicate()


run_tests(globals(), sys.argv[2:])
