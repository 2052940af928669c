#!/usr/bin/env python3
"""soak.py --bin FOLDER [--fuzzers BUILD] [--minutes M | --short] [--out FILE]: what must not break the command, for a long
time, or in its short form for a minute. Exit code 1 if something was found. scripts/soak builds what it needs."""
import argparse
import datetime
import json
import os
import pathlib
import platform
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import files  # noqa: E402
import fuzzers  # noqa: E402
import kills  # noqa: E402
import limits  # noqa: E402
from trial import Trial, become_reaper  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


class Check:
    def __init__(self, name):
        self.name, self.runs, self.outcomes, self.findings, self.notes, self.skipped = name, 0, {}, [], [], None

    def add(self, what, wrong, outcome=None):
        self.runs += 1
        if outcome:
            self.outcomes[outcome] = self.outcomes.get(outcome, 0) + 1
        if wrong:
            self.findings.append(f"{what}: {wrong}")

    def note(self, line):
        self.notes.append(line)

    def skip(self, why):
        self.skipped = why

    def __str__(self):
        state = f"SKIPPED: {self.skipped}" if self.skipped else f"{len(self.findings)} found" if self.findings else "ok"
        outcomes = ", ".join(f"{count} {name}" for name, count in sorted(self.outcomes.items()))
        lines = [f"{self.name}: {self.runs} checks{' (' + outcomes + ')' if outcomes else ''}: {state}"]
        return "\n".join(lines + [f"  {note}" for note in self.notes] + [f"  FOUND {finding}" for finding in self.findings])


class Report:
    def __init__(self):
        self.checks = []

    def check(self, name):
        if self.checks:
            print(self.checks[-1], flush=True)
        self.checks.append(Check(name))
        return self.checks[-1]

    def found(self):
        return sum(len(check.findings) for check in self.checks)


def git(*arguments):
    return subprocess.run(["git", "-C", ROOT, *arguments], capture_output=True, text=True, check=False).stdout.strip()


def now_and_commit():
    changes = " with changes" if git("status", "--porcelain", "--untracked-files=no") else ""
    return f"{datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d %H:%M} UTC, commit {git('rev-parse', '--short', 'HEAD')}{changes}"


def header(options, begun, seconds):
    # Results are committed: kind of machine, but neither its name nor its paths.
    system = dict(line.split("=", 1) for line in pathlib.Path("/etc/os-release").read_text().splitlines() if "=" in line)
    fuzzed = f"{options.runs} runs of each fuzzer" if options.fuzzers else "without the fuzzers"
    how = "short form" if options.short else f"{options.minutes} minutes of kill -9, {fuzzed}"
    if options.only is not None:
        how = f"{options.only} alone"
    return (f"tuneonce soak, begun {begun}\n"
            f"{os.cpu_count()} cores, {platform.machine()}, {system.get('PRETTY_NAME', 'Linux').strip(chr(34))}, "
            f"{'root' if os.geteuid() == 0 else 'not root'}; {how}; seed {options.seed}; {seconds:.0f} s\n")


def fleet(report, programs):
    """32 processes of four machines over one Redis server; CI has the test with eight."""
    check = report.check("a fleet of 4 machines and 32 processes (on this one), Redis killed, stopped and tampered with")
    package = programs.resolve().parent / "python"
    if not (package / "tuneonce").is_dir():
        return check.skip(f"there is no Python package in {package}")
    python_path = os.pathsep.join([str(package), str(pathlib.Path(ROOT) / ".deps/python")])
    run = subprocess.run([sys.executable, pathlib.Path(ROOT) / "tests/redis/fleet_test.py", "--processes", "32"], text=True,
                         env={**os.environ, "PYTHONPATH": python_path}, capture_output=True, check=False)
    if run.returncode == 77:
        return check.skip(run.stdout.strip())
    check.add("fleet_test.py --processes 32", run.stderr.strip() if run.returncode else None)
    for line in run.stdout.splitlines():
        if ":" in line:
            check.note(line.strip(' ,"').replace('"', ""))


def ranks(report, programs):
    """Agreements of ranks with seeded faults; CI has 50 of them."""
    check = report.check("1000 schedules of ranks that agree")
    program = programs / "ranks_test"
    if not program.is_file():
        return check.skip(f"there is no ranks_test in {programs}")
    run = subprocess.run([program, "--gtest_filter=*ScheduleTest.*"], env={**os.environ, "TUNEONCE_RANK_SCHEDULES": "1000"},
                         text=True, capture_output=True, check=False)
    check.add("ranks_test", run.stdout.strip() if run.returncode else None)


