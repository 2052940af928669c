"""Shows stores and results as one page, in a notebook or as a file."""

import html
import json
import os
from typing import Any, List, Tuple, Union

from tuneonce.paths import Path, path_of
from tuneonce.result import TuningRecord

Source = Union[Path, TuningRecord[Any]]

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

        return _tuneonce._report_text(form, [os.fsencode(path) for path in self._paths], self._results, self._kernel)

    def html(self) -> str:
        """Returns the page as one self-contained HTML text."""
        return self._text("page")

    def csv(self) -> str:
        """Returns a line of CSV per candidate."""
        return self._text("csv")

    def markdown(self) -> str:
        """Returns a Markdown table with a row per search, and the failures."""
        return self._text("markdown")

    def save(self, path: Path) -> None:
        """Writes the page to `path`."""
        page = self.html()
        with open(path_of("path", path), "w", encoding="utf-8") as file:
            file.write(page)

    def __repr__(self) -> str:
        paths = [os.fsencode(path).decode(errors="backslashreplace") for path in self._paths]
        names = [path or "the user's store" for path in paths] + [name for name, _ in self._results]
        return f"<Report of {', '.join(names)}>"

    def _repr_html_(self) -> str:
        # In a frame of its own, which neither the notebook's style nor its scripts reach, nor it them.
        return (
            f'<iframe sandbox="allow-scripts" title="tuneonce report" srcdoc="{html.escape(self.html())}" '
            f'style="width:100%;height:{_HEIGHT_PX}px;border:1px solid #8888"></iframe>'
        )


def report(*sources: Source, kernel: str = "") -> Report:
    """What was tuned, as `tuneonce report` shows it. `sources`: stores and files of records or results (paths), and
    TuningRecords; none: the user's store. `kernel`: only this one's."""
    paths: List[str] = []
    results: List[Tuple[str, str]] = []
    for source in sources:
        if isinstance(source, TuningRecord):
            file = {"format": "tuneonce-records", "version": 7, "records": [source.to_json()]}
            results.append((f"result {len(results) + 1}", json.dumps(file)))
        else:
            paths.append(os.fsdecode(source))
    return Report(paths if sources else [""], results, kernel)
