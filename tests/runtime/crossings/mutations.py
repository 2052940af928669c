#!/usr/bin/env python3
"""Mutations of the library that the crossing suite has to catch, at least one for each rule of the correctness contract.

  mutations.py --check                   checks that each mutation still applies to the tree
  mutations.py --run BUILD [--rule N]    applies each in turn, builds and runs the suite in the build folder BUILD

--run prints a table, and exits with 1 unless each mutation makes assertions of the suite fail. It edits files of lib/
and restores each of them, also after an error or an interrupt: build nothing else in the tree meanwhile.
"""
import argparse
import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
from typing import NamedTuple

ROOT = pathlib.Path(__file__).resolve().parents[3]
RULES = range(1, 11)
TARGETS = ["crossing_suite_test", "remembering_compiler"]
TIME_LIMIT_S = 1800  # One run of the suite takes about a minute: the limit is for hangs alone.


class Mutation(NamedTuple):
    rule: int
    what: str  # What the library does wrong.
    file: str  # Relative to lib/.
    old: str  # Occurs once in the file.
    new: str


MUTATIONS = [
    Mutation(
        1,
        "The definition's identity lacks the buckets of its key.",
        "store/kernel_fingerprint.cc",
        """.Add(Number(part.bucket)).Add(part.values.size());
  for (std::int64_t value : part.values) fingerprinter->Add(static_cast<std::uint64_t>(value));""",
        ";",
    ),
    Mutation(
        1,
        "Candidates with equal code and different arguments count as duplicates.",
        "search/candidate.cc",
        "  if (WordsOf(a, *layout, problem) != WordsOf(b, *layout, problem)) return false;\n",
        "",
    ),
    Mutation(
        1,
        "Candidates whose arguments differ at other dims alone count as duplicates.",
        "search/candidate.cc",
        "    problem.dims = each;\n",
        "    static_cast<void>(each);\n",
    ),
    Mutation(
        1,
        "A record of a search without verification serves a kernel that verifies.",
        "measure/trial.cc",
        "  if (level < demanded.level) return false;",
        "  if (level < demanded.level) return true;",
    ),
    Mutation(
        1,
        "A record that was verified with a larger tolerance serves.",
        "measure/trial.cc",
        "offered.absolute <= wanted.absolute && offered.relative <= wanted.relative &&",
        "",
    ),
    Mutation(
        1,
        "A record of a search over another list of configs serves.",
        "runtime/stored_configs.cc",
        "!question.key.HasConfigs(lookup.record->configs)",
        "false",
    ),
    Mutation(
        2,
        "Finalists are not verified at other dims of the bucket.",
        "search/extent_classes.cc",
        "if (all.size() < most && std::find",
        "if (all.size() < 1 && std::find",
    ),
    Mutation(
        2,
        "No dim of a bucket is ragged while the others are full.",
        "search/extent_classes.cc",
        "    Dims dims = bounds;\n",
        "    Dims dims = launched;\n    break;\n",
    ),
    Mutation(
        2,
        "Finalists are not verified at the launch's own dims.",
        "search/finalist_checks.cc",
        "  if (!(launched == scope_.measured)) {",
        "  if (launched.count() < 0) {",
    ),
    Mutation(
        2,
        "Odd factors of axes do not count for classes of extents.",
        "search/extent_classes.cc",
        "if (extent % odd_factors_[i] == 0)",
        "if (extent % odd_factors_[i] < 0)",
    ),
    Mutation(
        2,
        "Failures at other dims are ignored.",
        "search/search_engine_race.cc",
        "    if (failures.empty()) break;\n",
        "    break;\n",
    ),
    Mutation(
        2,
        "Launches of classes that were not verified run the selected config.",
        "runtime/verified_extents.cc",
        "return made->dims_.empty() ? nullptr : made;",
        "return nullptr;",
    ),
    Mutation(
        3,
        "Writes into guard zones are not seen.",
        "search/trial_tensors.cc",
        "      if (*sum++ == guard.checksum) continue;\n",
        "      ++sum;\n      continue;\n",
    ),
    Mutation(
        3,
        "Writes into the gaps of an output are not seen.",
        "search/trial_tensors.cc",
        "  if (found || !poison) return found;\n  return FindInGaps(*poison);",
        "  return found || !poison ? found : std::optional<StrayWrite>();",
    ),
    Mutation(
        3,
        "Inputs in the gaps of an output, and parts that it does not overlap, may be written.",
        "search/output_gaps.cc",
        "    if (place.is_input) continue;\n    ForEachElementRange(place.tensor",
        "    ForEachElementRange(place.tensor",
    ),
    Mutation(
        3,
        "Writes into inputs are not seen.",
        "search/trial_tensors.cc",
        "    if (checksum == input->checksum()) continue;\n",
        "    static_cast<void>(checksum);\n    continue;\n",
    ),
    Mutation(
        4,
        "Data that can show no error pass for good ones.",
        "search/finalist_checks.cc",
        "    is_weak = true;\n",
        "    is_weak = false;\n",
    ),
    Mutation(
        4,
        "Generated data are not used at the launch's own dims and at the bucket's bound.",
        "search/finalist_checks.cc",
        "if (is_data_weak_ || (!(dims == launched) && !(dims == scope_.measured))) add(dims);",
        "if (!(dims == launched) && !(dims == scope_.measured)) add(dims);",
    ),
    Mutation(
        4,
        "A selection on data that can show no error is stored.",
        "runtime/config_chain.cc",
        "if (!record.verification.is_data_sufficient) return",
        "if (!record.verification.is_data_sufficient && record.key.kernel.empty()) return",
    ),
    Mutation(
        5,
        "The scale of a comparison is the largest value of the whole tensor.",
        "measure/verify.cc",
        "for (std::uint64_t i = begin; NeedsScales(format, rule) && i < end; ++i) {",
        "for (std::uint64_t i = 0; NeedsScales(format, rule) && i < count; ++i) {",
    ),
    Mutation(
        6,
        "A record serves, whatever code is under its config now, and whichever kernel it is of.",
        "runtime/config_chain.cc",
        "const bool has_other_code = best.identity != identity;",
        "const bool has_other_code = best.identity != identity && found->record->key.kernel.empty();",
    ),
    Mutation(
        6,
        "The candidate's identity lacks its code.",
        "search/candidate.cc",
        "  identity.Add(candidate.artifact.code_fingerprint);\n",
        "",
    ),
    Mutation(
        7,
        "A header that appears earlier in the include path does not invalidate an artifact.",
        "compile/header_search.cc",
        "  std::for_each(places.begin(), found, [&](const std::string& path) { NoteAbsent(path); });\n",
        "",
    ),
    Mutation(
        7,
        "A header that __has_include did not find, and that appears, does not invalidate an artifact.",
        "compile/header_search.cc",
        "      NoteAbsent(path);\n      if (IsNew(At(FolderOf(path))))",
        "      if (IsNew(At(FolderOf(path))))",
    ),
    Mutation(
        8,
        "A parameter list that only the compiler understands is refused.",
        "launch/source_parameters.cc",
        "  if (source.kind == SourceKind::kPtx) status = CheckPtx(layout, source);\n",
        """  if (source.kind == SourceKind::kPtx) status = CheckPtx(layout, source);
  if (source.kind == SourceKind::kCpuCpp && !ParameterNamesInCpp(source)) status = InvalidArgumentError("parameters");
""",
    ),
    Mutation(
        9,
        "Launches of extents and addresses that the code does not assume run it.",
        "launch/assumption_check.cc",
        "return masked(offset, static_cast<std::uint64_t>(value - 1), 0);",
        "return masked(offset, 0, 0);",
    ),
    Mutation(
        9,
        "A tensor with gaps is passed to code that takes a bare pointer.",
        "launch/assumption.cc",
        "    if (is_declared) continue;\n",
        "    if (is_declared || bare.strides_taken == 0) continue;\n",
    ),
    Mutation(
        10,
        "A baseline that differs from all others is not reported.",
        "search/search_engine.cc",
        '  if (most < 2) return "";\n',
        '  if (most >= 0) return "";\n',
    ),
]


