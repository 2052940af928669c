"""Each fuzzer for so many runs, from its valid seeds; and which lines of the code that it is about these reach."""
import concurrent.futures
import json
import os
import re
import subprocess

# The parsers that each fuzzer is about.
COVERED = {
    "bundle": ["lib/bundle/manifest.cc", "lib/bundle/bundle.cc", "lib/bundle/bundle_artifacts.cc", "lib/bundle/bundle_parameters.cc",
               "lib/bundle/bundle_space.cc", "lib/bundle/bundle_variant.cc"],
    "tile_ir": ["lib/tile_ir/tile_ir.cc", "lib/tile_ir/tile_ir_file.cc"],
    "record": ["lib/store/tuning_record.cc", "lib/base/encoding.h", "lib/definition/config.cc"],
    "records_json": ["tools/report/records_json.cc"],
    "cubin": ["lib/compile/cubin.cc", "lib/base/elf_image.cc"],
    "artifact": ["lib/compile/artifact.cc", "lib/base/encoding.h"],
    "precompiled": ["lib/bundle/precompiled_bundle.cc"],
    "trial": ["lib/search/trial_description.cc", "lib/search/trial_messages.cc"],
    "message": ["lib/base/encoding.cc", "lib/base/encoding.h"],
    "channel": ["lib/worker/channel.cc"],
    "store": ["lib/store/sqlite_store.cc", "lib/store/sqlite.h"],
}


def fuzz_one(build, folder, line, runs, seed):
    name, max_bytes, seeds = line.split(maxsplit=2)
    corpus, artifacts = folder / f"corpus-{name}", folder / f"found-{name}"
    corpus.mkdir()
    artifacts.mkdir()
    profile = folder / f"{name}.profraw"
    process = subprocess.run(
        [build / "bin" / f"{name}_fuzz", f"-runs={runs}", f"-max_len={max_bytes}", "-timeout=20", f"-seed={seed}", "-print_final_stats=1",
         f"-artifact_prefix={artifacts}/", corpus, *seeds.split()],
        env={**os.environ, "LLVM_PROFILE_FILE": str(profile)}, cwd=folder, capture_output=True, check=False)
    log = process.stderr.decode(errors="replace")
    done = re.search(r"stat::number_of_executed_units: *(\d+)", log)
    edges = re.findall(r"cov: (\d+)", log)
    wrong = None
    if process.returncode != 0:
        (folder / f"{name}.log").write_text(log)
        summary = re.findall(r"^(?:SUMMARY|==\d+==ERROR|.*runtime error).*$", log, re.MULTILINE)
        found = [path.name for path in artifacts.iterdir()]
        wrong = f"{summary[:1]} {found} (log and input are in {folder})"
    return name, int(done.group(1)) if done else 0, int(edges[-1]) if edges else 0, wrong


def coverage(build, folder, name):
    """{file: (lines reached, lines)}"""
    profile = folder / f"{name}.profdata"
    raw = folder / f"{name}.profraw"
    if not raw.exists():
        return {}
    subprocess.run(["llvm-profdata", "merge", "-sparse", raw, "-o", profile], check=True)
    out = subprocess.run(["llvm-cov", "export", "-summary-only", f"-instr-profile={profile}", build / "bin" / f"{name}_fuzz"],
                         capture_output=True, check=True).stdout
    lines = {}
    for each in json.loads(out)["data"][0]["files"]:
        for wanted in COVERED[name]:
            if each["filename"].endswith("/" + wanted):
                summary = each["summary"]["lines"]
                lines[wanted] = (summary["covered"], summary["count"])
    return lines


def fuzz(report, build, folder, runs, seed):
    check = report.check(f"fuzzers under ASan and UBSan, {runs} runs each")
    lines = (build / "tests" / "fuzz" / "fuzzers.txt").read_text().splitlines()
    with concurrent.futures.ThreadPoolExecutor(max(1, (os.cpu_count() or 1))) as pool:
        for name, done, edges, wrong in pool.map(lambda line: fuzz_one(build, folder, line, runs, seed), lines):
            if wrong is None and done < runs:
                wrong = f"only {done} runs"
            check.add(name, wrong)
            reached = ", ".join(f"{file} {100 * part // max(1, whole)} % of {whole} lines"
                                for file, (part, whole) in coverage(build, folder, name).items())
            check.note(f"{name}: {done} runs, {edges} edges; {reached}")
