"""Writes the bundles of public tile C++ kernels, compiles them, and compiles the same instances as their authors do.

prepare.py --work FOLDER --tilegym CHECKOUT [--cuda-samples CHECKOUT] [--target sm_90 ...] [--json FILE]

It needs `tuneonce` (--tuneonce), NVRTC 13.3 or newer, tileiras, and nvcc of the same version (--nvcc) to compare with.
WORK/bundles has the bundles, WORK/ahead those with cubins of all configs for sm_90, WORK/theirs nvcc's of the first
config. For other targets the first config is compiled, and nothing kept. FILE is added to.
"""
import argparse
import json
import pathlib
import re
import shutil
import subprocess
import tempfile
import time
from typing import Any, Dict, List, Optional, Sequence

from tile_kernel import HERE, SHIM, STANDARD_HEADERS, TileKernel, read_list

KEPT = "sm_90"  # The target whose code is kept for run.py, and compared with nvcc's.
LINE = 300  # Characters of an error that are kept.


def write_bundle(kernel: TileKernel, checkout: pathlib.Path, bundle: pathlib.Path) -> None:
    """The kernel's own file, `kernel.cu` that includes it behind SHIM, and the manifest."""
    shutil.rmtree(bundle, ignore_errors=True)
    bundle.mkdir(parents=True)
    text = (checkout / kernel.file).read_text()
    (bundle / kernel.file.name).write_text(without_host_code(text, kernel.entry.get("cut", [])))
    shutil.copy(HERE / SHIM, bundle)
    for header in STANDARD_HEADERS:
        (bundle / header).write_text(f'#include "{SHIM}"\n')
    (bundle / "kernel.cu").write_text(f'#include "{SHIM}"\n#include "{kernel.file.name}"\n')
    (bundle / "manifest.json").write_text(json.dumps(kernel.manifest(), indent=1) + "\n")


def without_host_code(text: str, functions: Sequence[str]) -> str:
    """Without the functions that begin in these ways, each up to the first line that is a lone brace: host code, and
    kernels of SIMT code, which NVRTC does not compile along with a tile kernel."""
    for function in functions:
        begin = text.index(function)
        end = text.index("\n}", begin) + 3
        text = text[:begin] + re.sub(r"[^\n]", "", text[begin:end]) + text[end:]
    return text


def run(command: Sequence[str], limit_s: float) -> Dict[str, Any]:
    """{"ok", "seconds", "error": one line, "output"}."""
    start = time.monotonic()
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=limit_s)
    except subprocess.TimeoutExpired:
        return {"ok": False, "seconds": limit_s, "error": f"did not end within {limit_s:g} s", "output": ""}
    lines = [line for line in (done.stderr + done.stdout).splitlines() if line.strip()]
    error = next((line for line in lines if "error" in line.lower() or line.startswith("tuneonce:")), (lines or
                                                                                                       [""])[0])
    return {
        "ok": done.returncode == 0,
        "seconds": round(time.monotonic() - start, 3),
        "error": "" if done.returncode == 0 else error.strip()[:LINE],
        "output": done.stdout
    }


