"""What a peer is to the suite: one interface, whose functions are called in a process of their own (cell.py)."""

import dataclasses
import pathlib
from typing import Any, Callable, Dict, Optional


class CannotRun(Exception):
    """Why a cell cannot be run: the peer is not here, or has no notion of what is asked. Not a failure of the peer."""


@dataclasses.dataclass
class Choice:
    """What a peer chose. launch: puts one run of it into the current stream. tried, failed: candidates measured, and
    found unusable, where the peer says so. space: all candidates by name, as launches, where they are the suite's own:
    what the choice is compared with. searched: False if it was remembered. seconds: what the search took,
    where the peer is a program of its own, whose start does not count."""

    config: str
    launch: Callable[[], Any]
    tried: Optional[int] = None
    failed: Optional[int] = None
    space: Optional[Dict[str, Callable[[], Any]]] = None
    searched: Optional[bool] = None
    seconds: Optional[float] = None


class Peer:
    """One library, with the best settings that its documentation has; each setting stands beside a link.

    prepare is called first, before the peer is imported; then tune or faulty, once each per work. A work that is tuned
    again in another process with the same folder is the peer's restart.
    """

    NAME = ""
    LANGUAGE = ""  # In which candidates are written: what is compared within one language is the same work.
    DOCS = ""  # Where its documentation says the settings.
    SETTINGS = ""  # In words, for the table's notes.
    REMEMBERS = ""  # What it keeps for the next process, and where; empty: nothing, so that it has no restart.
    # By name; a peer that has none of its own for a work says why.
    WORKS: Dict[str, Optional[str]] = {}
    # crash, hang, wrong: None if a candidate of that kind can be written, else why not.
    FAULTS: Dict[str, Optional[str]] = {}
    NEEDS_GPU = True
    IS_SLOW = False  # Its tune takes minutes: it comes after all others.
    DEADLINE_S: Optional[float] = None  # Of a cell, in place of the experiment's.

    def prepare(self, folder: pathlib.Path) -> str:
        """Puts all that it remembers under `folder`, imports it, and returns its version. Raises CannotRun."""
        raise NotImplementedError

    def tune(self, work: str) -> Choice:
        raise NotImplementedError

    def faulty(self, kind: str) -> Choice:
        """tune of vector_add with one candidate more, which crashes, hangs or computes something else, faster. The
        faulty candidate's name ends with "FAULT"."""
        raise NotImplementedError

    def sound(self, choice: Choice) -> bool:
        """Whether the device still works and the choice of faulty computes what it should."""
        raise NotImplementedError
