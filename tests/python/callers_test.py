#!/usr/bin/env python3
"""Programs that call a kernel from several frameworks: callers_test.py docs/examples/callers [NAME ...]. A framework that is not
installed is skipped, and CuPy's program needs a GPU."""
import importlib.util
import os
import pathlib
import subprocess
import sys
import unittest

from running import run_tests

PROGRAMS = pathlib.Path(sys.argv[1])


def ran(framework):
    if importlib.util.find_spec(framework) is None:
        raise unittest.SkipTest(f"there is no {framework}")
    environment = {**os.environ, "TUNEONCE_STORE": "memory", "JAX_PLATFORMS": "cpu"}
    run = subprocess.run([sys.executable, PROGRAMS / f"{framework}_caller.py", "cpu"], capture_output=True, text=True, env=environment)
    assert run.returncode == 0 and run.stdout.startswith(f"{framework}: ran"), run.stdout + run.stderr


def test_numpy_calls_a_kernel():
    ran("numpy")


def test_pytorch_calls_a_kernel():
    ran("torch")


def test_jax_calls_a_kernel():
    ran("jax")


run_tests(globals(), sys.argv[2:])
