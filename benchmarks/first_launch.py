#!/usr/bin/env python3
"""Time to the first tuned launch of a matmul, each in a process of its own: ours cold (nothing stored: compiles and
searches), ours with a warm store, ours from a bundle that was compiled ahead with its selections; beside cuTile's
exhaustive_search and Triton's autotune, which begin as cold, and again with their compile caches warm.

first_launch.py --tuneonce COMMAND [--bundles FOLDER] [--device cuda|cpu] [--runs N] [--shape M N K] > JSON

Counted is from the first line that is the kernel's (load, or the call that searches) to the end of the first tuned
launch, the device synchronized; not importing modules, the context, or the tensors, which a host has. On the CPU device
ours alone run. Needs tuneonce on PYTHONPATH; on a GPU torch too, and for the peers triton and cuda-tile; who is not
there is left out, in words. Run it with nothing else on the machine.
"""
import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

GOAL = 20  # Precompiled is to take at most this part of the peers' cold.
TILES = [(m, n, k) for m in (64, 128) for n in (64, 128) for k in (32, 64)]


def tensors(device, m, n, k):
    """a, b, c, and a function that waits for the device."""
    if device == "cpu":
        import numpy
        return [numpy.ones(shape, numpy.float16) for shape in ((m, k), (k, n), (m, n))], lambda: None
    import torch
    made = [torch.rand(shape, dtype=torch.float16, device="cuda") for shape in ((m, k), (k, n), (m, n))]
    torch.cuda.synchronize()
    return made, torch.cuda.synchronize


def timed(call, wait):
    start = time.perf_counter()
    value = call()
    wait()
    return time.perf_counter() - start, value


def run_ours(options):
    import tuneonce
    (a, b, c), wait = tensors(options.device, *options.shape)

    def first():
        kernel = tuneonce.TunedKernel(pathlib.Path(options.bundle), options.device, store=options.store)
        kernel(a, b, c)
        return kernel

    seconds, kernel = timed(first, wait)
    counters = kernel.counters()
    return {"seconds": seconds, "tunes": counters["tunes"], "stored_hits": counters["stored_hits"]}


def run_cutile(options):
    import cuda.tile as ct
    import torch
    sys.path.insert(0, str(options.bundles / "matmul"))
    from matmul import matmul
    (a, b, c), wait = tensors("cuda", *options.shape)
    m, n, _ = options.shape
    space = [dict(tiles=tiles, occupancy=occupancy) for tiles in TILES for occupancy in (1, 2)]
    stream = torch.cuda.current_stream()

    def first():
        result = ct.tune.exhaustive_search(
            space, stream, lambda config: (ct.cdiv(m, config["tiles"][0]), ct.cdiv(n, config["tiles"][1])), matmul,
            lambda config: (a, b, c, *config["tiles"]), lambda config: {"occupancy": config["occupancy"]}, quiet=True)
        best = result.best.config
        ct.launch(stream, (ct.cdiv(m, best["tiles"][0]), ct.cdiv(n, best["tiles"][1])),
                  matmul.replace_hints(occupancy=best["occupancy"]), (a, b, c, *best["tiles"]))

    return {"seconds": timed(first, wait)[0]}


def run_triton(options):
    import triton
    sys.path.insert(0, str(options.bundles / "matmul"))
    from matmul_triton import matmul
    (a, b, c), wait = tensors("cuda", *options.shape)
    m, n, k = options.shape
    configs = [triton.Config(dict(zip(("TILE_M", "TILE_N", "TILE_K"), tiles)), num_warps=warps)
               for tiles in TILES for warps in (4, 8)]
    tuned = triton.autotune(configs=configs, key=["M", "N", "K"])(matmul)

    def first():
        tuned[lambda meta: (triton.cdiv(m, meta["TILE_M"]), triton.cdiv(n, meta["TILE_N"]))](a, b, c, m, n, k)

    return {"seconds": timed(first, wait)[0]}


CHILDREN = {"ours": run_ours, "cutile": run_cutile, "triton": run_triton}


