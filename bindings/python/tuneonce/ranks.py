"""Groups of ranks, which exchange the messages by which ranks agree on each key's config.

    store = torch.distributed.TCPStore("host0", 29500, world_size, rank == 0)
    group = tuneonce.torch.StoreRanks(store, rank, world_size, name="start-1")
    kernel = tuneonce.load("matmul", ranks=group)
    kernel.warmup([{"M": 4096, "N": 4096, "K": 4096}])    # called by all ranks

Nothing here needs torch.
"""
import os
import time
from typing import Any, Optional, Protocol, runtime_checkable

__all__ = ["RankGroup", "StoreRanks"]


@runtime_checkable
class RankGroup(Protocol):
    """What `ranks=` takes: C++'s RankGroup. One thread of a rank calls at a time, not always the same. What a call raises
    fails the agreement with an error."""

    @property
    def rank(self) -> int:
        """This rank's number, 0 to `size` - 1, which never changes."""

    @property
    def size(self) -> int:
        """The number of ranks."""

    def put(self, name: str, data: bytes) -> None:
        """Stores `data` under `name` for all ranks, and replaces an earlier value."""

    def get(self, name: str, wait_s: float) -> Optional[bytes]:
        """Returns what is stored under `name`, waiting up to `wait_s` seconds for it; None: nothing was stored in time."""

    def put_once(self, name: str, data: bytes, wait_s: float) -> bytes:
        """Stores `data` under `name` unless a value exists, and returns the value, which is the same for all ranks and never
        changes. Raises TimeoutError if it is not known after `wait_s` seconds."""


# How long a rank that waits leaves the store alone: at first, and at last.
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.001, 0.02
# Precedes each value, so that no stored value is empty, which compare_set treats as missing.
_MARK = b"="


class StoreRanks:
    """Ranks by a store of torch.distributed's (TCPStore, FileStore, HashStore, PrefixStore), or what has its `set`, `get`,
    `check` and `compare_set`. No process group and no collective: it cannot dead-lock NCCL.

    store: of its own for this, if there are several threads: a call of it ends when the server answers, or after the
        store's timeout (`set_timeout`).
    name: of this start of the job, so that nothing of an earlier one is found; under torchrun, say, of the run's id and
        TORCHELASTIC_RESTART_COUNT.
    """

    def __init__(self, store: Any, rank: int, size: int, name: str = "tuneonce") -> None:
        for method in ("set", "get", "check", "compare_set"):
            if not hasattr(store, method):
                raise TypeError(f"store is one of torch.distributed's, with '{method}', not {type(store).__name__}")
        if not 0 <= rank < size:
            raise ValueError(f"invalid rank {rank} of {size}")
        self._store, self._rank, self._size, self._prefix = store, rank, size, f"tuneonce/{name}/"
        me = os.urandom(16).hex().encode()
        if self._cell(f"rank/{rank}", me) != me:
            raise RuntimeError(f"rank {rank} of the group '{name}' joined before: use a new group name for each start of a job")
        if (there := self._cell("size", str(size).encode())) != str(size).encode():
            raise RuntimeError(f"the group '{name}' has {there.decode()} ranks, not {size}")

    @property
    def rank(self) -> int:
        return self._rank

    @property
    def size(self) -> int:
        return self._size

    def put(self, name: str, data: bytes) -> None:
        self._store.set(self._key(name), _MARK + data)

    def get(self, name: str, wait_s: float) -> Optional[bytes]:
        # Not the store's own wait: one that timed out leaves some versions' connections unusable.
        end, pause, key = time.monotonic() + wait_s, _FIRST_PAUSE_S, self._key(name)
        while not self._store.check([key]):
            left = end - time.monotonic()
            if left <= 0:
                return None
            time.sleep(min(pause, left))
            pause = min(2 * pause, _LONGEST_PAUSE_S)
        return self._value(self._store.get(key))

    def put_once(self, name: str, data: bytes, wait_s: float) -> bytes:
        return self._cell("said/" + name, data)

    def _key(self, name: str) -> str:
        return self._prefix + "said/" + name

    def _cell(self, name: str, data: bytes) -> bytes:
        return self._value(self._store.compare_set(self._prefix + name, "", _MARK + data))

    @staticmethod
    def _value(held: bytes) -> bytes:
        if held[:1] != _MARK:
            raise RuntimeError("the store holds something else than what was put there")
        return bytes(held[1:])
