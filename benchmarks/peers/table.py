"""Merges what the programs of benchmarks/peers printed, one report a process, and shows it as a Markdown table.

A report: {"peer", "language", "version", "device", "is_cpu_device", "rows": [{"call", "keys", "threads", "waits",
"host_ns", "added_ns"}]}. The row of call "raw" is the launch by hand of that process; added_ns is over it.
"""
import statistics
from typing import Any, Dict, List, Optional

# The table's lines, in order: what was not run has its line, too.
LINES = [("tuneonce", "C++", "TunedKernel::Launch"),
         ("Kernel Launcher", "C++", "WisdomKernel::launch"),
         ("Kernel Launcher", "C++", "KernelRegistry::launch"),
         ("KTT", "C++", "RunKernelAsync"),
         ("KTT", "C++", "Tuner::Run"),
         ("tuneonce", "Python", "kernel(x, y, z)"),
         ("cuTile", "Python", "ct.launch"),
         ("Triton", "Python", "@triton.autotune")]
KEYS = (1, 64, 4096)
THREADS = (1, 16)


def spread(values: List[float]) -> Dict[str, float]:
    return {"median": statistics.median(values), "least": min(values), "most": max(values)}


def merge(reports: List[Dict[str, Any]], not_run: Dict[str, str]) -> Dict[str, Any]:
    """One value: each way's added and whole host time over processes. `not_run`: why, by "peer, language"."""
    devices = {(r["device"], r["is_cpu_device"]) for r in reports}
    if len(devices) != 1:
        raise ValueError("the reports are of " + (" and ".join(sorted(name for name, _ in devices)) or "no device") +
                         "; a table is of one run on one device")
    rows: Dict[tuple, Dict[str, List[float]]] = {}
    for report in reports:
        for row in report["rows"]:
            at = (report["peer"], report["language"], row["call"], row["keys"], row["threads"], row["waits"])
            values = rows.setdefault(at, {"host_ns": [], "added_ns": []})
            for name in values:
                values[name].append(row[name])
    names = ("peer", "language", "call", "keys", "threads", "waits")
    (device, is_cpu_device), = devices
    return {"device": device, "is_cpu_device": is_cpu_device, "not_run": not_run,
            "versions": {f"{r['peer']}, {r['language']}": r["version"] for r in reports if r["version"]},
            "rows": [dict(zip(names, at), processes=len(values["host_ns"]),
                          **{name: spread(each) for name, each in values.items()}) for at, values in rows.items()]}


def number(value: float) -> str:
    return f"{value:+.0f}" if abs(value) < 1000 else f"{value / 1000:+.2f} us"


def cell(row: Optional[Dict[str, Any]]) -> str:
    if row is None:
        return "n/a"
    added = row["added_ns"]
    return f"{number(added['median'])} ({number(added['least'])} to {number(added['most'])})"


def markdown(merged: Dict[str, Any]) -> str:
    """The table: added host time of a launch in ns (from 1000 in us), median over processes (least to most)."""
    found = {(r["peer"], r["language"], r["call"], r["keys"], r["threads"]): r for r in merged["rows"]}
    raws = [r for r in merged["rows"] if r["call"] == "raw" and not r["waits"]]
    lines = []
    if merged["is_cpu_device"]:
        lines += ["**These are figures of the CPU device, for trying the programs: none is a GPU's.**", ""]
    heads = [f"{'1 key' if k == 1 else f'{k} keys'}{'' if t == 1 else f', {t} threads'}" for t in THREADS for k in KEYS]
    lines += [f"| added to a raw launch, {merged['device']} | " + " | ".join(heads) + " |",
              "|---" * (len(heads) + 1) + "|"]
    for peer, language, call in LINES:
        title = f"{peer}, {language}: `{call}`"
        if not any(at[:3] == (peer, language, call) for at in found):
            title += ": not run"
            cells = ["not run"] * len(heads)
        else:
            of_line = [found.get((peer, language, call, k, t)) for t in THREADS for k in KEYS]
            if any(r["waits"] for r in of_line if r):
                title += " (waits for the kernel's end, as the raw launch beside it then does)"
            cells = [cell(r) for r in of_line]
        lines.append(f"| {title} | " + " | ".join(cells) + " |")
    for threads in THREADS:
        raw = [r["host_ns"]["median"] for r in raws if r["threads"] == threads]
        if raw:
            lines += ["", f"Raw, {threads} thread{'s' * (threads > 1)}: {min(raw):.0f} to {max(raw):.0f} ns, "
                          "by the program it stood beside."]
    lines += [f"\nNot run: {name}: {why}" for name, why in sorted(merged["not_run"].items())]
    return "\n".join(lines) + "\n"
