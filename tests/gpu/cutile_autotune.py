#!/usr/bin/env python3
"""tuneonce.cutile.autotune on a GPU: cutile_autotune.py [--quick]. Needs torch with CUDA, cuda-tile with a tileiras, g++ and tuneonce
on PYTHONPATH. It checks results, and prints what a call adds and how long first calls take, compared with cuTile's own search."""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import warnings

import cuda.tile as ct
import torch

import raw_launch
import tuneonce
import tuneonce.cutile


@ct.kernel
def add_kernel(x, y, out, TILE: ct.Constant[int]):
    i = ct.bid(0)
    ct.store(out, index=(i,), tile=ct.load(x, index=(i,), shape=(TILE,), padding_mode=ct.PaddingMode.ZERO) +
             ct.load(y, index=(i,), shape=(TILE,), padding_mode=ct.PaddingMode.ZERO))


@ct.kernel
def softmax_kernel(x, out, COLUMNS: ct.Constant[int]):
    row = ct.load(x, index=(ct.bid(0), 0), shape=(1, COLUMNS), padding_mode=ct.PaddingMode.NEG_INF).astype(ct.float32)
    row = ct.exp(row - ct.max(row, axis=1, keepdims=True))
    ct.store(out, index=(ct.bid(0), 0), tile=(row / ct.sum(row, axis=1, keepdims=True)).astype(out.dtype))


@ct.kernel
def matmul_kernel(a, b, c, TM: ct.Constant[int], TN: ct.Constant[int], TK: ct.Constant[int]):
    row, column = ct.bid(0), ct.bid(1)
    total = ct.zeros((TM, TN), ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(TM, TK))):
        total = ct.mma(ct.load(a, index=(row, k), shape=(TM, TK), padding_mode=ct.PaddingMode.ZERO),
                       ct.load(b, index=(k, column), shape=(TK, TN), padding_mode=ct.PaddingMode.ZERO), total)
    ct.store(c, index=(row, column), tile=total.astype(c.dtype))


@ct.kernel
def doubled_kernel(x, TILE: ct.Constant[int]):
    i = ct.bid(0)
    ct.store(x, index=(i,), tile=ct.load(x, index=(i,), shape=(TILE,), padding_mode=ct.PaddingMode.ZERO) * 2)


@ct.kernel
def counted_kernel(x, total, TILE: ct.Constant[int]):
    tile = ct.load(x, index=(ct.bid(0),), shape=(TILE,), padding_mode=ct.PaddingMode.ZERO)
    ct.atomic_add(total, (0,), ct.sum(tile, axis=0))


def combinations(**axes):
    configs = [{}]
    for name, values in axes.items():
        configs = [{**config, name: value} for config in configs for value in values]
    return configs


CASES = {
    "add": (add_kernel, combinations(TILE=[256, 1024, 4096], occupancy=[1, 4]),
            lambda config, x, y, out: (ct.cdiv(out.shape[0], config["TILE"]),)),
    "softmax": (softmax_kernel, combinations(occupancy=[1, 2, 4, 8]), lambda config, x, out, columns: (x.shape[0],)),
    "matmul": (matmul_kernel, combinations(TM=[64, 128], TN=[64, 128], TK=[32, 64], num_ctas=[1]),
               lambda config, a, b, c: (ct.cdiv(c.shape[0], config["TM"]), ct.cdiv(c.shape[1], config["TN"]))),
}


def made(name, **options):
    kernel, configs, grid = CASES[name]
    return tuneonce.cutile.autotune(configs, grid, **options)(kernel)


def call_of(name, size=1):
    """The arguments of a call, and its outputs."""
    torch.manual_seed(0)
    if name == "add":
        x, y, out = (torch.randn(size * 98432, device="cuda") for _ in range(3))
        return (x, y, out), [out]
    if name == "softmax":
        x = torch.randn(1024 * size, 1000, device="cuda", dtype=torch.float16)
        out = torch.empty_like(x)
        return (x, out, 1024), [out]
    n = 1024 * size
    a, b = (torch.randn(n, n, device="cuda", dtype=torch.float16) for _ in range(2))
    c = torch.empty(n, n, device="cuda", dtype=torch.float16)
    return (a, b, c), [c]


