"""Shows stores and results as one page, in a notebook or as a file."""

import html
import json
import os
from typing import Any, Dict, List, Tuple, Union

from tuneonce.result import TuningResult

Source = Union[str, "os.PathLike[str]", TuningResult[Any]]

# Height of a notebook's cell, in which the page scrolls.
_HEIGHT_PX = 720


class Report:
    """The result of `report`, which is read when it is used. A notebook displays it."""

    def __init__(self, paths: List[str], results: List[Tuple[str, str]], kernel: str) -> None:
        self._paths = paths
        self._results = results
        self._kernel = kernel

    def _text(self, form: str) -> str:
        from tuneonce import _tuneonce

        return _tuneonce._report_text(form, self._paths, self._results, self._kernel)

    def html(self) -> str:
        """Returns the page as one self-contained HTML text."""
        return self._text("page")

    def csv(self) -> str:
        """Returns a line of CSV per candidate."""
        return self._text("csv")

    def markdown(self) -> str:
        """Returns a Markdown table with a row per search, and the failures."""
        return self._text("markdown")

    def save(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Writes the page to `path`."""
        page = self.html()
        with open(path, "w", encoding="utf-8") as file:
            file.write(page)

    def __repr__(self) -> str:
        names = [path or "the user's store" for path in self._paths] + [name for name, _ in self._results]
        return f"<Report of {', '.join(names)}>"

    def _repr_html_(self) -> str:
        # In a frame of its own, which neither the notebook's style nor its scripts reach, nor it them.
        return (
            f'<iframe sandbox="allow-scripts" title="tuneonce report" srcdoc="{html.escape(self.html())}" '
            f'style="width:100%;height:{_HEIGHT_PX}px;border:1px solid #8888"></iframe>'
        )


def report(*sources: Source, kernel: str = "") -> Report:
    """What was tuned, as `tuneonce report` shows it. `sources`: stores and files of records or results (paths), and
    TuningResults; none: the user's store. `kernel`: only this one's."""
    paths: List[str] = []
    results: List[Tuple[str, str]] = []
    for source in sources:
        if isinstance(source, TuningResult):
            results.append((f"result {len(results) + 1}", json.dumps(_result_json(source))))
        else:
            paths.append(os.fspath(source))
    return Report(paths if sources else [""], results, kernel)


def _result_json(result: TuningResult[Any]) -> Dict[str, Any]:
    """Returns the result in the form of `tuneonce tune --json`."""

    def axes(config: Any) -> Dict[str, Any]:
        values = config if isinstance(config, dict) else getattr(config, "__dict__", None) or {"config": config}
        return {
            str(name): value if isinstance(value, (bool, int, float, str)) else str(value)
            for name, value in values.items()
        }

    def success(each: Any) -> Dict[str, Any]:
        return {
            "config": axes(each.config),
            "variant": each.variant,
            "mean_us": each.mean_us,
            "error_margin_us": each.error_margin_us,
            "num_samples": each.num_samples,
            "ties_with_fastest": each.ties_with_fastest,
            "latency": {"std": each.std_us, "median": each.median_us, "min": each.min_us, "max": each.max_us},
        }

    cost = result.cost
    return {
        "kernel": result.kernel,
        "best": success(result.best),
        "successes": [success(each) for each in result.successes],
        "baseline": None if result.baseline is None else success(result.baseline),
        "failures": [
            {"config": axes(each.config), "kind": each.kind, "message": each.message} for each in result.failures
        ],
        "duplicates": [{"config": axes(each.config), "same_as": axes(each.same_as)} for each in result.duplicates],
        "not_measured": [axes(config) for config in result.not_measured],
        "speedup_over_baseline": result.speedup_over_baseline,
        "reason": result.reason,
        "is_conclusive": result.is_conclusive,
        "is_isolated": result.is_isolated,
        "timer": result.timer,
        "drift": result.drift,
        "device_before": result.device_before,
        "device_after": result.device_after,
        "notes": list(result.notes),
        "cost": {
            "compile_s": cost.compile_seconds,
            "num_compiled": cost.num_compiled,
            "gpu_s": cost.gpu_seconds,
            "wall_s": cost.wall_seconds,
            "num_rounds": cost.num_rounds,
            "peak_bytes": cost.peak_bytes,
            "workers_replaced": cost.workers_replaced,
        },
    }