def calls(report, programs, launches, seed):
    """random_calls: threads that call the API at random, and compare each output; CI has 5000 launches."""
    check = report.check(f"random calls of the API, {launches} launches for each of two seeds")
    program = programs / "random_calls"
    if not program.is_file():
        return check.skip(f"there is no random_calls in {programs}")
    for each in (seed, seed + 1):
        command = [program, "--seed", str(each), "--launches", str(launches)]
        run = subprocess.run(command, text=True, capture_output=True, check=False)
        lines = [line for line in run.stdout.splitlines() if ":" in line]
        wrong = lines[-1] if lines else run.stderr.strip()
        check.add(f"random_calls --seed {each}", wrong if run.returncode else None)
        if lines:
            check.note(lines[0])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", required=True, type=pathlib.Path, help="where the program tuneonce is")
    parser.add_argument("--fuzzers", type=pathlib.Path, help="a build of the asan preset")
    parser.add_argument("--minutes", type=float, default=60, help="of the kill -9 loop (default 60)")
    parser.add_argument("--runs", type=int, default=1_000_000, help="of each fuzzer (default 10^6)")
    parser.add_argument("--short", action="store_true", help="a minute in all, without fuzzers")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", help="one check: limits, closed, signals, files, disk, kills, workers, calls, ranks, fleet, fuzz")
    parser.add_argument("--out", type=pathlib.Path)
    options = parser.parse_args()
    become_reaper()
    start, begun = time.monotonic(), now_and_commit()  # The programs are of now, whatever is committed meanwhile.
    report = Report()
    # Under /tmp and open to all, so that runs as other users reach their folders.
    scratch = pathlib.Path(tempfile.mkdtemp(prefix="tuneonce-soak-", dir="/tmp"))
    scratch.chmod(0o755)

    # A copy, since other users may not reach the build's folder, and nobody builds over it.
    program = scratch / "bin"
    program.mkdir()
    for name in ("tuneonce", "tuneonce_worker", "libtuneonce_cpu_driver.so"):
        shutil.copy2(options.bin / name, program / name)
    shutil.copytree(files.BUNDLE.parent, scratch / "share/tuneonce/bundles")  # Where the command looks for vector_add.
    manifest = scratch / "share/tuneonce/bundles/vector_add/manifest.json"
    fields = json.loads(manifest.read_text())
    del fields["key"]  # A record for each extent, not for each power of two.
    manifest.write_text(json.dumps(fields))

    def make_trial(name, uid=None):
        return Trial(program / "tuneonce", scratch / name.replace(" ", "-"), uid)
    parts = {
        "closed": lambda: limits.closed_descriptors(report, make_trial),
        "signals": lambda: limits.signals(report, make_trial),
        "files": lambda: (files.outputs(report, make_trial), files.foreign_stores(report, make_trial), files.bundles(report, make_trial)),
        "disk": lambda: files.full_disk(report, make_trial),
        "limits": lambda: limits.sweep(report, make_trial, options.short),
        "kills": lambda: kills.kill_loop(report, make_trial, 15 if options.short else options.minutes * 60, options.seed),
        "workers": lambda: kills.worker_kills(report, make_trial, 50 if options.short else 1000, options.seed),
        "calls": lambda: calls(report, options.bin, 500_000, options.seed),
        "ranks": lambda: ranks(report, options.bin),
        "fleet": lambda: fleet(report, options.bin),
        "fuzz": lambda: fuzzers.fuzz(report, options.fuzzers.resolve(), scratch, options.runs, options.seed),
    }
    for name, part in parts.items():
        if options.only not in (None, name) or (name == "fuzz" and not options.fuzzers) or (name in ("fuzz", "fleet", "ranks", "calls") and options.short):
            continue
        part()
        if options.out:  # After each: what is known stays known if somebody stops it.
            text = header(options, begun, time.monotonic() - start) + "\n" + "\n".join(map(str, report.checks)) + f"\n\n{report.found()} found\n"
            options.out.write_text(text.replace(str(scratch), "SCRATCH"))
    print(report.checks[-1], flush=True)
    print(f"{report.found()} found in {time.monotonic() - start:.0f} s")
    if report.found():
        print(f"what was found is in {scratch}")
        return 1
    shutil.rmtree(scratch, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
