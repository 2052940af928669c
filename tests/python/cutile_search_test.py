#!/usr/bin/env python3
"""exhaustive_search over cuTile kernels: cutile_search_test.py [NAME ...]. Needs tuneonce, cuda-tile with its tileiras, and a
C compiler; no GPU: cuTile launches by launch_nothing.c, in processes of their own."""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

from running import run_tests

here = pathlib.Path(__file__).resolve().parent
BEGIN = """
import json, os, sys
import cuda.tile as ct
import tuneonce

@ct.kernel
def scale(x, y, TILE: ct.Constant[int], FACTOR: ct.Constant[int]):
    i = ct.bid(0)
    ct.store(y, index=(i,), tile=ct.load(x, index=(i,), shape=(TILE,)) * FACTOR)

class Array:
    __cuda_array_interface__ = {"shape": (4096,), "typestr": "<f4", "data": (1 << 20, False), "version": 3}

x, y = Array(), Array()
space = [{"TILE": tile, "occupancy": occupancy} for tile in (64, 128, 100) for occupancy in (1, 2)]

def search(kernel=scale, factor=2, grid=lambda config: (1,), hints=lambda config: {"occupancy": config["occupancy"]}):
    return tuneonce.exhaustive_search(space, None, grid, kernel, lambda config: (x, y, config["TILE"], factor), hints,
                                      device="cpu", quiet=True, max_rounds=1)
"""
# Compiles only while another one compiles, too: compiles that take turns never end.
IN_PAIRS = """#!/bin/sh
case "$*" in *--gpu-name*kernel.tileir*) ;; *) exec {tileiras} "$@";; esac
touch {folder}/running.$$
n=0
while [ $(ls {folder} | grep -c running) -lt 2 ]; do sleep 0.02; n=$((n + 1)); [ $n -lt 1000 ] || exit 3; done
sleep 0.1
exec {tileiras} "$@"
"""
NEVER_ENDS = """#!/bin/sh
case "$*" in *--gpu-name*kernel.tileir*) ;; *) exec {tileiras} "$@";; esac
touch {folder}/started
sleep 600
"""


def tileiras():
    import cuda.tile._compile as compiler
    return compiler._find_pip_tileiras() or os.environ["TUNEONCE_TILEIRAS"]


class Process:
    """A Python process with the driver's double. Its folder is gone at the end."""

    def __init__(self, program, tool=None, **environment):
        self._folder = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self._folder.name)
        subprocess.run(["cc", "-shared", "-fPIC", here / "launch_nothing.c", "-o", self.folder / "libcuda.so.1"], check=True)
        environment.setdefault("TUNEONCE_TILEIRAS", str(tileiras()))
        if tool is not None:
            (self.folder / "tool").write_text(tool.format(tileiras=tileiras(), folder=self.folder))
            (self.folder / "tool").chmod(0o755)
            environment["TUNEONCE_TILEIRAS"] = str(self.folder / "tool")
        (self.folder / "program.py").write_text(BEGIN + program)
        libraries = f"{self.folder}:{os.environ.get('LD_LIBRARY_PATH', '')}"
        self.run = subprocess.Popen(
            [sys.executable, self.folder / "program.py"], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env={**os.environ, "LD_LIBRARY_PATH": libraries, "CUDA_TILE_CACHE_DIR": str(self.folder / "cache"),
                 "LAUNCH_NOTHING_LOG": str(self.folder / "log"), "TUNEONCE_COMPILE_WORKERS": "2", **environment})

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.run.kill()
        self.run.communicate()
        self._folder.cleanup()

    def said(self):
        out, error = self.run.communicate(timeout=1200)
        assert self.run.returncode == 0, out + error
        return json.loads(out)


TOLD = """
result = search()
print(json.dumps({"compiled": result.cost.num_compiled, "seconds": result.cost.compile_seconds,
                  "successes": [s.config for s in result.successes],
                  "failures": [[f.config["TILE"], f.message] for f in result.failures]}))
"""


def test_the_configs_of_a_cutile_kernel_compile_at_the_same_time():
    with Process(TOLD, IN_PAIRS) as process:
        said = process.said()
        log = (process.folder / "log").read_text().split()
        caches = list((process.folder / "cache").glob("*")) if (process.folder / "cache").exists() else []
    assert said["compiled"] == 4 and said["seconds"] > 0, said
    assert len(said["successes"]) == 4, said
    assert [tile for tile, _ in said["failures"]] == [100, 100] and "power" in said["failures"][0][1], said["failures"]
    assert log.count("load") == 4 and log.count("launch") > 8, log
    assert not caches, "cuTile itself compiled nothing"


def test_a_kernel_may_follow_from_the_config_and_needs_no_hints():
    program = """
kernels = [scale.replace_hints(occupancy=n) for n in (1, 2)]
result = search(lambda which: kernels[which["occupancy"] - 1], hints=None)
assert result.cost.num_compiled == 4, result
assert all(vars(kernel).keys() == vars(scale).keys() for kernel in kernels), "the caller's kernels stay what they are"
try:
    search(grid=None)
except TypeError as error:
    print(json.dumps(str(error)))
"""
    with Process(program) as process:
        assert process.said() == "a cuTile kernel needs a grid_fn"


def test_what_is_compiled_ahead_is_what_cutile_compiles():
    program = """
from cuda.tile._cext import default_tile_context
from tuneonce import _cutile
begun = _cutile._begin(scale, (x, y, 64, 2))
signature = begun._signature
image, symbol, _, providers = begun.compiled(signature, default_tile_context, (9, 0))
plain = type(scale)._compile(scale, signature, default_tile_context, (9, 0))
assert (symbol, tuple(providers)) == (plain[1], tuple(plain[3])), (symbol, plain[1:])
other = _cutile._begin(scale, (x, y, 128, 2))._signature  # Not foreseen: left to cuTile.
assert begun.compiled(other, default_tile_context, (9, 0))[1] == other.symbol != symbol
assert begun.compiled(signature, default_tile_context, (10, 0))[0] != image
print(json.dumps(image == plain[0]))
"""
    with Process(program) as process:
        assert process.said() is True


def test_without_a_tileiras_of_ours_cutile_compiles():
    with Process(TOLD, TUNEONCE_TILEIRAS="/does/not/exist") as process:
        said = process.said()
    assert said["compiled"] == 0 and len(said["successes"]) == 4, said


def test_ctrl_c_ends_a_search_that_compiles():
    program = """
try:
    search()
except KeyboardInterrupt:
    print(json.dumps("interrupted"))
"""
    with Process(program, NEVER_ENDS) as process:
        while not (process.folder / "started").exists() and process.run.poll() is None:
            time.sleep(0.01)
        process.run.send_signal(signal.SIGINT)
        assert process.said() == "interrupted"
        left = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
        assert str(process.folder / "tool") not in left, "its compilers are gone"


run_tests(globals(), sys.argv[1:])