def file_of(mutation):
    return ROOT / "lib" / mutation.file


def check():
    """Returns the number of mutations that do not apply."""
    problems = []
    for mutation in MUTATIONS:
        path = file_of(mutation)
        count = path.read_text().count(mutation.old) if path.is_file() else 0
        if count != 1 or mutation.old == mutation.new:
            problems.append(f"cannot apply '{mutation.what}': its old text occurs {count} times in lib/{mutation.file}")
    for rule in RULES:
        if not any(mutation.rule == rule for mutation in MUTATIONS):
            problems.append(f"rule {rule} has no mutation")
    for problem in problems:
        print(f"{problem}; adapt {pathlib.Path(__file__).name}", file=sys.stderr)
    return len(problems)


@contextlib.contextmanager
def applied(mutation):
    path = file_of(mutation)
    original = path.read_bytes()
    try:
        path.write_text(path.read_text().replace(mutation.old, mutation.new))
        yield
    finally:
        path.write_bytes(original)


class Outcome(NamedTuple):
    error: str  # Why the suite's assertions say nothing; empty if they do.
    failed: list  # The names of the cases that failed.


def build_and_run(build):
    """Builds the suite and runs it as ctest does."""
    built = subprocess.run(
        ["cmake", "--build", build, "--target", *TARGETS], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    if built.returncode != 0:
        print(built.stdout[-4000:], file=sys.stderr)
        return Outcome("it does not build", [])
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder) / "report.json"
        try:
            subprocess.run(
                ["ctest", "--test-dir", build, "-R", "^runtime.crossings$", "--timeout", str(TIME_LIMIT_S)],
                env={**os.environ, "GTEST_OUTPUT": f"json:{report}"},
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=TIME_LIMIT_S + 60,
            )
        except subprocess.TimeoutExpired:
            return Outcome("the suite hangs", [])
        if not report.is_file():  # It is written at the end.
            return Outcome("the suite did not end by itself", [])
        suites = json.loads(report.read_text())["testsuites"]
    return Outcome("", [f"{case['classname']}.{case['name']}" for suite in suites for case in suite["testsuite"]
                        if case.get("failures")])


