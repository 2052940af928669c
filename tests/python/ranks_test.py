"""Ranks in Python: StoreRanks over a double of torch.distributed's store, and kernels of several ranks that agree."""
import pathlib
import sys
import threading
import time
from typing import Any, Callable, Dict, List

import numpy as np

import tuneonce
from store_ranks_cases import run_all
from tuneonce.ranks import StoreRanks

BUNDLES = pathlib.Path(sys.argv[1])


class StoreDouble:
    """What of torch.distributed.Store's protocol StoreRanks uses, as TCPStore behaves: keys are texts, values bytes; an
    expected value of "" means that there is none yet, or that it is empty."""

    def __init__(self) -> None:
        self._lock, self._held = threading.Lock(), {}  # type: Any, Dict[str, bytes]

    @staticmethod
    def _bytes(value: Any) -> bytes:
        return value.encode() if isinstance(value, str) else bytes(value)

    def set(self, key: str, value: Any) -> None:
        with self._lock:
            self._held[key] = self._bytes(value)

    def get(self, key: str) -> bytes:
        with self._lock:
            return self._held[key]

    def check(self, keys: List[str]) -> bool:
        with self._lock:
            return all(key in self._held for key in keys)

    def compare_set(self, key: str, expected: Any, desired: Any) -> bytes:
        with self._lock:
            if self._held.get(key, b"") == self._bytes(expected):
                self._held[key] = self._bytes(desired)
            return self._held.get(key, self._bytes(expected))


def in_threads(size: int, body: Callable[[int], None]) -> None:
    """`body(rank)` by as many threads; what one raises is raised."""
    raised: List[BaseException] = []

    def run(rank: int) -> None:
        try:
            body(rank)
        except BaseException as error:  # noqa: B902
            raised.append(error)

    threads = [threading.Thread(target=run, args=(rank,)) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if raised:
        raise raised[0]


def expect(kind: type, words: str, call: Callable[[], Any]) -> None:
    try:
        call()
    except kind as error:
        assert words in str(error), error
        return
    raise AssertionError(f"no {kind.__name__}")


def the_suite_passes_over_the_double() -> None:
    for size in (2, 4):
        store = StoreDouble()
        in_threads(size, lambda rank: run_all(lambda name: StoreRanks(store, rank, size, name)))


def wrong_stores_and_ranks_are_errors() -> None:
    store = StoreDouble()
    expect(TypeError, "with 'set'", lambda: StoreRanks(object(), 0, 1))
    expect(ValueError, "rank 2 of 2", lambda: StoreRanks(store, 2, 2))
    StoreRanks(store, 0, 2, "job")
    expect(RuntimeError, "has 2 ranks, not 3", lambda: StoreRanks(store, 1, 3, "job"))


def kernel(ranks: Any, **options: Any) -> Any:
    return tuneonce.load(BUNDLES / "vector_add", "cpu", store="memory", isolation="off", ranks=ranks, **options)


def kernels_of_all_ranks_run_one_selection() -> None:
    size, store = 3, StoreDouble()
    choices: Dict[int, Any] = {}

    def body(rank: int) -> None:
        of_rank = kernel(StoreRanks(store, rank, size, "kernels"))
        warmed = of_rank.warmup([{"N": 4096}, {"N": 8192}])
        del warmed
        choices[rank] = [of_rank.explain({"N": n}).config for n in (4096, 8192)]
        a, b = np.ones(4096, np.float32), np.ones(4096, np.float32)
        c = np.zeros(4096, np.float32)
        of_rank(a, b, c)
        assert (c == 2).all()

    in_threads(size, body)
    assert choices[0] == choices[1] == choices[2] and None not in choices[0], choices


def ranks_distribute_keys() -> None:
    size, store = 3, StoreDouble()
    tunes: Dict[int, int] = {}
    choices: Dict[int, Any] = {}
    extents = [1024 << i for i in range(6)]  # A key each.

    def body(rank: int) -> None:
        of_rank = kernel(StoreRanks(store, rank, size, "sharing"), ranks_exchange_code=True)
        of_rank.warmup([{"N": n} for n in extents])
        choices[rank] = [of_rank.explain({"N": n}).config for n in extents]
        tunes[rank] = of_rank.counters()["tunes"]

    in_threads(size, body)
    assert choices[0] == choices[1] == choices[2] and None not in choices[0], choices
    # A rank that is done takes searches that nobody has started.
    assert sum(tunes.values()) == 6 and min(tunes.values()) >= 1, tunes


class Broken:
    """A group whose calls raise."""
    rank, size = 0, 2

    def __init__(self, error: Any) -> None:
        self.error = error

    def put(self, name: str, data: bytes) -> None:
        raise self.error

    def get(self, name: str, wait_s: float) -> Any:
        raise self.error

    def put_once(self, name: str, data: bytes, wait_s: float) -> Any:
        if isinstance(self.error, str):
            return self.error
        raise self.error


def what_a_group_raises_fails_the_warm_up_in_words() -> None:
    expect(tuneonce.Error, "raised OSError: the network is gone",
           lambda: kernel(Broken(OSError("the network is gone"))).warmup([{"N": 4096}]))
    expect(tuneonce.Error, "TimeoutError: too late", lambda: kernel(Broken(TimeoutError("too late"))).warmup([{"N": 4096}]))
    expect(tuneonce.Error, "not bytes", lambda: kernel(Broken("text")).warmup([{"N": 4096}]))
    expect(KeyboardInterrupt, "", lambda: kernel(Broken(KeyboardInterrupt())).warmup([{"N": 4096}]))
    # A rank that never comes is named, in time.
    begin = time.monotonic()
    expect(tuneonce.Error, "rank 1", lambda: kernel(StoreRanks(StoreDouble(), 0, 2), ranks_silence_ms=200).warmup([{"N": 4096}]))
    assert time.monotonic() - begin < 60
    expect(TypeError, "ranks is an object with rank, size", lambda: kernel(object()))
    expect(TypeError, "ranks_may_differ", lambda: kernel(None, ranks_may_differ=1))


the_suite_passes_over_the_double()
wrong_stores_and_ranks_are_errors()
kernels_of_all_ranks_run_one_selection()
ranks_distribute_keys()
what_a_group_raises_fails_the_warm_up_in_words()
print("ranks: ok")
