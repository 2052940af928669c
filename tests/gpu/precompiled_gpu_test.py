"""The decode loop of the examples from bundles that were compiled ahead: no compiler is found, none is started, NVRTC
is not opened (tests/precompiled/exec_counter.cc sees it), nothing is searched; and without decisions all is searched, by
code that is there. On the device `cpu` a twin of that on a GPU.

precompiled_gpu_test.py --bin FOLDER --counter LIBRARY --bundles FOLDER --device cpu|cuda [--compiled FOLDER]

`--compiled` (or TUNEONCE_PRECOMPILED): bundles that another machine compiled for this GPU, where this one has no
compilers: then the run with decisions is left out. Exit code 77 where there is no GPU.
"""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

BUNDLES = ["rms_norm", "matmul", "silu_and_mul"]


def run(command, environment):
    done = subprocess.run([str(word) for word in command], env=environment, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def must(command, environment):
    code, output = run(command, environment)
    if code != 0:
        sys.exit(f"FAILED ({code}): {' '.join(map(str, command))}\n{output}")
    return output


class Test:
    def __init__(self, options, work):
        self.options, self.work = options, work
        self.tuneonce = options.bin / "tuneonce"
        self.environment = dict(os.environ, TUNEONCE_STORE="memory", TUNEONCE_BUNDLES=str(options.bundles))
        self.environment.pop("DISABLE_AUTOTUNE", None)

    def hidden(self, log):
        """An environment in which no compiler is found, and what is started is written to `log`."""
        found_by = ("CXX", "CUDA_HOME", "CUDA_PATH", "VIRTUAL_ENV")
        environment = {name: value for name, value in self.environment.items()
                       if not name.startswith("TUNEONCE_") and name not in found_by}
        nowhere = str(self.work / "nowhere")
        environment.update(TUNEONCE_STORE="memory", PATH=nowhere, HOME=nowhere, TUNEONCE_CXX=nowhere + "/c++",
                           TUNEONCE_TILEIRAS=nowhere + "/tileiras", TUNEONCE_PTXAS=nowhere + "/ptxas",
                           TUNEONCE_NVRTC=nowhere + "/libnvrtc.so.13", EXEC_COUNTER=str(log),
                           LD_PRELOAD=str(self.options.counter))
        return environment

    def target(self):
        if self.options.device == "cpu":
            return "cpu"
        doctor = must([self.tuneonce, "doctor"], self.environment)
        found = re.search(r"^\[ok\] *device cuda:0:.*?\b(sm_\d+),", doctor, re.MULTILINE)
        if not found:
            print("SKIPPED: no GPU on this machine")
            sys.exit(77)
        return found.group(1)

    def compile(self, name, target, extra):
        folder = self.work / name
        for bundle in BUNDLES:
            must([self.tuneonce, "bundle", "compile", bundle, "--target", target, "-o", folder / bundle, *extra],
                 self.environment)
        return folder

    def loop(self, folder):
        """What the decode loop did: (searches, compiles, misses and stand-ins, what the counter saw, output)."""
        log = self.work / "log"
        log.unlink(missing_ok=True)
        command = [self.options.bin / "tuneonce_decode_loop", self.options.device, *([folder] if folder else [])]
        code, output = run(command, self.hidden(log))
        seen = log.read_text() if log.exists() else ""
        counts = re.search(r"(\d+) misses after sealing, (\d+) stand-ins\n(\d+) searches, (\d+) compiles", output)
        return code, tuple(map(int, counts.groups())) if counts else None, seen, output

    def expect(self, folder, what, num_searches):
        code, counts, seen, output = self.loop(folder)
        print(f"{what}: {output.strip()}; started or opened: {seen.strip() or 'nothing'}")
        wrong = []
        if code != 0 or counts is None:
            wrong.append(f"it ended with {code}")
        elif counts[:2] != (0, 0) or counts[3] != 0 or (counts[2] > 0) != (num_searches > 0):
            wrong.append(f"misses, stand-ins, searches, compiles: {counts}")
        if seen:
            wrong.append("it started a process, or opened a compiler's library")
        if wrong:
            sys.exit(f"FAILED: {what}: " + "; ".join(wrong))

    def counter_sees_a_compiler(self):
        """That the monitor can fail: with the compilers there, it has something to say."""
        log = self.work / "control"
        environment = dict(self.environment, EXEC_COUNTER=str(log), LD_PRELOAD=str(self.options.counter))
        must([self.tuneonce, "tune", "vector_add", "--device", self.options.device, "--quiet"], environment)
        if not log.exists() or not re.search("start|open", log.read_text()):
            sys.exit("FAILED: the counter saw no compiler where one was needed")

    def sources_alone_fail(self):
        code, _, _, output = self.loop(None)
        if code == 0 or "nowhere" not in output:
            sys.exit(f"FAILED: without compilers the source bundles ran, or did not say what is missing: {output}")
        print(f"source bundles: {output.strip()[:300]}")

    def run(self):
        target = self.target()
        if self.options.compiled:
            self.expect(self.options.compiled, "compiled elsewhere", 1)
            return
        self.counter_sees_a_compiler()
        self.sources_alone_fail()
        self.expect(self.compile("undecided", target, []), "compiled ahead, undecided", 1)
        store = self.work / "store" / "store.db"
        stored = dict(self.environment, TUNEONCE_STORE=str(store))
        must([self.options.bin / "tuneonce_decode_loop", self.options.device], stored)
        for name, extra in [("decided", []), ("least", ["--only-decided", "--no-sources"])]:
            folder = self.compile(name, target, ["--decisions", store, *extra])
            self.expect(folder, f"compiled ahead, decided {extra}", 0)
        shown = json.loads(must([self.tuneonce, "bundle", "show", folder / "matmul", "--json"], self.environment))
        if len(shown["decisions"]) != 2:
            sys.exit(f"FAILED: matmul has two keys in the loop, and not {shown['decisions']}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ["bin", "counter", "bundles"]:
        parser.add_argument("--" + name, type=pathlib.Path, required=True)
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cuda")
    given = os.environ.get("TUNEONCE_PRECOMPILED")
    parser.add_argument("--compiled", type=pathlib.Path, default=given and pathlib.Path(given))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        Test(options, pathlib.Path(work)).run()


if __name__ == "__main__":
    main()
