"""Search spaces to start from, one for each family of kernels: those of C++'s tuneonce/search_space.h, as sequences of dicts.

    space = tuneonce.families.dense_matmul("sm_100", M=16, N=4096, K=4096)
    space = space.with_axis("SPLIT_K", [1, 2, 4]).where(lambda c: c["TILE_M"] <= 128)
    tuneonce.exhaustive_search(space, stream, grid, kernel, arguments, space.hints_of, baseline=space.baseline)

The first argument is a target, "sm_90" or "cpu"; of the kernels that are bound by memory the space is the same on each. Extents
by the family's dims leave out what would be mostly padding; without them nothing is left out. Why these values, and from where,
search_space.h says. In a `Declaration`, and in a manifest, a space is named: `space="dense_matmul"`.
"""
import collections.abc
import json
import os
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple, Union, overload

__all__ = ["FamilySpace", "attention", "classify", "dense_matmul", "dual_gemm", "elementwise", "fp8_matmul", "grouped_gemm", "in_place",
           "norm_like", "occupancy_only", "persistent_matmul", "reduction", "show", "varlen_attention"]


class FamilySpace(Sequence[Dict[str, Any]]):
    """A family's configs on one target, smaller tiles first. Immutable: its methods return new spaces."""

    def __init__(self, family: str, configs: Sequence[Mapping[str, Any]], baseline: Optional[Mapping[str, Any]],
                 hints: Sequence[str]) -> None:
        self.family = family
        self._configs = [dict(config) for config in configs]
        self._baseline = None if baseline is None else dict(baseline)
        self._hints = tuple(hints)

    @property
    def baseline(self) -> Dict[str, Any]:
        """The config that is always measured. Raises ValueError if the shape or `where` removed it."""
        if self._baseline is None:
            raise ValueError(f"the space {self.family} has no baseline: it was left out")
        return dict(self._baseline)

    @property
    def hints(self) -> Tuple[str, ...]:
        """The axes that are compiler hints; the others are the kernel's constants."""
        return self._hints

    def hints_of(self, config: Mapping[str, Any]) -> Dict[str, Any]:
        """Returns the hints of a config, for hints_fn of exhaustive_search."""
        return {name: config[name] for name in self._hints}

    def with_axis(self, name: str, values: Sequence[Any]) -> "FamilySpace":
        """Returns the space with an axis added: each config with each value; the baseline gets the first."""
        if isinstance(values, (str, bytes)) or not isinstance(values, collections.abc.Sequence) or not values:
            raise ValueError(f"axis '{name}' needs a list of at least one value")
        if self._configs and name in self._configs[0]:
            raise ValueError(f"the space {self.family} has an axis '{name}'")
        baseline = None if self._baseline is None else {**self._baseline, name: values[0]}
        return FamilySpace(self.family, [{**c, name: v} for c in self._configs for v in values], baseline, self._hints)

    def with_configs(self, *configs: Mapping[str, Any]) -> "FamilySpace":
        """Returns a space with these configs added at the end; each has a value per axis."""
        for config in configs:
            if self._configs and set(config) != set(self._configs[0]):
                raise ValueError(f"a config of {self.family} has the axes {', '.join(self._configs[0])}, not {', '.join(config)}")
        return FamilySpace(self.family, [*self._configs, *configs], self._baseline, self._hints)

    def where(self, holds: Callable[[Dict[str, Any]], bool]) -> "FamilySpace":
        """Returns the space with only the configs for which `holds` returns true."""
        baseline = self._baseline if self._baseline is not None and holds(dict(self._baseline)) else None
        return FamilySpace(self.family, [c for c in self._configs if holds(dict(c))], baseline, self._hints)

    def __len__(self) -> int:
        return len(self._configs)

    @overload
    def __getitem__(self, index: int) -> Dict[str, Any]: ...
    @overload
    def __getitem__(self, index: slice) -> List[Dict[str, Any]]: ...

    def __getitem__(self, index: Union[int, slice]) -> Any:
        return self._configs[index]

    def __iter__(self) -> Iterator[Dict[str, Any]]:
        return iter(self._configs)

    def __repr__(self) -> str:
        return f"<FamilySpace {self.family} of {len(self)} configs>"


