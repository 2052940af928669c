"""The suite's result as Markdown tables, and what its figures are made of (benchmarks/plots.py).

show.py RESULT...: the tables; a cell that one result has not, since its run was cut, is that of the next, and so is the
GPU's load where a run did not see it. show.py RESULT... --into PAGE: puts them between the page's two
"<!-- results -->" lines.
"""

import json
import pathlib
import sys
import textwrap
from typing import Any, Dict, List, Optional, Sequence

MARK = "<!-- results -->\n"
TABLES = (  # Each as wide as a page.
    ("cold tune, s", "restart, s", "regret, %"),
    ("GPU busy, s", "memory, MiB"),
    ("crash", "hang", "wrong"),
    ("neighbour, %", "full disk", "two processes"),
)
COLUMNS = tuple(column for table in TABLES for column in table)


def works_of(cell: Optional[Dict[str, Any]]) -> Dict[str, Any]:
    return (cell or {}).get("works", {})


def regret(cell: Optional[Dict[str, Any]], work: str, config: Optional[str] = None) -> Optional[float]:
    """By how much `config` (the cell's own selection if None) is slower than the fastest candidate, both by the one timer;
    None where the candidates are the peer's own."""
    found = works_of(cell).get(work, {})
    times = found.get("space_us") or {}
    if not times:
        return None
    chosen = times.get(config or found["config"])
    return None if chosen is None else chosen / min(times.values()) - 1


def by_work(cell: Optional[Dict[str, Any]], works: List[str], field: str, shown: str) -> str:
    """A number per work, in the works' order; a dash where there is none. Why there are none at all, in words."""
    found = works_of(cell)
    if cell is None or ("cannot" in cell and not found):
        return "not run"
    numbers = [found.get(work, {}).get(field) for work in works]
    if all(n is None for n in numbers):
        if any("seconds" in each for each in found.values()):
            return "not seen"
        return "failed" if "failed" in cell or any("failed" in each for each in found.values()) else "not run"
    return " / ".join("–" if n is None else format(n, shown) for n in numbers)


def percents(values: List[Optional[float]]) -> str:
    if all(v is None for v in values):
        return "n/a"
    return " / ".join("–" if v is None else f"{100 * v:.1f}" for v in values)


def fault(peer: Dict[str, Any], kind: str, cell: Optional[Dict[str, Any]]) -> str:
    if peer["faults"].get(kind) is not None:
        return "n/a"
    if cell is None or "cannot" in cell:
        return "not run"
    if "failed" in cell:
        return cell["failed"].split(":")[0] if cell["failed"].startswith("the process") else cell["failed"]
    outcome = {"chose a sound one": "sound", "chose the faulty one": "**the faulty one**"}.get(
        cell["outcome"], cell["outcome"]
    )
    return f"{outcome}, {cell['seconds']:.0f} s"


def full_disk(cell: Optional[Dict[str, Any]]) -> str:
    if cell is None or "cannot" in cell:
        return "not run"
    tuned = works_of(cell).get("vector_add", {})
    return "failed" if "failed" in cell or "seconds" not in tuned else "tuned"


def two_processes(cell: Optional[Dict[str, Any]]) -> str:
    """How many of the two searched, as far as the peer says it, and whether they chose the same."""
    if cell is None or "cannot" in cell:
        return "not run"
    tuned = [works_of(each).get("vector_add", {}) for each in cell["processes"]]
    if any("seconds" not in each for each in tuned):
        return "failed"
    searched = [each.get("searched") for each in tuned]
    said = "?" if None in searched else str(sum(searched))
    return f"{said} searched, {'one selection' if len({each['config'] for each in tuned}) == 1 else 'two selections'}"


def line(peer: Dict[str, Any], cells: Dict[str, Any], works: List[str]) -> Dict[str, str]:
    """By column."""
    tuned, beside = cells.get("tune"), cells.get("neighbour")
    noisy = [regret(tuned, work, works_of(beside).get(work, {}).get("config", "nothing")) for work in works]
    return {
        "cold tune, s": by_work(tuned, works, "seconds", ".1f"),
        "restart, s": by_work(cells.get("restart"), works, "seconds", ".2f"),
        "regret, %": percents([regret(tuned, work) for work in works]),
        "GPU busy, s": by_work(tuned, works, "gpu_busy_s", ".1f"),
        "memory, MiB": by_work(tuned, works, "peak_mib", ".0f"),
        **{kind: fault(peer, kind, cells.get(kind)) for kind in ("crash", "hang", "wrong")},
        "neighbour, %": "not run" if "cannot" in (beside or {"cannot": 1}) else percents(noisy),
        "full disk": full_disk(cells.get("full_disk")),
        "two processes": two_processes(cells.get("two_processes")),
    }


def table(columns: Sequence[str], lines: Dict[str, Dict[str, str]]) -> List[str]:
    rows = [["", *columns], ["---"] * (len(columns) + 1)]
    rows += [[name, *(cells[column] for column in columns)] for name, cells in lines.items()]
    return ["| " + " | ".join(row) + " |" for row in rows]


