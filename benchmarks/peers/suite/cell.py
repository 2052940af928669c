"""One cell of the suite: one peer in one experiment, in this process, which the runner may end.

cell.py MODULE CLASS EXPERIMENT FOLDER DEVICE [WORK...]: prints a line of JSON for what is done, as soon as it is:
{"version"}, {"work", "begin", "end", ...} for each work, {"outcome"} of a fault, {"cannot": WHY}, {"failed": WHY}.
Times are time.monotonic's, which all processes of a machine share.
"""

import importlib
import json
import pathlib
import sys
import time
from typing import Any, Dict

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from interface import CannotRun, Peer  # noqa: E402


def say(**what: Any) -> None:
    print("CELL " + json.dumps(what), flush=True)


def wait_for_device(device: str) -> None:
    if device == "cuda":
        import torch

        torch.cuda.synchronize()


def one_line(error: BaseException) -> str:
    text = str(error).strip()
    return f"{type(error).__name__}: {text.splitlines()[0] if text else ''}"[:300]


def tune(peer: Peer, work: str, device: str, measured: bool) -> None:
    """Tunes `work`, and measures the choice among all candidates with the one timer."""
    why = peer.WORKS.get(work, "it has none of this")
    if why is not None:
        return say(work=work, cannot=why)
    wait_for_device(device)
    begin = time.monotonic()
    try:
        choice = peer.tune(work)
        wait_for_device(device)
    except CannotRun as error:
        return say(work=work, cannot=str(error))
    except Exception as error:  # noqa: BLE001
        return say(work=work, failed=one_line(error))
    end = time.monotonic()
    found: Dict[str, Any] = dict(
        work=work,
        begin=begin,
        end=end,
        seconds=end - begin if choice.seconds is None else choice.seconds,
        config=choice.config,
        tried=choice.tried,
        candidates_failed=choice.failed,
        searched=choice.searched,
    )
    say(**found)  # What follows may fail, or the deadline may end it.
    if measured and device == "cuda":
        from one_timer import measure

        times = measure({**(choice.space or {}), "the choice": choice.launch})
        say(**found, selected_us=times.pop("the choice", None), space_us=times)


def fault(peer: Peer, kind: str) -> None:
    why = peer.FAULTS.get(kind, "it has no candidates of its user's")
    if why is not None:
        return say(cannot=why)
    begin = time.monotonic()
    try:
        choice = peer.faulty(kind)
    except CannotRun as error:
        return say(cannot=str(error))
    except Exception as error:  # noqa: BLE001
        return say(outcome="error", error=one_line(error), seconds=time.monotonic() - begin)
    seconds = time.monotonic() - begin
    chose_faulty = choice.config.endswith("FAULT")
    try:
        sound = peer.sound(choice)
        why_not = "" if sound else "what it chose computes something else"
    except Exception as error:  # noqa: BLE001
        sound, why_not = False, one_line(error)
    outcome = "chose the faulty one" if chose_faulty else "chose a sound one" if sound else "context lost"
    say(outcome=outcome, error=why_not, seconds=seconds, candidates_failed=choice.failed)


def main() -> int:
    module, name, experiment, folder, device, *works = sys.argv[1:]
    kind = getattr(importlib.import_module(module), name)
    peer: Peer = kind(device) if device == "cpu" else kind()
    path = pathlib.Path(folder)
    path.mkdir(parents=True, exist_ok=True)
    try:
        say(version=peer.prepare(path))
        if device == "cuda":
            import torch

            torch.zeros(1, device="cuda")  # The context is no part of what a tune costs.
    except CannotRun as error:
        say(cannot=str(error))
        return 0
    if experiment in ("crash", "hang", "wrong"):
        fault(peer, experiment)
        return 0
    for work in works:
        tune(peer, work, device, measured=experiment == "tune")
    return 0


if __name__ == "__main__":
    sys.exit(main())
