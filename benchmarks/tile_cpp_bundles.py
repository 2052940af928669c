"""Bundles in CUDA Tile C++ against the same bundles in Tile IR from cuTile, and attention with flush-to-zero and
approximate math as axes against attention without, each tuned and then raced by `tuneonce compare`.

tile_cpp_bundles.py --tuneonce PROGRAM --bundles FOLDER --json FILE [--only NAME ...]

Needs a GPU, tileiras, and NVRTC 13.3 or newer. A speedup is the time of Tile IR (or without the axes) divided by that
of Tile C++ (or with them), with its 95 % interval.
"""
import argparse
import itertools
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

SHAPES = {
    "vector_add": ["N=1000000", "N=67108864"],
    "softmax": ["M=4096 N=1024", "M=4096 N=16384"],
    "rms_norm": ["M=64 N=4096", "M=4096 N=4096", "M=2048 N=16384"],
    "matmul": ["M=4096 N=4096 K=4096", "M=1024 N=4096 K=4096", "M=16 N=4096 K=4096", "M=300 N=1008 K=2000"],
    "attention": ["S=4096 T=4096 B=2 H=32 G=8 D=128", "S=2048 T=2048 B=1 H=32 G=8 D=128",
                  "S=2048 T=2048 B=1 H=32 G=8 D=64"],
}


def attention_with(flags, bundle, folder):
    """A copy of the bundle attention, under `folder`, whose Tile IR and Tile C++ race with these (ftz, approx)."""
    copy = folder / f"flags_{len(flags)}" / bundle.name
    shutil.copytree(bundle, copy)
    manifest = json.loads((copy / "manifest.json").read_text())
    configs = [config for config in manifest["configs"] if config["backend"] == "tile" and not config["ftz"]]
    manifest["configs"] = [dict(config, ftz=ftz, approx=approx) for config in configs for ftz, approx in flags]
    manifest["max_configs"] = len(manifest["configs"])
    (copy / "manifest.json").write_text(json.dumps(manifest, indent=1))
    return copy


def compare(options, a, b, shape):
    command = [options.tuneonce, "compare", a, b, "--device", "cuda", "--json"]
    for extent in shape.split():
        command += ["--shape", extent]
    done = subprocess.run(command, capture_output=True, text=True)
    try:
        row = json.loads(done.stdout)["shapes"][0]
    except (ValueError, KeyError, IndexError):
        return {"a": a, "b": b, "shape": shape, "error": (done.stderr or done.stdout)[-300:]}
    times = {side: {"config": row[side]["config"], "variant": row[side]["variant"], "us": row[side]["mean_us"]}
             for side in "ab" if row.get(side)}
    return {"shape": shape, "speedup": row["speedup"], "verdict": row["verdict"], "correctness": row["correctness"],
            "failure": row["failure"], **times}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tuneonce", required=True)
    parser.add_argument("--bundles", type=pathlib.Path, required=True)
    parser.add_argument("--json", type=pathlib.Path, required=True)
    parser.add_argument("--only", nargs="*", default=list(SHAPES) + ["flags"])
    options = parser.parse_args()
    rows = []

    def add(what, *arguments):
        rows.append({"what": what, **compare(options, *arguments)})
        print(json.dumps(rows[-1]), flush=True)
        options.json.write_text(json.dumps({"rows": rows}, indent=1))

    for name, shapes in SHAPES.items():
        for shape in shapes if name in options.only else []:
            add(f"{name}: tile to tile_cpp", f"{options.bundles / name}:tile", f"{options.bundles / name}:tile_cpp",
                shape)
    with tempfile.TemporaryDirectory() as folder:
        without, with_any = (attention_with(flags, options.bundles / "attention", pathlib.Path(folder))
                             for flags in ([(False, False)], list(itertools.product((False, True), repeat=2))))
        for shape in SHAPES["attention"][:2] if "flags" in options.only else []:
            for causal in (1, 0):
                for variant in ("tile", "tile_cpp"):
                    add(f"attention:{variant} without flags to with", f"{without}:{variant}",
                        f"{with_any}:{variant}", f"{shape} causal={causal}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
