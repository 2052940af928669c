"""key_sharing.py [--ranks N] [--keys N] [--device cuda|cpu]: ranks that are processes with a GPU each agree over torch's
TCPStore, and share the keys of a warm-up.

Checks that all ranks run the same config of each key (by a digest), that a CUDA graph captured on each rank after
freeze() computes the right result with the agreed configs and tunes nothing, and that the keys of a rank that is killed
are taken over. Prints one line of JSON per part, with the seconds of the warm-up. Needs torch; 77 without."""
import argparse
import hashlib
import json
import multiprocessing
import os
import signal
import sys
import time
from typing import Any, Dict, List

from torch_ranks import free_port

SHAPES = [{"M": m, "N": n, "K": k} for m in (16, 64, 256, 1024, 4096)
          for n, k in ((4096, 4096), (6144, 4096), (1024, 4096), (4096, 11008), (11008, 4096), (2048, 2048))]


def group_of(rank: int, size: int, name: str, mine: Any) -> Any:
    from tuneonce.ranks import StoreRanks
    return StoreRanks(mine, rank, size, name)


def replays_right(kernel: Any, shape: Dict[str, int]) -> bool:
    """Whether a graph of a launch, captured now, computes what torch computes."""
    import torch
    a = torch.randn(shape["M"], shape["K"], device="cuda").half()
    b = torch.randn(shape["K"], shape["N"], device="cuda").half()
    c = torch.zeros(shape["M"], shape["N"], device="cuda", dtype=torch.float16)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        kernel(a, b, c)
    graph.replay()
    torch.cuda.synchronize()
    reference = a.float() @ b.float()
    return bool(((c.float() - reference).abs().max() / reference.abs().max()) < 0.01)


def rank_of(rank: int, size: int, port: int, device: str, shapes: List[Dict[str, int]], killed: int, results: Any) -> None:
    import datetime
    import torch
    import torch.distributed as dist
    if device == "cuda":
        torch.cuda.set_device(rank)
        torch.zeros(1, device="cuda")
    import tuneonce
    store = dist.TCPStore("127.0.0.1", port, size, is_master=False, timeout=datetime.timedelta(seconds=600))
    group = group_of(rank, size, f"killed{killed}", store)
    kernel = tuneonce.load("matmul", device=f"cuda:{rank}" if device == "cuda" else "cpu", ranks=group, store="memory",
                           ranks_silence_ms=5000, ranks_may_differ=killed >= 0, ranks_exchange_code=True,
                           compile_workers=max(1, (os.cpu_count() or 1) // size))
    store.set(f"ready{rank}", "1")
    store.wait([f"ready{other}" for other in range(size)])
    begin = time.monotonic()
    error = ""
    if rank == killed:  # After its vote, while it searches.
        import threading

        def kill() -> None:
            time.sleep(2)
            os.kill(os.getpid(), signal.SIGKILL)
        threading.Thread(target=kill, daemon=True).start()
    try:
        kernel.warmup(shapes)
    except Exception as failed:  # pylint: disable=broad-except
        error = str(failed)
    seconds = time.monotonic() - begin
    kernel.freeze()
    digest = hashlib.sha256()
    selected = 0
    for shape in shapes:
        plan = kernel.explain(shape)
        selected += plan.action == "selected"
        digest.update(repr((sorted(shape.items()), plan.config, plan.variant, plan.action)).encode())
    graphs = [replays_right(kernel, shape) for shape in (shapes[0], shapes[-1])] if device == "cuda" else []
    results.put({"rank": rank, "seconds": seconds, "tunes": kernel.counters()["tunes"],
                 "selected": selected, "digest": digest.hexdigest(),
                 "graphs": graphs, "frozen_misses": len(kernel.frozen_misses()), "error": error})


def run(size: int, device: str, shapes: List[Dict[str, int]], killed: int) -> bool:
    import torch.distributed as dist
    port = free_port()
    server = dist.TCPStore("127.0.0.1", port, size, is_master=True, wait_for_workers=False)
    context = multiprocessing.get_context("spawn")
    results = context.Queue()
    ranks = [context.Process(target=rank_of, args=(rank, size, port, device, shapes, killed, results))
             for rank in range(size)]
    for rank in ranks:
        rank.start()
    well = size - (1 if killed >= 0 else 0)
    all_ranks = sorted((results.get(timeout=500) for _ in range(well)), key=lambda each: each["rank"])
    for rank in ranks:
        rank.join()
    del server
    right = (len({each["digest"] for each in all_ranks}) == 1
             and all(each["selected"] == len(shapes) for each in all_ranks)
             # What a killed rank had decided is not searched for again.
             and (killed >= 0 or sum(each["tunes"] for each in all_ranks) == len(shapes))
             and all(all(each["graphs"]) and each["frozen_misses"] == 0 and not each["error"] for each in all_ranks))
    print(json.dumps({"ranks": size, "killed": killed, "keys": len(shapes), "right": right,
                      "seconds": max(each["seconds"] for each in all_ranks),
                      "tunes": {each["rank"]: each["tunes"] for each in all_ranks},
                      "digests": sorted({each["digest"][:16] for each in all_ranks}),
                      "graphs": [each["graphs"] for each in all_ranks],
                      "errors": sorted({each["error"] for each in all_ranks})}), flush=True)
    return right


def main() -> int:
    try:
        import torch
    except ImportError:
        print("skipped: there is no torch")
        return 77
    parser = argparse.ArgumentParser()
    parser.add_argument("--ranks", type=int, default=0)
    parser.add_argument("--keys", type=int, default=len(SHAPES))
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"])
    wanted = parser.parse_args()
    most = wanted.ranks or (torch.cuda.device_count() if wanted.device == "cuda" else 3)
    shapes = SHAPES[:wanted.keys]
    if wanted.device == "cpu":
        shapes = [{"M": 16, "N": 16 * (i + 1), "K": 64} for i in range(wanted.keys)]  # A bucket has several M.
    right = all([run(size, wanted.device, shapes, -1) for size in (1, 2, 4) if size <= most])
    if most > 1:
        right = run(most, wanted.device, shapes, most - 1) and right
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