def item(text: str) -> str:
    """Of a list, in lines of the docs' width."""
    return textwrap.fill(
        text, 120, initial_indent="- ", subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
    )


def reasons(result: Dict[str, Any]) -> List[str]:
    """Why what was not run was not, and what failed, each once."""
    found: Dict[str, List[str]] = {}
    for peer, cells in result["cells"].items():
        for name, cell in cells.items():
            said = [cell.get("cannot"), cell.get("failed"), cell.get("error")]
            said += [
                f"{work}: {each.get('cannot') or each.get('failed')}"
                for work, each in works_of(cell).items()
                if "cannot" in each or "failed" in each
            ]
            for why in filter(None, said):
                found.setdefault(f"{peer}: {why}", []).append(name)
    return [item(f"{why} ({', '.join(names)})") for why, names in found.items()]


def is_cut(cell: Dict[str, Any]) -> bool:
    return " s were over" in cell.get("cannot", "")


def with_load_of(cell: Dict[str, Any], other: Dict[str, Any]) -> Dict[str, Any]:
    """The cell, with the load of the GPU from another run where it has none."""
    if not works_of(cell):
        return cell

    def load(work: str) -> Dict[str, Any]:
        return {f: v for f, v in works_of(other).get(work, {}).items() if f in ("gpu_busy_s", "peak_mib")}

    return dict(cell, works={work: {**load(work), **each} for work, each in works_of(cell).items()})


def filled_up(results: List[Dict[str, Any]]) -> Dict[str, Any]:
    """The first, and cells that were cut off in it from those after it, which are of a GPU of the same kind."""
    merged = dict(results[0], runs=[(each["date"], each["commit"]) for each in results])
    merged["cells"] = {peer: dict(cells) for peer, cells in results[0]["cells"].items()}
    for each in results[1:]:
        if each["machine"]["device"] != merged["machine"]["device"]:
            raise SystemExit(f"show.py: results of {merged['machine']['device']} and of {each['machine']['device']}")
        for peer, cells in each["cells"].items():
            mine = merged["cells"].setdefault(peer, {})
            for name, cell in cells.items():
                if name not in mine or (is_cut(mine[name]) and not is_cut(cell)):
                    mine[name] = cell
                elif name == "tune":
                    mine[name] = with_load_of(mine[name], cell)
    return merged


def markdown(result: Dict[str, Any]) -> str:
    machine, works = result["machine"], result["works"]
    lines = []
    if result["is_cpu_device"]:
        lines += ["**These are figures of the CPU device, for trying the programs: none is a GPU's.**", ""]
    where = machine["device"] or "no GPU"
    runs = result.get("runs", [(result["date"], result["commit"])])
    lines += [
        f"{where}, driver {machine.get('driver', '–')}, {machine['cores']} cores, Python {machine['python']};",
        ", else ".join(f"{date}, commit {commit or '–'}" for date, commit in runs) + ".",
        f"Several numbers: {' / '.join(works)}.",
    ]
    of_peers = {
        f"{peer['name']} ({peer['language']})": line(
            peer, result["cells"].get(f"{peer['name']}, {peer['language']}", {}), works
        )
        for peer in result["peers"]
    }
    for columns in TABLES:
        lines += ["", *table(columns, of_peers)]
    lines += ["", "Settings:", ""]
    for peer in result["peers"]:
        versions = {
            cell["version"]
            for cell in result["cells"].get(f"{peer['name']}, {peer['language']}", {}).values()
            if cell.get("version")
        }
        docs = f"[docs]({peer['docs']})" if peer["docs"].startswith("http") else peer["docs"]
        said = "; ".join(
            filter(None, [peer["settings"], f"remembers {peer['remembers']}" if peer["remembers"] else ""])
        )
        named = " ".join(filter(None, [f"{peer['name']} ({peer['language']})", ", ".join(sorted(versions))]))
        lines.append(item(f"{named}: {said or 'none'} ({docs})"))
    why = reasons(result)
    return "\n".join(lines + (["", "Not run, or failed:", "", *why] if why else [])) + "\n"


def main() -> int:
    files, into = sys.argv[1:], None
    if files[-2:-1] == ["--into"]:
        files, into = files[:-2], files[-1]
    if not files or any(file.startswith("-") for file in files):
        print("usage: show.py RESULT... [--into PAGE]", file=sys.stderr)
        return 2
    text = markdown(filled_up([json.loads(pathlib.Path(file).read_text()) for file in files]))
    if into is None:
        print(text, end="")
        return 0
    page = pathlib.Path(into)
    parts = page.read_text().split(MARK)
    if len(parts) != 3:
        print(f"{page} must have two lines {MARK.strip()}", file=sys.stderr)
        return 1
    page.write_text(MARK.join([parts[0], f"\n{text}\n", parts[2]]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
