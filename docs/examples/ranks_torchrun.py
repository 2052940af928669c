"""A tensor-parallel matrix product: each rank has a slice of K, multiplies by a tuned kernel, and an all-reduce adds up.

    torchrun --nproc-per-node 2 ranks_torchrun.py [--device cuda|cpu]

All ranks share one search, and run the same config: they agree through a TCPStore of their own, so that nothing of it
waits for NCCL. Then op and all-reduce are served from a CUDA graph (on the CPU, by gloo and without a graph). Rank 0
prints a JSON line for each rank; exit code 1 if a rank computes something else, or runs another config than the others.
"""
import argparse
import json
import os
import sys

import torch
import torch.distributed as dist

import tuneonce.torch

M, N, K = 256, 512, 2048
REPLAYS = 8


def make_group(rank: int, size: int) -> "tuneonce.torch.StoreRanks":
    """Ranks by a store of their own, whose address goes by the process group once."""
    host = os.environ["MASTER_ADDR"]
    server = dist.TCPStore(host, 0, is_master=True, wait_for_workers=False) if rank == 0 else None
    port = [server.port if server is not None else None]
    dist.broadcast_object_list(port, src=0)
    store = server if server is not None else dist.TCPStore(host, port[0], is_master=False, wait_for_workers=False)
    # Of this start of the job: nothing of an earlier one is found.
    name = os.environ.get("TORCHELASTIC_RUN_ID", "run") + "/" + os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
    return tuneonce.torch.StoreRanks(store, rank, size, name=name)


def served(step, output: torch.Tensor, device: torch.device) -> bool:
    """Runs `step`, which writes `output`, for each request: from a CUDA graph where there is a GPU. True if it was one."""
    if device.type != "cuda":
        for _ in range(REPLAYS):
            step()
        return False
    aside = torch.cuda.Stream()
    aside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(aside):  # NCCL sets itself up before it is captured.
        step()
    torch.cuda.current_stream().wait_stream(aside)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    output.zero_()
    for _ in range(REPLAYS):
        graph.replay()
    torch.cuda.synchronize()
    return True


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"])
    kind = parser.parse_args().device
    if kind == "cuda":
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    device = torch.device(kind)
    dist.init_process_group("nccl" if kind == "cuda" else "gloo")
    rank, size = dist.get_rank(), dist.get_world_size()

    matmul = tuneonce.torch.custom_op("example::matmul", "matmul", device=kind, ranks=make_group(rank, size),
                                      ranks_exchange_code=True, store="memory")
    shape = {"M": M, "N": N, "K": K // size}
    matmul.kernel.warmup([shape])  # All ranks call it.
    matmul.kernel.freeze()  # From now on nothing is tuned.

    torch.manual_seed(1)  # The same in all ranks, of which each takes its slice.
    x, w = torch.randn(M, K, device=device), torch.randn(K, N, device=device)
    mine = slice(rank * K // size, (rank + 1) * K // size)
    x_mine, w_mine = x[:, mine].half().contiguous(), w[mine].half().contiguous()
    y = torch.empty(M, N, device=device, dtype=torch.float16)

    def step() -> None:
        y.copy_(matmul(x_mine, w_mine))
        dist.all_reduce(y)

    from_graph = served(step, y, device)
    error = (y.float() - x.half().float() @ w.half().float()).abs().max().item()
    plan = matmul.kernel.explain(shape)
    line = {"rank": rank, "config": str(plan.config), "variant": plan.variant, "from_graph": from_graph, "error": error}
    lines = [None] * size
    dist.all_gather_object(lines, line)
    if rank == 0:  # One process prints, because the lines of several may mix.
        print("\n".join(json.dumps(each) for each in lines), flush=True)
    dist.barrier()  # The store's server is rank 0's.
    dist.destroy_process_group()
    is_right = error < 1.0  # Sums of K products of halves, of which the largest are about 200.
    is_same = len({(each["config"], each["variant"]) for each in lines}) == 1
    return 0 if is_right and is_same else 1


if __name__ == "__main__":
    sys.exit(main())