class Preparing:
    """What is the same for all kernels."""

    def __init__(self, arguments: argparse.Namespace):
        self.arguments = arguments
        self.work: pathlib.Path = arguments.work

    def as_it_stands(self, kernel: TileKernel, checkout: pathlib.Path, target: str) -> Dict[str, Any]:
        """The kernel's file alone, with no header of ours: what a user meets first."""
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder) / "kernel.cu"
            source.write_text(f'#include "{kernel.file.name}"\n')
            found = self.compile(kernel, source, (checkout / kernel.file).parent, kernel.shapes[0], target, None)
        return {"ok": found["ok"], "error": found["error"]}

    def compile(self, kernel: TileKernel, source: pathlib.Path, include: pathlib.Path, shape: Dict[str, int],
                target: str, output: Optional[pathlib.Path]) -> Dict[str, Any]:
        config = kernel.configs()[0]
        command = [
            str(self.arguments.tuneonce), "compile",
            str(source), "--tile", "--json", "--target", target, "--symbol",
            kernel.instance(shape, config), "-I",
            str(include)
        ]
        for name, value in kernel.macros(config).items():
            command += ["-D", f"{name}={value}"]
        command += ["-o", str(output)] if output else []
        return run(command, self.arguments.limit_s)

    def ahead(self, kernel: TileKernel) -> Dict[str, Any]:
        """All configs of all variants, compiled for KEPT."""
        output = self.work / "ahead" / kernel.name
        shutil.rmtree(output, ignore_errors=True)
        output.parent.mkdir(parents=True, exist_ok=True)
        found = run([
            str(self.arguments.tuneonce), "bundle", "compile",
            str(self.work / "bundles" / kernel.name), "--target", KEPT, "-o",
            str(output), "--json", "--timeout-ms", "120000"
        ], 1200)
        if not found["ok"]:
            return {"seconds": found["seconds"], "error": found["error"]}
        told = json.loads(found["output"])["targets"][0]
        return {
            "seconds": found["seconds"],
            **{
                field: told[field] for field in ("configs", "compiled", "refused", "bytes")
            }
        }

    def first_config(self, kernel: TileKernel, bundle: pathlib.Path, target: str) -> Dict[str, Any]:
        """The first config of the first shape alone: whether the kernel compiles for this target."""
        found = self.compile(kernel, bundle / "kernel.cu", bundle, kernel.shapes[0], target, None)
        result = {"seconds": found["seconds"], "compiled": int(found["ok"]), "refused": int(not found["ok"])}
        return {**result, "error": found["error"]} if found["error"] else result

    def theirs(self, kernel: TileKernel, bundle: pathlib.Path, shape: Dict[str, int], index: int) -> Dict[str, Any]:
        """nvcc's cubin of the first config, by the options of TileGym's `compile_cuda_to_cubin`, and whether ours has
        the same bytes."""
        target = KEPT
        folder = self.work / "theirs" / kernel.name
        folder.mkdir(parents=True, exist_ok=True)
        cubin, ours = folder / f"{index}.cubin", folder / f"{index}.ours"
        config = kernel.configs()[0]
        found = self.compile(kernel, bundle / "kernel.cu", bundle, shape, target, ours)
        result: Dict[str, Any] = {"shape": shape, "ours_s": found["seconds"], "ours_error": found["error"]}
        if found["ok"]:
            told = json.loads(found["output"])
            result.update({field: told[field] for field in ("kernel", "registers", "local_bytes", "image_bytes")})
        with tempfile.TemporaryDirectory() as scratch:
            source = pathlib.Path(scratch) / "kernel.cu"
            text = f'#include "{kernel.file.name}"\n'
            if "<" in kernel.entry["symbol"]:
                instance = kernel.instance(shape, config)
                text += f"using Instance = decltype({instance});\ntemplate __tile_global__ Instance {instance};\n"
            source.write_text(text)
            headers = pathlib.Path(scratch) / "headers"  # helper_cuda.h is none of nvcc's.
            headers.mkdir()
            (headers / "helper_cuda.h").write_text("")
            found = run([
                str(self.arguments.nvcc), "-tilecubin", f"-arch={target}", "-std=c++20", "--tile-only", "-o",
                str(cubin), *[f"-D{name}={value}" for name, value in kernel.macros(config).items()], "-I",
                str(headers), "-I",
                str(bundle_of_theirs(bundle, pathlib.Path(scratch), kernel)),
                str(source)
            ], self.arguments.limit_s)
        result.update({"nvcc_s": found["seconds"], "nvcc_error": found["error"]})
        if ours.is_file() and cubin.is_file():
            result["is_identical"] = ours.read_bytes() == cubin.read_bytes()
        ours.unlink(missing_ok=True)
        return result

    def kernel(self, kernel: TileKernel) -> Dict[str, Any]:
        result: Dict[str, Any] = {"name": kernel.name, "file": str(kernel.file)}
        checkout: Optional[pathlib.Path] = getattr(self.arguments, kernel.entry["source"])
        if checkout is None or not (checkout / kernel.file).is_file():
            return {**result, "error": f"no checkout of {kernel.source['repository']} has {kernel.file}"}
        bundle = self.work / "bundles" / kernel.name
        write_bundle(kernel, checkout, bundle)
        result["targets"] = {
            target: self.ahead(kernel) if target == KEPT else self.first_config(kernel, bundle, target)
            for target in self.arguments.target
        }
        if KEPT in self.arguments.target:
            result["as_it_stands"] = self.as_it_stands(kernel, checkout, KEPT)
            shapes = kernel.shapes if kernel.is_specialized else kernel.shapes[:1]
            result["theirs"] = [self.theirs(kernel, bundle, shape, index) for index, shape in enumerate(shapes)]
            (self.work / "theirs" / kernel.name / "theirs.json").write_text(json.dumps(result["theirs"]))
        return result