def by_cutile(kernel, arguments):
    """Launches the best config by ct.launch."""
    config = kernel.configs.index(kernel.best_config)
    values = list(arguments)
    ct.launch(torch.cuda.current_stream(), kernel.grid_of(config, values), kernel.variant(config), kernel.arguments(config, values))


def check_results():
    """Ours has the bits of ct.launch with the same config."""
    for name in CASES:
        kernel = made(name)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for size in (1, 2):
                arguments, outputs = call_of(name, size)
                for _ in range(3):
                    for output in outputs:
                        output.fill_(7)
                    kernel(*arguments)
                    of_ours = [output.clone() for output in outputs]
                    for output in outputs:
                        output.fill_(8)
                    by_cutile(kernel, arguments)
                    assert all(torch.equal(a, b) for a, b in zip(of_ours, outputs)), (name, kernel.best_config)
        ours = [str(w.message) for w in caught if issubclass(w.category, RuntimeWarning)]
        assert not ours, ours
        print(f"{name}: same bits as ct.launch with {kernel.best_config}")


def check_specialization():
    kernel = made("add")
    x, y, out = (torch.randn(5000, device="cuda") for _ in range(3))
    for n in (1, 16, 17, 4096, 4097):
        for begin in (0, 1, 4):
            out.zero_()
            kernel(x[begin:begin + n], y[begin:begin + n], out[begin:begin + n])
            assert torch.equal(out[begin:begin + n], (x + y)[begin:begin + n]) and not out[begin + n:].any(), (n, begin)
    kernel(x[::2], y[::2], out[:2500])
    assert torch.equal(out[:2500], (x + y)[::2])
    print("every alignment, extent and stride: correct")


def check_in_place_and_atomics():
    tiles = combinations(TILE=[256, 1024])
    kernel = tuneonce.cutile.autotune(tiles, lambda config, x: (ct.cdiv(x.shape[0], config["TILE"]),))(doubled_kernel)
    x = torch.randn(98432, device="cuda")
    before = x.clone()
    for times in (2, 4):
        kernel(x)
        assert torch.equal(x, before * times), times
    same = made("add", in_place=["out"])
    same(x, x, x)  # One buffer for all.
    assert torch.equal(x, before * 8)
    kernel = tuneonce.cutile.autotune(tiles, lambda config, x, total: (ct.cdiv(x.shape[0], config["TILE"]),))(counted_kernel)
    total = torch.zeros(1, device="cuda")
    for _ in range(2):
        total.zero_()
        kernel(before, total)
        torch.testing.assert_close(total[0], before.sum(), rtol=1e-3, atol=1e-2)
    print("in place, one buffer for input and output, atomics: correct")


def check_graphs_streams_threads():
    kernel = made("add")
    (x, y, out), _ = call_of("add")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):  # The first call: the first config.
        kernel(x, y, out)
    graph.replay()
    assert torch.equal(out, x + y)
    kernel(x, y, out)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        kernel(x, y, out)
    out.zero_()
    graph.replay()
    assert torch.equal(out, x + y)
    stream = torch.cuda.Stream()
    for options in ({}, {"stream": stream}):
        out.zero_()
        torch.cuda.synchronize()
        with torch.cuda.stream(stream if not options else torch.cuda.current_stream()):
            kernel(x, y, out, **options)
        stream.synchronize()
        assert torch.equal(out, x + y)
    failures = []

    def work(index):
        try:
            mine = torch.randn(3000 + index % 2, device="cuda")
            result = torch.empty_like(mine)
            for _ in range(50):
                kernel(mine, mine, result)
            torch.cuda.synchronize()
            assert torch.equal(result, mine + mine)
        except Exception as error:
            failures.append(error)
    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures
    print("graphs, streams, threads: correct")


def check_devices():
    if torch.cuda.device_count() < 2:
        print("several devices: not checked, since there is one")
        return
    kernel = made("add")
    for index in (1, 0, 1):
        with torch.cuda.device(index):
            x, y = (torch.randn(5000, device=f"cuda:{index}") for _ in range(2))
            out = torch.empty_like(x)
            kernel(x, y, out)
            assert torch.equal(out, x + y), index
    print("several devices: correct")


def check_export():
    kernel = made("add")
    for n in (98432, 5000):
        x, y, out = (torch.randn(n, device="cuda") for _ in range(3))
        kernel(x, y, out)
    with tempfile.TemporaryDirectory() as folder:
        kernel.export(folder)
        bundle = tuneonce.load(folder + "/", store="memory")
        out.zero_()
        bundle(x, y, out)
        assert torch.equal(out, x + y)
    print("export: the bundle is correct")