def classify(bundle: Union[str, "os.PathLike[str]"], target: str = "", *, ptx: Optional[Mapping[str, Sequence[str]]] = None,
             **extents: int) -> Dict[str, Any]:
    """Which family a bundle's kernel is of, by its Tile IR or PTX, with reasons, and where its space departs: what `tuneonce
    bundle classify --json` prints. `target`: by default "sm_90", or the first GPU that it runs on. `extents`: for its operations
    per byte, in place of the example's. `ptx`: texts of variants whose files are cubins, by name."""
    from tuneonce import _tuneonce
    texts = {name: list(each) for name, each in (ptx or {}).items()}
    classified: Dict[str, Any] = json.loads(_tuneonce._classify_json(bundle, target, extents, texts))
    return classified


def show(family: str, targets: Sequence[str] = (), **extents: int) -> Dict[str, Any]:
    """Returns a family as `tuneonce space show --json` prints it, by default for the known targets."""
    from tuneonce import _tuneonce
    shown: Dict[str, Any] = json.loads(_tuneonce._family_json(family, list(targets), extents))
    return shown


def _space(family: str, target: str, extents: Mapping[str, int]) -> FamilySpace:
    shown = show(family, [target], **extents)
    on = shown["targets"][0]
    if "error" in on:
        raise ValueError(on["error"])
    return FamilySpace(family, on["configs"], on["baseline"], shown["hints"])


def occupancy_only(target: str = "sm_90") -> FamilySpace:
    """The space of a kernel without a tile to choose: occupancy."""
    return _space("occupancy_only", target, {})


def norm_like(target: str = "sm_90", **extents: int) -> FamilySpace:
    """The space of kernels that read and scale rows (N): TILE_N, occupancy."""
    return _space("norm_like", target, extents)


def reduction(target: str = "sm_90", **extents: int) -> FamilySpace:
    """The space of kernels that read rows once (N): TILE_N, occupancy."""
    return _space("reduction", target, extents)


def elementwise(target: str = "sm_90", **extents: int) -> FamilySpace:
    """The space of elementwise kernels (N): TILE, occupancy, num_ctas."""
    return _space("elementwise", target, extents)


def in_place(target: str = "sm_90") -> FamilySpace:
    """The space of kernels that write their input: occupancy."""
    return _space("in_place", target, {})


def dense_matmul(target: str, **extents: int) -> FamilySpace:
    """The space of c = a b with a block per tile (M, N, K): TILE_M, TILE_N, TILE_K, occupancy, num_ctas."""
    return _space("dense_matmul", target, extents)


def persistent_matmul(target: str, **extents: int) -> FamilySpace:
    """The space of c = a b with persistent blocks: a grid of min(SMs // num_ctas * occupancy, tiles)."""
    return _space("persistent_matmul", target, extents)


def attention(target: str, **extents: int) -> FamilySpace:
    """The space of attention (M queries, N keys, heads of D): TILE_M, TILE_N, occupancy, num_ctas."""
    return _space("attention", target, extents)


def fp8_matmul(target: str, **extents: int) -> FamilySpace:
    """The space of c = a b of scaled 8-bit floats (M): like dense_matmul, with TILE_N and TILE_K of a scale's block."""
    return _space("fp8_matmul", target, extents)


def grouped_gemm(target: str, **extents: int) -> FamilySpace:
    """The space of products of many sizes in one launch (M of all together, N): like dense_matmul."""
    return _space("grouped_gemm", target, extents)


def varlen_attention(target: str, **extents: int) -> FamilySpace:
    """The space of attention over sequences of different lengths (M queries of all, heads of D): like attention."""
    return _space("varlen_attention", target, extents)


def dual_gemm(target: str, **extents: int) -> FamilySpace:
    """The space of two gated products of one input (M, N): like dense_matmul."""
    return _space("dual_gemm", target, extents)
