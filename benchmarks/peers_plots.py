"""Three plots of a run of peers/suite/run: what a tune takes, how good the choice is, what faults do."""

import math
import pathlib
import sys
from typing import Any, Dict, List, Optional, Tuple

from plot import COLOURS, LEFT, ROW, TOP, Plot

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "peers" / "suite"))
import show  # noqa: E402

_GAP = 8  # Between two peers' rows.


def _where(result: Dict[str, Any]) -> str:
    return f"{result['machine']['device']}, {result['date']}"


def _peers(result: Dict[str, Any]) -> List[Tuple[str, Dict[str, Any]]]:
    """(name, cells) of those that tuned something."""
    found = [
        (f"{peer['name']} ({peer['language']})", result["cells"].get(f"{peer['name']}, {peer['language']}", {}))
        for peer in result["peers"]
    ]
    return [
        (name, cells)
        for name, cells in found
        if any("seconds" in each for each in show.works_of(cells.get("tune")).values())
    ]


def _scale_of(values: List[float]) -> Tuple[float, float, List[float]]:
    """The decades that hold the values: least, most, ticks."""
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values) * 1.01))
    return 10.0**low, 10.0**high, [10.0**i for i in range(low, high + 1)]


def seconds(result: Dict[str, Any]) -> str:
    """A dot per work: cold, and after a restart."""
    rows = []
    for name, cells in _peers(result):
        for what, colour in (("tune", COLOURS[0]), ("restart", COLOURS[1])):
            times = [each["seconds"] for each in show.works_of(cells.get(what)).values() if "seconds" in each]
            if times:
                rows.append((name, times, colour))
    low, high, ticks = _scale_of([time for _, times, _ in rows for time in times])
    plot = Plot(
        "What the first call of a new shape takes",
        f"a dot per work; {_where(result)}",
        len(rows) * ROW,
        high,
        low,
        True,
    )
    plot.scale(ticks, "seconds, logarithmic")
    for row, (name, times, colour) in enumerate(rows):
        y = TOP + row * ROW + 10
        if row == 0 or rows[row - 1][0] != name:
            plot.text(LEFT - 10, y + 4, name, anchor="end")
        for time in times:
            plot.dot(time, y, colour)
    plot.legend(["nothing remembered", "in another process, after that"])
    return plot.svg()


def regrets(result: Dict[str, Any]) -> str:
    """A dot per work: alone, and while another program runs on the GPU."""
    rows: List[Tuple[str, List[float], List[float]]] = []
    for name, cells in _peers(result):
        tuned, beside = cells.get("tune"), show.works_of(cells.get("neighbour"))
        quiet = [show.regret(tuned, work) for work in result["works"]]
        noisy = [show.regret(tuned, work, beside.get(work, {}).get("config", "nothing")) for work in result["works"]]
        if any(value is not None for value in quiet):
            rows.append((name, _percents(quiet), _percents(noisy)))
    most = max([10.0, *(value for _, *both in rows for values in both for value in values)])
    plot = Plot(
        "How much slower the choice is than the fastest candidate",
        f"by one timer; a dot per work; {_where(result)}",
        len(rows) * ROW,
        most * 1.02,
    )
    step = 10.0 ** math.floor(math.log10(most)) / (2 if most < 50 else 1)
    plot.scale([step * i for i in range(int(most / step) + 1)], "percent")
    for row, (name, quiet, noisy) in enumerate(rows):
        y = TOP + row * ROW + 10
        plot.text(LEFT - 10, y + 4, name, anchor="end")
        for values, colour, moved in ((quiet, COLOURS[0], -3), (noisy, COLOURS[1], 3)):
            for value in values:
                plot.dot(value, y + moved, colour)
    plot.legend(["alone", "tuned while another program runs"])
    return plot.svg()


def _percents(values: List[Optional[float]]) -> List[float]:
    return [100 * value for value in values if value is not None]


def faults(result: Dict[str, Any]) -> str:
    """Words in a grid: what came of each fault, by peer. Empty if none was tried."""
    columns = ("crash", "hang", "wrong", "full_disk", "two_processes")
    rows = []
    for peer in result["peers"]:
        cells = result["cells"].get(f"{peer['name']}, {peer['language']}", {})
        words = [
            *(show.fault(peer, kind, cells.get(kind)) for kind in columns[:3]),
            show.full_disk(cells.get("full_disk")),
            show.two_processes(cells.get("two_processes")),
        ]
        if any(word not in ("n/a", "not run") for word in words):
            rows.append((f"{peer['name']} ({peer['language']})", words))
    if not rows:
        return ""
    plot = Plot(
        "One candidate that crashes, hangs or lies; a full disk; two at once",
        f"what came of it; {_where(result)}",
        (len(rows) + 1) * (ROW + _GAP) - 40,
        1,
    )
    width = (760 - LEFT - 10) / len(columns)
    for column, name in enumerate(columns):
        plot.text(LEFT + column * width, TOP + 4, name.replace("_", " "), weight="bold")
    for row, (peer_name, words) in enumerate(rows):
        y = TOP + (row + 1) * (ROW + _GAP)
        plot.text(LEFT - 10, y, peer_name, anchor="end")
        for column, word in enumerate(words):
            is_good = word.startswith(("sound", "tuned")) or word == "1 searched, one selection"
            colour = COLOURS[2] if is_good else COLOURS[4] if word in ("n/a", "not run") else COLOURS[1]
            for at, part in enumerate(word.strip("*").replace("**", "").split(", ")):
                plot.text(LEFT + column * width, y + 12 * at - 4, part, size=11, colour=colour)
    return plot.svg()


def draw(result: Dict[str, Any]) -> Dict[str, str]:
    """SVGs by name; none of a result without any tune."""
    if not _peers(result):
        return {}
    plots = {"peers_seconds": seconds(result), "peers_regret": regrets(result), "peers_faults": faults(result)}
    return {name: svg for name, svg in plots.items() if svg}