class Benchmark:
    def __init__(self, options, work):
        self.options, self.work = options, work
        self.environment = dict(os.environ, TUNEONCE_BUNDLES=str(options.bundles), TUNEONCE_STORE="memory")
        self.environment.pop("DISABLE_AUTOTUNE", None)

    def child(self, what, *, bundle="", store="memory", cache="", hide=False):
        environment = dict(self.environment)
        if cache:  # Of the peers' compilers.
            environment.update(TRITON_CACHE_DIR=f"{cache}/triton", CUDA_TILE_CACHE_DIR=f"{cache}/cutile",
                               CUDA_CACHE_PATH=f"{cache}/cuda", XDG_CACHE_HOME=f"{cache}/xdg")
        if hide:
            environment.update(TUNEONCE_CXX="/nowhere/c++", TUNEONCE_TILEIRAS="/nowhere/tileiras",
                               TUNEONCE_PTXAS="/nowhere/ptxas", TUNEONCE_NVRTC="/nowhere/libnvrtc.so.13")
        options = self.options
        command = [sys.executable, __file__, "--child", what, "--bundle", str(bundle), "--store", str(store),
                   "--device", options.device, "--bundles", str(options.bundles), "--shape", *map(str, options.shape)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"{what}: {(done.stderr.strip() or 'no output').splitlines()[-1]}")
        return json.loads(done.stdout.splitlines()[-1])

    def target(self):
        if self.options.device == "cpu":
            return "cpu"
        import torch
        return "sm_%d%d" % torch.cuda.get_device_capability()

    def ours(self):
        source = self.options.bundles / "matmul"
        found = {"cold": [], "warm_store": [], "precompiled": []}
        for run in range(self.options.runs):
            store = self.work / f"run{run}" / "store.db"
            found["cold"].append(self.child("ours", bundle=source, store=store))
            found["warm_store"].append(self.child("ours", bundle=source, store=store))
            # What is shipped: made once.
            ahead = self.work / "ahead" / "matmul"
            if not ahead.exists():
                command = [self.options.tuneonce, "bundle", "compile", source, "--target", self.target(),
                           "--selections", store, "-o", ahead]
                subprocess.run(command, env=self.environment, check=True, stdout=subprocess.DEVNULL)
            found["precompiled"].append(self.child("ours", bundle=ahead, store="memory", hide=True))
        for name, tunes in [("cold", 1), ("warm_store", 0), ("precompiled", 0)]:
            if any(each["tunes"] != tunes for each in found[name]):
                raise RuntimeError(f"{name}: expected {tunes} searches: {found[name]}")
        return {name: [each["seconds"] for each in runs] for name, runs in found.items()}

    def peer(self, what):
        found = {"cold": [], "warm_cache": []}
        for run in range(self.options.runs):
            cache = self.work / f"{what}{run}"
            found["cold"].append(self.child(what, cache=cache)["seconds"])
            found["warm_cache"].append(self.child(what, cache=cache)["seconds"])
            shutil.rmtree(cache, ignore_errors=True)
        return found

    def run(self):
        report = {"device": self.options.device, "shape": self.options.shape, "runs": self.options.runs,
                  "tuneonce": self.ours()}
        for what in () if self.options.device == "cpu" else ("cutile", "triton"):
            try:
                report[what] = self.peer(what)
            except RuntimeError as error:
                report[what + "_left_out"] = str(error)
        medians = {f"{who} {name}": statistics.median(seconds) for who, found in report.items()
                   if isinstance(found, dict) for name, seconds in found.items()}
        report["median_s"] = medians
        for what in ("cutile", "triton"):
            if f"{what} cold" in medians:
                report[f"{what}_cold_over_precompiled"] = medians[f"{what} cold"] / medians["tuneonce precompiled"]
        report["goal"] = f"precompiled <= 1/{GOAL} of each peer's cold"
        print(json.dumps(report, indent=1))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    here = pathlib.Path(__file__).resolve().parent
    parser.add_argument("--tuneonce", default="tuneonce", help="the command")
    parser.add_argument("--bundles", type=pathlib.Path, default=here.parent / "bundles")
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--shape", type=int, nargs=3, metavar=("M", "N", "K"))
    parser.add_argument("--child", choices=sorted(CHILDREN), help=argparse.SUPPRESS)
    parser.add_argument("--bundle", default="", help=argparse.SUPPRESS)
    parser.add_argument("--store", default="memory", help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.shape = options.shape or ([512, 512, 512] if options.device == "cpu" else [4096, 4096, 4096])
    if options.child:
        print(json.dumps(CHILDREN[options.child](options)))
        return
    with tempfile.TemporaryDirectory() as work:
        Benchmark(options, pathlib.Path(work)).run()


if __name__ == "__main__":
    main()
