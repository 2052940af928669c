"""The command `tuneonce`: the C++ program that the wheel holds."""
import os
import pathlib
import sys


def main() -> None:
    program = pathlib.Path(__file__).parent / "bin" / "tuneonce"
    os.execv(program, [str(program), *sys.argv[1:]])
