"""torch_ranks.py [--size N]: StoreRanks over torch.distributed's own TCPStore and FileStore, with N processes. Needs
torch, and no GPU; 77 without torch."""
import argparse
import multiprocessing
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "python"))


def rank_of(kind: str, rank: int, size: int, place: str) -> None:
    import datetime

    import torch.distributed as dist
    from store_ranks_cases import run_all
    from tuneonce.ranks import StoreRanks
    timeout = datetime.timedelta(seconds=60)
    if kind == "TCPStore":
        store = dist.TCPStore("127.0.0.1", int(place), size, rank == 0, timeout=timeout)
    else:
        store = dist.FileStore(place, size)
    run_all(lambda name: StoreRanks(store, rank, size, name))
    # The server lives in rank 0: it stays until all are done.
    last = StoreRanks(store, rank, size, "last")
    last.put(f"done/{rank}", b"")
    for other in range(size) if rank == 0 else [0]:
        assert last.get(f"done/{other}", 60.0) is not None


def free_port() -> int:
    import socket
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def main() -> int:
    try:
        import torch
    except ImportError:
        print("skipped: there is no torch")
        return 77
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", type=int, default=4)
    size = parser.parse_args().size
    context = multiprocessing.get_context("spawn")
    for kind in ("TCPStore", "FileStore"):
        with tempfile.TemporaryDirectory() as folder:
            place = str(free_port()) if kind == "TCPStore" else f"{folder}/store"
            ranks = [context.Process(target=rank_of, args=(kind, rank, size, place)) for rank in range(size)]
            for rank in ranks:
                rank.start()
            for rank in ranks:
                rank.join()
            failed = [i for i, rank in enumerate(ranks) if rank.exitcode != 0]
            if failed:
                print(f"{kind}: ranks {failed} failed")
                return 1
            print(f"{kind}: {size} ranks passed, torch {torch.__version__}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