def bundle_of_theirs(bundle: pathlib.Path, scratch: pathlib.Path, kernel: TileKernel) -> pathlib.Path:
    """A folder with the kernel's file alone: nvcc gets no header of ours."""
    folder = scratch / "theirs"
    folder.mkdir()
    shutil.copy(bundle / kernel.file.name, folder)
    return folder


def line_of(result: Dict[str, Any]) -> str:
    if "error" in result:
        return f"{result['name']}: {result['error']}"
    parts: List[str] = []
    for target, found in result["targets"].items():
        parts.append(f"{target} " +
                     (found.get("error") or f"{found['compiled']} of {found['compiled'] + found['refused']}"))
    same = [
        theirs.get("is_identical", theirs["nvcc_error"] or theirs["ours_error"]) for theirs in result.get("theirs", [])
    ]
    return f"{result['name']}: {', '.join(parts)}" + (f"; as nvcc's: {same}" if same else "")


def versions(arguments: argparse.Namespace) -> Dict[str, str]:
    doctor = run([str(arguments.tuneonce), "doctor"], 60)["output"].splitlines()
    nvcc = run([str(arguments.nvcc), "--version"], 60)["output"].splitlines()
    found = {"nvcc": nvcc[-2].strip() if len(nvcc) > 1 else "none"}
    for name in ("tileiras", "CUDA Tile C++"):
        line = next((line for line in doctor if f"] {name}: " in line or f"]      {name}: " in line), "")
        found[name] = ", ".join(re.findall(r"(?:release|nvrtc) [\d.]+(?:, V[\d.]+)?", line))
    commit = run(["git", "-C", str(HERE), "rev-parse", "--short=8", "HEAD"], 60)["output"].strip()
    return {"commit": commit, "date": time.strftime("%Y-%m-%d"), **found}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    parser.add_argument("--tilegym", type=pathlib.Path, help="a checkout of TileGym")
    parser.add_argument("--cuda-samples", type=pathlib.Path, help="a checkout of NVIDIA's CUDA samples")
    parser.add_argument("--tuneonce", type=pathlib.Path, default=pathlib.Path("tuneonce"))
    parser.add_argument("--nvcc", type=pathlib.Path, default=pathlib.Path("nvcc"))
    parser.add_argument("--target", action="append", help="repeatable; default: sm_90")
    parser.add_argument("--only", nargs="*", default=[], help="names of kernels")
    parser.add_argument("--limit-s", type=float, default=120, help="of each compile of one kernel")
    parser.add_argument("--json", type=pathlib.Path)
    arguments = parser.parse_args()
    arguments.target = arguments.target or ["sm_90"]
    arguments.work = arguments.work.resolve()
    preparing = Preparing(arguments)
    results: Dict[str, Any] = {"versions": versions(arguments), "kernels": {}}
    if arguments.json and arguments.json.is_file():
        results["kernels"] = json.loads(arguments.json.read_text())["kernels"]
    for kernel in read_list():
        if arguments.only and kernel.name not in arguments.only:
            continue
        found = preparing.kernel(kernel)
        print(line_of(found), flush=True)
        before = results["kernels"].get(kernel.name, {})
        found["targets"] = {**before.get("targets", {}), **found.get("targets", {})}
        results["kernels"][kernel.name] = {**before, **found}
        if arguments.json:  # As it comes.
            arguments.json.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
