"""Peers for the runner's test: one that does as it should, and some that do not."""

import os
import pathlib
import subprocess
import time
from typing import Any

from interface import CannotRun, Choice, Peer


class Good(Peer):
    NAME, LANGUAGE, DOCS, SETTINGS, NEEDS_GPU = "Good", "Python", "https://example.com/good", "as it comes", False
    REMEMBERS = "a file"
    WORKS = {"vector_add": None, "matmul": "it has no matrices"}
    FAULTS = {"crash": None, "hang": "it waits for nobody", "wrong": None}

    def __init__(self, device: str = "cuda"):
        assert device == "cpu"

    def prepare(self, folder: pathlib.Path) -> str:
        self.folder = folder
        return "1.2"

    def tune(self, work: str) -> Choice:
        kept = self.folder / work
        searched = not kept.exists()
        kept.write_text("remembered")
        return Choice("a=1", lambda: None, tried=3, failed=0, searched=searched)

    def faulty(self, kind: str) -> Choice:
        return Choice("a=1" if kind == "crash" else "a=1 FAULT", lambda: None)

    def sound(self, choice: Choice) -> bool:
        return not choice.config.endswith("FAULT")


class Crashing(Good):
    NAME = "Crashing"

    def tune(self, work: str) -> Choice:
        print("about to crash", flush=True)
        os.abort()


class Hanging(Good):
    NAME, DEADLINE_S = "Hanging", 1.0

    def faulty(self, kind: str) -> Choice:
        if os.fork() == 0:  # A child, which must not outlive its cell.
            time.sleep(60)
        time.sleep(60)
        raise AssertionError("nobody ended it")


class Leaving(Good):
    """Leaves a child in a group of its own, which keeps the cell's output open."""

    NAME = "Leaving"
    WORKS = {"vector_add": "it adds nothing", "matmul": None}

    def tune(self, work: str) -> Choice:
        choice = super().tune(work)
        if choice.searched:
            choice.config = str(subprocess.Popen(["sleep", "1000"], start_new_session=True).pid)
        return choice


class Lying(Good):
    """Its choice computes something else, and the device is lost afterwards."""

    NAME = "Lying"

    def tune(self, work: str) -> Any:
        raise RuntimeError("no candidate\nand more of it")

    def sound(self, choice: Choice) -> bool:
        raise RuntimeError("illegal access")


class Missing(Good):
    NAME = "Missing"

    def prepare(self, folder: pathlib.Path) -> str:
        raise CannotRun("it is not installed")


class OnGpus(Good):
    NAME, NEEDS_GPU = "OnGpus", True


PEERS = [Good, Crashing, Hanging, Leaving, Lying, Missing, OnGpus]
