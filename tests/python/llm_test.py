#!/usr/bin/env python3
"""The example's language model in PyTorch and in C++: llm_test.py TUNEONCE_LLM LLM_PY [NAME ...]. Both choose the same
tokens, and by PyTorch's own operators, too. Skipped (77) without PyTorch."""
import os
import re
import subprocess
import sys

try:
    import torch  # noqa: F401
except ImportError as error:
    print(f"SKIPPED: {error}")
    sys.exit(77)

from running import run_tests  # noqa: E402

PROGRAM, SCRIPT = sys.argv[1:3]
DEVICE = os.environ.get("TEST_DEVICE", "cpu")


def tokens_of(*command):
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "TUNEONCE_STORE": "memory"})
    assert done.returncode == 0, done.stdout + done.stderr
    tokens = re.findall("^tokens: (.*)$", done.stdout, re.MULTILINE)
    assert len(tokens) == 3 and all(len(line.split()) == 6 for line in tokens), done.stdout
    return tokens


def test_the_same_tokens_in_cpp_in_pytorch_and_by_its_own_operators():
    expected = tokens_of(PROGRAM, DEVICE, "tiny")
    for ops in ("tuneonce", "torch"):
        assert tokens_of(sys.executable, SCRIPT, "--device", DEVICE, "--ops", ops) == expected, ops


run_tests(globals(), sys.argv[3:])
