"""The grid of a bundle as terms, from the grids that calls had."""
import itertools
from typing import Any, Dict, List, Mapping, Sequence, Tuple

from tuneonce.export.declaration_error import DeclarationError
from tuneonce.export.terms import Term, ceil_div, product

# Most factors of one extent: tiles of rows, tiles of columns, a batch.
MOST_FACTORS = 3


class GridTerms:
    """Looks for the terms that have the extents of each launch that was seen. `names`: by name of a scalar or dim, its value in each
    launch, the `num_scalars` scalars first; `axes`: by name of an axis, its value in each launch."""

    def __init__(self, names: Mapping[str, Sequence[int]], axes: Mapping[str, Sequence[int]], num_scalars: int) -> None:
        self._names = list(names)
        self._dims = set(self._names[num_scalars:])
        self._factors: Dict[Tuple[int, ...], List[Tuple[Term, str, str]]] = {}
        for name, values in names.items():
            self._add(values, (name, name, ""))
            for axis, tiles in axes.items():
                if all(tile > 0 for tile in tiles):
                    self._add([-(-v // tile) for v, tile in zip(values, tiles)], (ceil_div(name, axis), name, axis))
        for axis, values in axes.items():
            self._add(values, (axis, "", axis))

    def find(self, extents: Sequence[int], what: str) -> Term:
        """Returns the term with these values. Raises DeclarationError if no term has them, or if several do that mean different things."""
        if set(extents) == {1}:
            return 1
        for count in range(1, MOST_FACTORS + 1):
            found = self._products(tuple(extents), count)
            if found:
                return self._chosen(found, what)
        raise DeclarationError(f"{what} is not a product of scalars, dims and tiles of them: write a declaration (docs/bundles.md)")

    def _add(self, values: Sequence[int], factor: Tuple[Term, str, str]) -> None:
        if set(values) != {1}:
            self._factors.setdefault(tuple(values), []).append(factor)

    def _products(self, extents: Tuple[int, ...], count: int) -> List[List[Tuple[Term, str, str]]]:
        if count == 1:
            return [[factor] for factor in self._factors.get(extents, [])]
        result = []
        for values, factors in self._factors.items():
            if any(v < 1 or extent % v for extent, v in zip(extents, values)):
                continue
            rest = self._products(tuple(extent // v for extent, v in zip(extents, values)), count - 1)
            result += [[factor, *others] for factor, others in itertools.product(factors, rest)]
        return result

    def _chosen(self, found: List[List[Tuple[Term, str, str]]], what: str) -> Term:
        """The product whose names fit best: a tile BLOCK_M is of M."""
        def likeness(factors: List[Tuple[Term, str, str]]) -> Tuple[int, int]:
            alike = sum(name.lower() == axis.lower().rpartition("_")[2] for _, name, axis in factors if name and axis)
            return alike, -sum(name in self._dims for _, name, _ in factors)

        best = max(map(likeness, found))
        terms = {str(sorted(str(term) for term, _, _ in factors)): factors for factors in found if likeness(factors) == best}
        if len(terms) > 1:
            shown = " or ".join(" * ".join(str(term) for term, _, _ in factors) for factors in list(terms.values())[:2])
            raise DeclarationError(f"{what} may be {shown}: call the kernel with other sizes, too, which tell them apart")
        factors = sorted(next(iter(terms.values())), key=lambda factor: self._names.index(factor[1]) if factor[1] else len(self._names))
        return product(*(term for term, _, _ in factors)) if len(factors) > 1 else factors[0][0]
