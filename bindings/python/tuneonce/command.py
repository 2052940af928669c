"""Runs the command `tuneonce`, which is a C++ program in the wheel."""
import os
import pathlib
import sys


def main() -> None:
    program = pathlib.Path(__file__).parent / "bin" / "tuneonce"
    os.execv(program, [str(program), *sys.argv[1:]])
