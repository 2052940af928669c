#!/usr/bin/env python3
"""Gathers what the benchmarks of this folder need on a machine without a network, into one folder.

The folder gets these scripts, the command with the shared libraries that it needs, Kernel Tuner as wheels, and the
public kernels, which are read from git directories of KTT and of the benchmark hub at fixed commits. Nothing of these
is in this project.
"""

import argparse
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent

KTT = "931c41570df4ae279a2fb1d422be781728b39bed"  # github.com/HiPerCoRe/KTT
HUB = "8eeb99e7179e6838af95d392ac6c60cebfd8c434"  # github.com/AutoTuningAssociation/benchmark_hub

# Kernel Tuner and what it imports, without numpy, scipy, scikit-learn, pandas, matplotlib, attrs and packaging.
WHEELS = [
    "kernel-tuner==1.5.0", "python-constraint2==2.9.0", "pymoo==0.6.2", "moocore==0.3.2", "cffi==2.1.1",
    "pycparser==3.12", "platformdirs", "autograd==1.9.1", "cma==4.5.0", "alive_progress==3.3.0", "about-time==4.2.1",
    "graphemeu==0.7.2", "Deprecated==3.0.1", "wrapt", "xmltodict==1.0.4", "jsonschema==4.26.0",
    "jsonschema-specifications==2025.9.1", "referencing==0.37.0", "rpds-py==2026.9.1",
]  # fmt: skip
LIBRARIES = ("libabsl", "libsqlite3", "libhiredis", "libcrypto", "libssl")  # Others are on every machine.


def show(git: pathlib.Path, commit: str, path: str) -> str:
    return subprocess.run(["git", "-C", str(git), "show", f"{commit}:{path}"], check=True, capture_output=True,
                          text=True).stdout


def write_kernels(folder: pathlib.Path, ktt: pathlib.Path, hub: pathlib.Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "gemm.cu").write_text(show(ktt, KTT, "Examples/ClTuneGemm/ClTuneGemm.cu"))
    # One file: its header is put in the place of the line that includes it. A space of BAT has this third extent.
    header, source = (show(hub, HUB, f"kernels/dedisp_milo/dedispersion.{kind}") for kind in ("h", "cu"))
    included = source.replace('#include "dedispersion.h"', header, 1)
    (folder / "dedispersion.cu").write_text("#define block_size_z 1\n" + included)


def copy_command(folder: pathlib.Path, build: pathlib.Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for program in ("tuneonce", "tuneonce_worker"):
        shutil.copy2(build / "bin" / program, folder / program)
        subprocess.run(["strip", str(folder / program)], check=True)
    linked = subprocess.run(["ldd", str(build / "bin" / "tuneonce")], check=True, capture_output=True, text=True).stdout
    for line in linked.splitlines():
        name, _, rest = line.strip().partition(" => ")
        if name.startswith(LIBRARIES) and rest:
            shutil.copy2(rest.split()[0], folder / name)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--build", type=pathlib.Path, required=True, help="a build's folder, with bin/tuneonce")
    parser.add_argument("--ktt", type=pathlib.Path, required=True, help="a git directory of KTT")
    parser.add_argument("--benchmark-hub", type=pathlib.Path, required=True, help="a git directory of the hub")
    parser.add_argument("--python", default="3.12", help="the version of Python there")
    options = parser.parse_args()
    write_kernels(options.folder / "kernels", options.ktt, options.benchmark_hub)
    copy_command(options.folder / "bin", options.build)
    (options.folder / "scripts").mkdir(exist_ok=True)
    for file in [*HERE.glob("*.py"), *HERE.glob("*.cu"), *HERE.glob("*.cc")]:
        shutil.copy2(file, options.folder / "scripts" / file.name)
    platforms = [f"--platform=manylinux{kind}_x86_64" for kind in ("_2_28", "_2_27", "_2_17", "2014")]
    command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary=:all:", "--implementation=cp"]
    command += [f"--python-version={options.python}", *platforms, "-d", str(options.folder / "wheels"), *WHEELS]
    return subprocess.run(command).returncode


if __name__ == "__main__":
    sys.exit(main())