def first_call(kind, name):
    """Seconds of the first call in this process, with PyTorch's context made before."""
    arguments, _ = call_of(name)
    torch.cuda.synchronize()
    begin = time.perf_counter()
    if kind == "ours":
        kernel = made(name)
        kernel(*arguments)
        best = kernel.best_config
    else:
        kernel = made(name)  # Only for the grid and the arguments of a config.
        values = list(arguments)
        at = {id(config): i for i, config in enumerate(kernel.configs)}
        best = ct.tune.exhaustive_search(
            kernel.configs, torch.cuda.current_stream(), lambda config: kernel.grid_of(at[id(config)], values), kernel.fn,
            lambda config: kernel.arguments(at[id(config)], values), lambda config: kernel.hints_of(at[id(config)]), quiet=True).best.config
        place = at[id(best)]
        ct.launch(torch.cuda.current_stream(), kernel.grid_of(place, values), kernel.variant(place), kernel.arguments(place, values))
    torch.cuda.synchronize()
    return time.perf_counter() - begin, str(best)


def in_processes(kind, names, folder):
    """The seconds of the first calls of all kernels in one new process."""
    environment = {**os.environ, "CUDA_TILE_CACHE_DIR": os.path.join(folder, "cutile"), "TUNEONCE_STORE": os.path.join(folder, "store.db")}
    ran = subprocess.run([sys.executable, __file__, "--child", kind, *names], env=environment, capture_output=True, text=True)
    if ran.returncode != 0:
        raise SystemExit(ran.stderr)
    return json.loads(ran.stdout.splitlines()[-1])


def print_first_calls():
    names = list(CASES)
    with tempfile.TemporaryDirectory() as of_ours, tempfile.TemporaryDirectory() as of_cutile:
        for what in ("cold", "second process"):
            ours, theirs = in_processes("ours", names, of_ours), in_processes("cutile", names, of_cutile)
            for name in names:
                print(f"{what:15} {name:8} ours {ours[name][0]:7.3f} s, cuTile {theirs[name][0]:7.3f} s, ratio "
                      f"{ours[name][0] / theirs[name][0]:.3f}; {ours[name][1]} | {theirs[name][1]}")
            total = [sum(each[n][0] for n in names) for each in (ours, theirs)]
            print(f"{what:15} {'sum':8} ours {total[0]:7.3f} s, cuTile {total[1]:7.3f} s, ratio {total[0] / total[1]:.3f}")


def print_costs():
    arguments, _ = call_of("add")
    kernel = made("add")
    kernel(*arguments)
    config, values = kernel.configs.index(kernel.best_config), list(arguments)
    grid, variant, of_kernel = kernel.grid_of(config, values), kernel.variant(config), kernel.arguments(config, values)
    stream = torch.cuda.current_stream()
    with_args = made("add", args=lambda config, x, y, out: (x, y, out, config["TILE"]))
    with_args(*arguments)
    raw_launch.print_costs(raw_launch.RawLaunch(kernel, values), [
        ("tuneonce", lambda: kernel(*arguments)),
        ("tuneonce with a stream", lambda: kernel(*arguments, stream=stream)),
        ("tuneonce with args=", lambda: with_args(*arguments)),
        ("ct.launch", lambda: ct.launch(stream, grid, variant, of_kernel)),
        ("ct.launch with the current stream", lambda: ct.launch(torch.cuda.current_stream(), grid, variant, of_kernel))])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--child", nargs="+", help=argparse.SUPPRESS)
    parser.add_argument("--quick", action="store_true", help="only check results")
    arguments = parser.parse_args()
    if arguments.child:
        print(json.dumps({name: first_call(arguments.child[0], name) for name in arguments.child[1:]}))
        return
    print(f"torch {torch.__version__}, {torch.cuda.get_device_name()}, {os.cpu_count()} cores")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TUNEONCE_STORE"] = os.path.join(folder, "store.db")
        check_results()
        check_specialization()
        check_in_place_and_atomics()
        check_graphs_streams_threads()
        check_devices()
        check_export()
        if not arguments.quick:
            print_costs()
    if not arguments.quick:
        print_first_calls()


if __name__ == "__main__":
    main()
