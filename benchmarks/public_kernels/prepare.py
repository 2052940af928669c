#!/usr/bin/env python3
"""Gathers what run.py needs into a folder that a machine without a network can be given: wheels, and a checkout's
tutorials. What run.py --export-only exports into it here need not be exported there.

prepare.py --work FOLDER [--python 3.12] [--triton-checkout DIR]
"""
import argparse
import ast
import json
import pathlib
import shutil
import subprocess
import sys
from typing import List, Sequence

from kernel_list import HERE, PublicKernel, is_module, read

# What the packages import beside PyTorch and Triton, which the machine has.
NEEDED = ["cuda-tile==1.7.0", "typing-extensions", "packaging", "pyyaml", "sqlalchemy"]
LARGEST_MB = 55


def download(work: pathlib.Path, python: str, requirements: Sequence[str]) -> None:
    wheels = work / "wheels"
    wheels.mkdir(parents=True, exist_ok=True)
    subprocess.run([
        sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary",
        ":all:", "--python-version", python, "--dest",
        str(wheels), *requirements],
                   check=True)


def copy_checkout(work: pathlib.Path, checkout: pathlib.Path, kernels: Sequence[PublicKernel]) -> None:
    for file in sorted({k.file for k in kernels if not is_module(k.file)}):
        source, copy = checkout / file, work / "checkout" / file
        if not source.is_file():
            raise SystemExit(f"{checkout} has no {file}")
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, copy)


def moved(packages: pathlib.Path, kernels: Sequence[PublicKernel]) -> List[str]:
    """Kernels that are not on the line of which the list speaks: another version, then."""
    lines = []
    for kernel in kernels:
        path = packages / kernel.file
        if not path.is_file():
            lines.append(f"{kernel.id}: there is no {kernel.file}")
            continue
        found = [
            n.lineno
            for n in ast.walk(ast.parse(path.read_text()))
            if isinstance(n, ast.FunctionDef) and n.name == kernel.kernel]
        if found != [kernel.line]:
            lines.append(f"{kernel.id}: {kernel.kernel} is on line {found} of {kernel.file}, not on {kernel.line}")
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    parser.add_argument("--python", default="3.12", help="of the machine with the GPU (default: 3.12)")
    parser.add_argument("--triton-checkout",
                        type=pathlib.Path,
                        help="of the commit that the list names; only its tutorials are taken")
    options = parser.parse_args()
    work = options.work.resolve()
    kernels = read(HERE / "kernels.json")
    packages = json.loads((HERE / "kernels.json").read_text())["packages"]
    download(work, options.python, [*(p["pypi"] for p in packages.values() if "pypi" in p), *NEEDED])
    if options.triton_checkout:
        copy_checkout(work, options.triton_checkout, kernels)
    else:
        print("SKIPPED: no --triton-checkout, so that the tutorials will be refused")
        kernels = [k for k in kernels if is_module(k.file)]
    import run
    run.unpack(work, kernels)
    lines = moved(work / "packages", kernels)
    size = sum(f.stat().st_size
               for part in ("wheels", "checkout", "bundles")
               for f in (work / part).rglob("*")
               if f.is_file()) / 1e6
    print("\n".join([*lines, f"{size:.1f} MB to carry: {work}/wheels, checkout and bundles"]))
    return 1 if lines or size > LARGEST_MB else 0


if __name__ == "__main__":
    sys.exit(main())
