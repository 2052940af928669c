"""The decode loop and the language model of the examples from bundles that were compiled ahead: no compiler is found,
none is started, NVRTC is not opened (tests/precompiled/exec_counter.cc sees it), nothing is searched; and without
selections all is searched, by code that is there. On the device `cpu` a twin of that on a GPU.

precompiled_gpu_test.py --bin FOLDER --counter LIBRARY --bundles FOLDER --llm-bundles FOLDER --device cpu|cuda
                        [--compiled FOLDER]

`--compiled` (or TUNEONCE_PRECOMPILED): bundles that another machine compiled for this GPU, where this one has no
compilers: then the run with selections is left out. Exit code 77 where there is no GPU.
"""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

LOOP = ["rms_norm", "matmul", "silu_and_mul"]
MODEL = ["rms_norm", "matmul", "rope", "varlen_attention", "decode_attention", "dual_gemm"]
OF_MODEL = ["gather_rows", "rotary_tables", "append_kv", "add_rows", "next_token"]  # In --llm-bundles.


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

    def compile(self, name, target, extra, bundles):
        folder = self.work / name
        for bundle in bundles:
            must([self.tuneonce, "bundle", "compile", bundle, "--target", target, "-o", folder / pathlib.Path(bundle).name,
                  *extra], self.environment)
        return folder

    def loop(self, *folder):
        return [self.options.bin / "tuneonce_decode_loop", self.options.device, *folder]

    def model(self, *folder):
        return [self.options.bin / "tuneonce_llm", self.options.device, "tiny", *folder]

    def hidden_run(self, command):
        """What it did: (misses, fallbacks, searches, compiles), what the counter saw, output."""
        log = self.work / "log"
        log.unlink(missing_ok=True)
        code, output = run(command, self.hidden(log))
        seen = log.read_text() if log.exists() else ""
        counts = re.search(r"(\d+) misses after freezing, (\d+) fallbacks\n(\d+) searches, (\d+) compiles", output)
        return code, tuple(map(int, counts.groups())) if counts else None, seen, output

    def expect(self, command, what, num_searches):
        code, counts, seen, output = self.hidden_run(command)
        print(f"{what}: {output.strip()}; started or opened: {seen.strip() or 'nothing'}")
        wrong = []
        if code != 0 or counts is None:
            wrong.append(f"it ended with {code}")
        elif counts[:2] != (0, 0) or counts[3] != 0 or (counts[2] > 0) != (num_searches > 0):
            wrong.append(f"misses, fallbacks, searches, compiles: {counts}")
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
        code, _, _, output = self.hidden_run(self.loop())
        if code == 0 or "nowhere" not in output:
            sys.exit(f"FAILED: without compilers the source bundles ran, or did not say what is missing: {output}")
        print(f"source bundles: {output.strip()[:300]}")

    def tuned(self, name, command):
        """A store with what the program tunes, its compilers there."""
        store = self.work / name / "store.db"
        must(command, dict(self.environment, TUNEONCE_STORE=str(store)))
        return store

    def run(self):
        target = self.target()
        if self.options.compiled:
            self.expect(self.loop(self.options.compiled), "compiled elsewhere", 1)
            return
        self.counter_sees_a_compiler()
        self.sources_alone_fail()
        self.expect(self.loop(self.compile("undecided", target, [], LOOP)), "compiled ahead, undecided", 1)
        store = self.tuned("loop", self.loop())
        for name, extra in [("decided", []), ("least", ["--only-decided", "--no-sources"])]:
            folder = self.compile(name, target, ["--selections", store, *extra], LOOP)
            self.expect(self.loop(folder), f"compiled ahead, decided {extra}", 0)
        shown = json.loads(must([self.tuneonce, "bundle", "show", folder / "matmul", "--json"], self.environment))
        if len(shown["selections"]) != 2:
            sys.exit(f"FAILED: matmul has two keys in the loop, and not {shown['selections']}")
        bundles = MODEL + [str(self.options.llm_bundles / name) for name in OF_MODEL]
        decided = ["--selections", self.tuned("model", self.model()), "--only-decided", "--no-sources"]
        self.expect(self.model(self.compile("of_model", target, decided, bundles)), "language model, compiled ahead", 0)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ["bin", "counter", "bundles", "llm-bundles"]:
        parser.add_argument("--" + name, type=pathlib.Path, required=True)
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cuda")
    given = os.environ.get("TUNEONCE_PRECOMPILED")
    parser.add_argument("--compiled", type=pathlib.Path, default=given and pathlib.Path(given))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        Test(options, pathlib.Path(work)).run()


if __name__ == "__main__":
    main()
