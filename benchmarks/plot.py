"""One plot as SVG, with nothing but Python, and the same bytes each time."""

import math
from typing import List, Sequence

COLOURS = ["#1b6ca8", "#d1495b", "#3a7d44", "#8d6a9f", "#7f7f7f"]  # Told apart in grey, too, by their order.
WIDTH, LEFT, RIGHT, TOP, ROW = 760, 230, 24, 64, 26


def escape(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


class Plot:
    """An SVG with one horizontal scale, above which everything stands in rows. Lengths in pixels."""

    def __init__(
        self, title: str, subtitle: str, inner_height: float, largest: float, smallest: float = 0, log: bool = False
    ):
        self.bottom = TOP + inner_height
        self.height = self.bottom + 74
        self._log, self._smallest, self._largest = log, smallest, largest
        self._parts: List[str] = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {self.height}" font-family="sans-serif" '
            f'font-size="12" role="img" aria-label="{escape(title)}">',
            f'<rect width="{WIDTH}" height="{self.height}" fill="#ffffff"/>',
        ]
        self.text(12, 22, title, size=15, weight="bold")
        self.text(12, 42, subtitle, colour="#555555")

    def x(self, value: float) -> float:
        low, high = self._smallest, self._largest
        share = math.log(value / low) / math.log(high / low) if self._log else (value - low) / (high - low)
        return LEFT + share * (WIDTH - LEFT - RIGHT)

    def text(
        self,
        x: float,
        y: float,
        text: str,
        size: int = 12,
        colour: str = "#222222",
        anchor: str = "start",
        weight: str = "normal",
    ) -> None:
        self._parts.append(
            f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" fill="{colour}" text-anchor="{anchor}" '
            f'font-weight="{weight}">{escape(text)}</text>'
        )

    def line(self, x1: float, y1: float, x2: float, y2: float, colour: str = "#dddddd", dashes: str = "") -> None:
        dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
        self._parts.append(f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}"{dashed}/>')

    def dot(self, value: float, y: float, colour: str) -> None:
        self._parts.append(f'<circle cx="{self.x(value):.1f}" cy="{y:.1f}" r="4" fill="{colour}" fill-opacity="0.6"/>')

    def bar(self, value: float, y: float, colour: str, height: float = 14) -> None:
        width = self.x(value) - LEFT
        self._parts.append(
            f'<rect x="{LEFT}" y="{y - height / 2:.1f}" width="{width:.1f}" height="{height}" fill="{colour}"/>'
        )

    def scale(self, ticks: Sequence[float], unit: str) -> None:
        for tick in ticks:
            self.line(self.x(tick), TOP - 6, self.x(tick), self.bottom)
            self.text(self.x(tick), self.bottom + 16, f"{tick:g}", anchor="middle")
        self.text((LEFT + WIDTH - RIGHT) / 2, self.bottom + 34, unit, anchor="middle", colour="#555555")

    def legend(self, names: Sequence[str]) -> None:
        x = 12.0
        for name, colour in zip(names, COLOURS):
            self._parts.append(f'<rect x="{x:.1f}" y="{self.height - 22}" width="12" height="12" fill="{colour}"/>')
            self.text(x + 17, self.height - 12, name)
            x += 34 + 6.6 * len(name)

    def svg(self) -> str:
        return "\n".join([*self._parts, "</svg>", ""])