def run(build, rule):
    """Prints the table. Returns the number of mutations that were not caught."""
    unchanged = build_and_run(build)
    if unchanged.error or unchanged.failed:
        print(f"the suite fails without a mutation: {unchanged.error or ', '.join(unchanged.failed)}", file=sys.stderr)
        return 1
    missed = 0
    print("| rule | mutation | cases that fail | seconds |\n|---|---|---|---|", flush=True)
    try:
        for mutation in MUTATIONS:
            if rule and mutation.rule != rule:
                continue
            began = time.monotonic()
            with applied(mutation):
                outcome = build_and_run(build)
            seconds = time.monotonic() - began
            missed += not outcome.failed
            first = f"{len(outcome.failed)}, the first `{outcome.failed[0]}`" if outcome.failed else "NONE"
            print(f"| {mutation.rule} | {mutation.what} | {outcome.error or first} | {seconds:.0f} |", flush=True)
    finally:
        subprocess.run(["cmake", "--build", build, "--target", *TARGETS], stdout=subprocess.DEVNULL)  # As it was.
    return missed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument("--check", action="store_true")
    action.add_argument("--run", metavar="BUILD")
    parser.add_argument("--rule", type=int, choices=RULES)
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # Restores the file on the way.
    failures = check()
    if not failures and arguments.run:
        failures = run(arguments.run, arguments.rule)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
