#!/usr/bin/env python3
"""What a tuned launch from Python adds to a raw launch from C++ in the same process: a TunedKernel, cuTile's ct.launch
of a fixed kernel, Triton's autotuned one, each with torch tensors.

python_calls.py VECTOR_ADD_FOLDER LIBPEERS_RAW > JSON, a list of reports (see table.py). Needs torch and a GPU; of
tuneonce, cuTile (cuda-tile, with a tileiras) and Triton those that are there are run, the others have a report
{"peer", "language", "not_run": WHY}. The ways take turns batch by batch, as in interleaved.h.

cuTile has no keys: its search returns a config, and the host launches that as any fixed kernel. Triton is told its
configs' times (do_bench), since tuning 4096 keys would take it half an hour: a launch does not know the difference.
"""
import ctypes
import json
import pathlib
import statistics
import sys
import time

KEYS = (1, 64, 4096)
FIRST_SIZE, BATCH, ROUNDS, WARM_UP_ROUNDS, STEP = 32, 200, 100, 3, 1237  # As in interleaved.h.


try:
    import torch
    if not torch.cuda.is_available():
        raise RuntimeError("torch finds no GPU")
except Exception as error:  # noqa: BLE001
    print(f"Python's calls need torch and a GPU: {error}", file=sys.stderr)
    sys.exit(77)

folder = sys.argv[1]
buffer = torch.zeros(FIRST_SIZE + max(KEYS), device="cuda")
views = [buffer[:FIRST_SIZE + i] for i in range(max(KEYS))]
stream = torch.cuda.current_stream()


class Way:
    """One way to launch: `call(tensor)`, with `keys` sizes in turn."""

    def __init__(self, peer, name, keys, call, version=""):
        self.peer, self.name, self.keys, self.call, self.version = peer, name, keys, call, version
        self.at, self.host, self.added = 0, [], []

    def batch(self):
        """Host time of a launch in ns: the mean of a batch."""
        order = [views[(self.at + (i + 1) * STEP) % self.keys] for i in range(BATCH)]
        self.at = (self.at + BATCH * STEP) % self.keys
        call = self.call
        start = time.perf_counter_ns()
        for view in order:
            call(view)
        return (time.perf_counter_ns() - start) / BATCH


def raw_launch():
    raw = ctypes.CDLL(sys.argv[2])
    raw.peers_raw_ns.restype = ctypes.c_double
    raw.peers_raw_ns.argtypes = (ctypes.c_void_p, ctypes.c_ulonglong, ctypes.c_int)
    raw.peers_raw_load(folder.encode())
    return lambda: raw.peers_raw_ns(stream.cuda_stream, buffer.data_ptr(), BATCH)


def tuneonce_ways():
    import tuneonce

    def of(keys):
        kernel = tuneonce.TunedKernel(folder, store="memory")
        kernel.warmup([{"N": FIRST_SIZE + i} for i in range(keys)])
        way = Way("tuneonce", "kernel(x, y, z)", keys, lambda v: kernel(v, v, v))
        way.check = lambda: kernel.counters()["tunes"] == keys
        return way
    return [of(keys) for keys in KEYS]


def cutile_ways():
    global ct  # The compilers look their names up in the module.
    import cuda.tile as ct

    @ct.kernel
    def add(x, y, z, TILE: ct.Constant[int]):
        i = ct.bid(0)
        ct.store(z, index=(i,), tile=ct.load(x, index=(i,), shape=(TILE,)) + ct.load(y, index=(i,), shape=(TILE,)))

    def call(v):
        ct.launch(stream, ((v.shape[0] + 255) // 256,), add, (v, v, v, 256))
    call(views[0])
    return [Way("cuTile", "ct.launch", 1, call, ct.__version__)]


def triton_ways():
    global tl
    import triton
    import triton.language as tl

    def of(keys):
        @triton.autotune([triton.Config({"BLOCK": 256}), triton.Config({"BLOCK": 512})], key=["n"],
                         do_bench=lambda run, quantiles: [1.0 for _ in quantiles])
        @triton.jit
        def add(x, y, z, n, BLOCK: tl.constexpr):
            at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
            tl.store(z + at, tl.load(x + at, mask=at < n) + tl.load(y + at, mask=at < n), mask=at < n)

        def call(v):
            n = v.shape[0]
            add[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](v, v, v, n)
        for view in views[:keys]:
            call(view)
        torch.cuda.synchronize()
        return Way("Triton", "@triton.autotune", keys, call, triton.__version__)
    return [of(keys) for keys in KEYS]


def main():
    raw = raw_launch()
    ways, not_run = [], []
    for peer, make in (("tuneonce", tuneonce_ways), ("cuTile", cutile_ways), ("Triton", triton_ways)):
        try:
            ways += make()
        except Exception as error:  # noqa: BLE001
            why = f"{type(error).__name__}: {error}".split("\n")[0]
            not_run.append({"peer": peer, "language": "Python", "not_run": why})
    raws = []
    for round_ in range(-WARM_UP_ROUNDS, ROUNDS):
        torch.cuda.synchronize()
        times = [raw()]
        for way in ways:
            torch.cuda.synchronize()
            times.append(way.batch())
        if round_ >= 0:
            raws.append(times[0])
            for way, ns in zip(ways, times[1:]):
                way.host.append(ns)
                way.added.append(ns - times[0])
    torch.cuda.synchronize()
    reports = {}
    for way in ways:
        if not getattr(way, "check", lambda: True)():
            sys.exit(f"peers: not every launch of {way.peer} was a hit")
        report = reports.setdefault(way.peer, {
            "peer": way.peer, "language": "Python", "version": way.version, "device": torch.cuda.get_device_name(),
            "is_cpu_device": False, "rows": [{"call": "raw", "keys": 1, "threads": 1, "waits": False,
                                              "host_ns": statistics.median(raws), "added_ns": 0.0}]})
        report["rows"].append({"call": way.name, "keys": way.keys, "threads": 1, "waits": False,
                               "host_ns": statistics.median(way.host), "added_ns": statistics.median(way.added)})
    json.dump(list(reports.values()) + not_run, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
