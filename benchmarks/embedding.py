#!/usr/bin/env python3
"""embedding.py --root FOLDER --lib FILE [--cuda-include FOLDER] [--fetch FOLDER ...] [--json FILE]

What a C++ program pays for linking libtuneonce: bytes of the stripped program, with and without --gc-sections; time from
spawn to exit; CPU seconds to compile the headers; symbols of tuneonce that a plugin exports. --root is the source tree, --lib
a static library that was built from it (build/release/lib/libtuneonce.a). Needs g++, binutils, and Abseil and SQLite as static
and as shared libraries. Nothing is tuned, and no GPU is needed.

With --fetch, also what a project pays that fetches tuneonce by FetchContent and builds its own program by two jobs, without
a compiler cache: for each source tree that is named, in turn. Needs cmake, ninja and what scripts/install_dependencies
installs.
"""
import argparse
import json
import os
import resource
import statistics
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any, Dict, List

ABSEIL = ["-labsl_" + name for name in ("str_format_internal", "strings", "strings_internal", "base", "spinlock_wait",
                                        "int128", "throw_delegate", "raw_logging_internal", "log_severity")]
EMPTY = "int main(int count, char**) { return count > 5; }\n"
HOST = """#include "tuneonce/tuneonce.h"
int main(int count, char** values) {
  if (count < 5) return 0;
  auto kernel = tuneonce::TunedKernel::FromBundle(values[1]);
  return kernel.ok() && kernel->Launch(nullptr, 1.0f).ok() ? 1 : 0;
}
"""
PLUGIN = HOST.replace("int main(", 'extern "C" int Run(')
ONLY_RUN = "{ global: Run; local: *; };\n"
FETCHING = """cmake_minimum_required(VERSION 3.22)
project(host LANGUAGES CXX)
set(CMAKE_BUILD_TYPE Release)
include(FetchContent)
FetchContent_Declare(tuneonce SOURCE_DIR "{tree}")
FetchContent_MakeAvailable(tuneonce)
add_executable(host host.cc)
target_link_libraries(host PRIVATE tuneonce::tuneonce)
"""
RUNS = 400


def run(command: List[str]) -> None:
    subprocess.run(command, check=True)


def cpu_seconds(command: List[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    run(command)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def spawn_ms(programs: Dict[str, Path]) -> Dict[str, float]:
    """The first quartile of each program's time from spawn to exit, taken in turns."""
    times: Dict[str, List[float]] = {name: [] for name in programs}
    for _ in range(RUNS):
        for name, program in programs.items():
            begin = time.perf_counter()
            os.waitpid(os.posix_spawn(program, [str(program)], os.environ), 0)
            times[name].append((time.perf_counter() - begin) * 1e3)
    return {name: round(statistics.quantiles(taken)[0], 3) for name, taken in times.items()}


def exported(plugin: Path) -> int:
    names = subprocess.run(["nm", "-DC", "--defined-only", plugin], check=True, capture_output=True, text=True).stdout
    return sum("tuneonce" in line for line in names.splitlines())


def commit_of(tree: str) -> str:
    told = subprocess.run(["git", "-C", tree, "rev-parse", "--short", "HEAD"], check=True, capture_output=True, text=True)
    return told.stdout.strip()


def build_fetched(tree: str, cuda_include: str, folder: Path) -> Dict[str, Any]:
    folder.mkdir()
    (folder / "host.cc").write_text(HOST)
    (folder / "CMakeLists.txt").write_text(FETCHING.format(tree=os.path.abspath(tree)))
    build = folder / "build"
    run(["cmake", "-G", "Ninja", "-S", str(folder), "-B", str(build), f"-DTUNEONCE_CUDA_INCLUDE_DIR={cuda_include}"])
    begin = time.perf_counter()
    seconds = cpu_seconds(["cmake", "--build", str(build), "--target", "host", "--parallel", "2"])
    return {"commit": commit_of(tree), "cpu_seconds": round(seconds), "seconds": round(time.perf_counter() - begin)}


def measure(arguments: argparse.Namespace, folder: Path) -> Dict[str, Any]:
    compiler = ["g++", "-std=c++17", "-O2", "-fPIC", f"-I{arguments.root}/include", "-isystem", arguments.cuda_include]
    system = ["-latomic", "-ldl", "-lpthread"]
    third = [*ABSEIL, "-lsqlite3"]
    statically = ["-Wl,-Bstatic", *third, "-Wl,-Bdynamic", "-lm", "-lz"]
    for name, text in {"empty": EMPTY, "host": HOST, "plugin": PLUGIN}.items():
        (folder / f"{name}.cc").write_text(text)
        run([*compiler, "-c", f"{folder}/{name}.cc", "-o", f"{folder}/{name}.o"])
    (folder / "run.map").write_text(ONLY_RUN)
    # An empty C++ program has the C++ library, as any host has.
    links = {
        "empty": ["empty.o", "-Wl,--no-as-needed", "-lstdc++"],
        "host": ["host.o", arguments.lib, *third],
        "host_gc": ["host.o", "-Wl,--gc-sections", arguments.lib, *third],
        "host_static": ["host.o", arguments.lib, *statically],
        "plugin": ["plugin.o", "-shared", arguments.lib, *third],
        "plugin_with_version_script": ["plugin.o", "-shared", "-Wl,--version-script=run.map", arguments.lib, *third],
    }
    for name, inputs in links.items():
        subprocess.run(["g++", *inputs, *system, "-o", name], check=True, cwd=folder)
        run(["strip", f"{folder}/{name}"])
    sizes = {name: (folder / name).stat().st_size for name in ("empty", "host", "host_gc", "host_static")}
    starts = spawn_ms({name: folder / name for name in ("empty", "host", "host_static")})
    headers = {}
    for header in ("tuneonce", "tuned_kernel"):
        (folder / "header.cc").write_text(f'#include "tuneonce/{header}.h"\n')
        headers[header] = round(statistics.median(
            cpu_seconds([*compiler, "-O0", "-fsyntax-only", f"{folder}/header.cc"]) for _ in range(5)), 2)
    return {
        "commit": commit_of(arguments.root),
        "date": time.strftime("%Y-%m-%d"),
        "added_bytes": {name: sizes[name] - sizes["empty"] for name in sizes if name != "empty"},
        "start_ms": starts,
        "header_cpu_seconds": headers,
        "symbols_of_tuneonce": {name: exported(folder / name) for name in ("plugin", "plugin_with_version_script")},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", required=True)
    parser.add_argument("--lib", required=True, type=os.path.abspath)
    parser.add_argument("--cuda-include", default="/usr/local/cuda/include")
    parser.add_argument("--fetch", nargs="+", default=[], metavar="FOLDER")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        measured = measure(arguments, Path(folder))
        os.environ["CCACHE_DISABLE"] = "1"
        measured["fetch_content"] = [build_fetched(tree, arguments.cuda_include, Path(folder, f"fetching_{i}"))
                                     for i, tree in enumerate(arguments.fetch)]
    text = json.dumps(measured, indent=2)
    print(text)
    if arguments.json:
        arguments.json.write_text(text + "\n")


if __name__ == "__main__":
    main()
