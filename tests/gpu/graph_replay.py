#!/usr/bin/env python3
"""A bundle whose kernels make descriptors on the GPU, replayed 50 times from a PyTorch graph of four launches:

  python3 -X faulthandler graph_replay.py BUNDLES_FOLDER BUNDLE [--backend BACKEND] [--kernel-first]

Each step is said before it begins, so that a crash is found. --backend: tile, triton or cuda alone. --kernel-first: the
kernel ends before its graph does, and another of it is made between the two.
"""
import argparse
import json
import pathlib
import shutil
import tempfile

import torch

import tuneonce

HALF = torch.float16
OUTPUT = {"decode_attention": 4, "grouped_gemm": 3, "varlen_attention": 4, "paged_attention": 6}


def of_slices():
    """By bundle, arguments of a GPU full of blocks. Where a kernel slices a tensor at places that lie on the device, it makes
    the descriptor of its loads itself, in memory of the driver's."""
    def halves(*shape):
        return torch.rand(*shape, dtype=HALF, device="cuda") - 0.5

    def whole(*numbers):
        return torch.tensor(numbers, dtype=torch.int32, device="cuda")

    lengths, offsets = whole(*[8192] * 8), whole(*range(0, 4097, 512))
    pages = torch.randperm(8 * 64, device="cuda").to(torch.int32).reshape(8, 64)
    return {
        "decode_attention": (halves(8, 32, 128), halves(8, 8, 8192, 128), halves(8, 8, 8192, 128), lengths, halves(8, 32, 128),
                             torch.zeros(8, 32, dtype=torch.int32, device="cuda"), 0.09),
        "grouped_gemm": (halves(4096, 1024), halves(8, 1024, 2048), offsets, halves(4096, 2048)),
        "varlen_attention": (halves(4096, 32, 128), halves(4096, 8, 128), halves(4096, 8, 128), offsets, halves(4096, 32, 128),
                             0.09, True),
        "paged_attention": (halves(4096, 32, 128), halves(8 * 64, 64, 8, 128), halves(8 * 64, 64, 8, 128), pages,
                            whole(*[4096] * 8), offsets, halves(4096, 32, 128), 0.09, True)}


def only(folder, backend):
    """A copy of the bundle that has the configs of one back end."""
    copy = pathlib.Path(tempfile.mkdtemp()) / folder.name
    shutil.copytree(folder, copy)
    manifest = json.loads((copy / "manifest.json").read_text())
    next(a for a in manifest["axes"] if a["name"] == "backend")["values"] = [backend]
    manifest["configs"] = [c for c in manifest["configs"] if c["backend"] == backend]
    manifest["variants"] = [v for v in manifest["variants"] if v.get("backend", v["name"]) == backend]
    manifest["baseline"] = manifest["configs"][0]
    (copy / "manifest.json").write_text(json.dumps(manifest))
    return copy


def say(*words):
    print(*words, flush=True)


def replay(bundle, name, kernel_first):
    arguments = of_slices()[name]
    say(name, "is tuned")
    kernel = tuneonce.TunedKernel(bundle, store="memory")
    kernel(*arguments)
    torch.cuda.synchronize()
    say("it runs", kernel.explain(*arguments))
    written = arguments[OUTPUT[name]]
    expected = written.clone()
    say("it is captured")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(4):
            kernel(*arguments)
    written.zero_()
    for i in range(50):
        graph.replay()
        if i == 0:
            torch.cuda.synchronize()
            say("it was replayed once")
    torch.cuda.synchronize()
    assert torch.equal(written, expected), name
    if kernel_first:
        say("the kernel ends")
        del kernel
        say("another is made and launched")
        kernel = tuneonce.TunedKernel(bundle, store="memory")
        kernel(*arguments)
        torch.cuda.synchronize()
    say("the graph ends")
    graph.reset()
    torch.cuda.synchronize()
    say("the kernel ends")
    del kernel
    say("passed")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("bundle", choices=sorted(OUTPUT))
    parser.add_argument("--backend")
    parser.add_argument("--kernel-first", action="store_true")
    options = parser.parse_args()
    bundle = options.folder / options.bundle
    replay(only(bundle, options.backend) if options.backend else bundle, options.bundle, options.kernel_first)


if __name__ == "__main__":
    main()
