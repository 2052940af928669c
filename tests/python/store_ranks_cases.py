"""What StoreRanks must do over any store: run by every rank, with threads and a double of torch's store in CI
(ranks_test.py), with processes and torch's own where torch is (tests/gpu/torch_ranks.py)."""
import time
from typing import Any, Callable, List

LONG_S = 30.0  # Nobody waits so long unless something is wrong.
EVERY_BYTE = bytes(range(256))


def meet(group: Any, what: str) -> List[bytes]:
    """All ranks are here; what each said."""
    group.put(f"meet/{what}/{group.rank}", str(group.rank).encode())
    return [group.get(f"meet/{what}/{rank}", LONG_S) for rank in range(group.size)]


def what_is_put_is_found_by_all(group: Any) -> None:
    group.put(f"of/{group.rank}", b"first")
    group.put(f"of/{group.rank}", b"second of %d" % group.rank)
    assert meet(group, "put") == [str(rank).encode() for rank in range(group.size)]
    for rank in range(group.size):
        assert group.get(f"of/{rank}", LONG_S) == b"second of %d" % rank


def what_nobody_put_is_not_there(group: Any) -> None:
    assert group.get("nobody", 0.0) is None
    begin = time.monotonic()
    assert group.get("nobody", 0.05) is None
    assert time.monotonic() - begin >= 0.05
    group.put("somebody", b"")
    assert group.get("somebod", 0.0) is None
    assert group.get("somebody", LONG_S) == b""  # Empty is not nothing.


def bytes_come_through_whole(group: Any) -> None:
    large = EVERY_BYTE * 400
    group.put(f"{group.rank}/every", EVERY_BYTE)
    group.put(f"{group.rank}/large", large)
    assert group.put_once(f"{group.rank}/once/empty", b"", LONG_S) == b""
    assert group.put_once(f"{group.rank}/once/empty", b"late", LONG_S) == b""
    assert group.put_once(f"{group.rank}/once/every", EVERY_BYTE, LONG_S) == EVERY_BYTE
    for rank in range(group.size):
        assert group.get(f"{rank}/every", LONG_S) == EVERY_BYTE
        assert group.get(f"{rank}/large", LONG_S) == large
        assert group.get(f"{rank}/once/every", LONG_S) == EVERY_BYTE


def one_wins_a_cell_for_ever(group: Any) -> None:
    won = b""
    for cell in range(20):
        held = group.put_once(f"cell/{cell}", b"of %d" % group.rank, LONG_S)
        assert held.startswith(b"of ")
        assert group.put_once(f"cell/{cell}", b"late", LONG_S) == held == group.get(f"cell/{cell}", LONG_S)
        won += held
    group.put(f"won/{group.rank}", won)
    for rank in range(group.size):
        assert group.get(f"won/{rank}", LONG_S) == won


def who_waits_hears_the_slow_one(group: Any) -> None:
    if group.rank == group.size - 1:
        time.sleep(0.1)
        group.put("slow", b"done")
    assert group.get("slow", LONG_S) == b"done"


CASES: List[Callable[[Any], None]] = [
    what_is_put_is_found_by_all, what_nobody_put_is_not_there, bytes_come_through_whole, one_wins_a_cell_for_ever,
    who_waits_hears_the_slow_one]


def run_all(make_group: Callable[[str], Any]) -> None:
    """`make_group(name)`: this rank's group. Then: nothing of an attempt is found by the next, and a rank that comes twice
    is refused."""
    for case in CASES:
        group = make_group(case.__name__)
        case(group)
        meet(group, "end")
    dead = make_group("dead")
    dead.put("message", b"old")
    dead.put_once("cell", b"old", LONG_S)
    meet(dead, "end")
    group = make_group("living")
    assert group.get("message", 0.02) is None
    assert group.put_once("cell", b"new", LONG_S) == b"new"
    meet(group, "end")
    try:
        make_group("living")
        raise AssertionError("a rank came twice")
    except RuntimeError as error:
        assert "joined before" in str(error), error
