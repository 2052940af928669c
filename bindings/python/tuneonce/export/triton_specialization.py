"""What Triton's own JIT compiles for beside types: arguments divisible by 16, integers equal to 1."""
from typing import Any, Dict, List, Optional, Sequence

from tuneonce.export import triton_descriptor
from tuneonce.export.declaration import Declaration
from tuneonce.export.terms import Term, is_multiple

# Of addresses in bytes, of integers in themselves: the only divisor that Triton's JIT knows.
DIVISOR = 16


class Specialization:
    """The JIT looks at each argument of each call and compiles for every combination that comes; a bundle has some. The first
    takes for granted what aligned tensors of the usual sizes have: addresses and the extents of innermost dimensions are
    divisible by 16, so are the strides of outer ones, and the innermost ones are 1, which become constants. Vector loads need
    just that. Extents of outer dimensions (a batch, tokens) are left open, so that one token runs the same code as 4096. The
    last assumes nothing. Between them are those for the declaration's `unaligned`: of tensors whose innermost dim is one of
    these, neither extent nor strides are divisible.

    What does not hold for the declaration's `example` is not taken for granted; what `divisible` names is, in any case, whole
    scalars too: a seed would hold by chance only. `extents`: those that are constants, and scalars that are, by name.
    """

    def __init__(self, declaration: Declaration, is_general: bool, extents: Dict[str, int],
                 unaligned: Sequence[str] = ()) -> None:
        self._declaration = declaration
        self._unaligned = unaligned
        self._is_general = is_general
        self._extents = extents
        self._tensors = {t["name"]: t for t in declaration.tensors()}
        self._example: Dict[str, int] = dict((declaration.example or {}).get("dims", {}))
        inner = declaration.inner_dims()
        self._dims = {d: DIVISOR for d in declaration.dims if d in inner and self._example.get(d, 0) % DIVISOR == 0}
        self._dims.update({d: n for d, n in declaration.divisible.items() if d in declaration.dims})
        self._dims = {d: n for d, n in self._dims.items() if d not in unaligned}

    def divisor_of(self, parameter: Dict[str, Any]) -> int:
        """What the parameter is assumed to be divisible by; 1 for nothing."""
        factor = self._divisible_factor(parameter)
        if factor is not None:
            return self._dims[factor] if self._is_assumed(factor) else DIVISOR
        if parameter["kind"] == "workspace":
            return DIVISOR  # Allocated on its own.
        if self._is_general:
            return 1
        if parameter["kind"] == "tensor":
            return max(DIVISOR, self._declaration.alignment_of(parameter["name"]))
        if parameter["kind"] == "scalar":
            return self._declaration.divisible.get(parameter["name"], 1)
        return DIVISOR if self._has_wide_rows(parameter) else 1

    def _divisible_factor(self, parameter: Dict[str, Any]) -> Optional[Term]:
        """Of the parameter's value, which is a dim or a term, the factor that makes it divisible: one that is known to be, or else
        a dim that is assumed to be. One stride for several contiguous tensors is the extent of their rows, too."""
        value = parameter.get("dim", parameter.get("value"))
        factors = value["product"] if isinstance(value, dict) and "product" in value else [value]
        known = [f for f in factors if is_multiple(self._extents.get(f, f) if isinstance(f, str) else f, DIVISOR)]
        return next(iter(known or ([] if self._is_general else filter(self._is_assumed, factors))), None)

    def _is_assumed(self, factor: Optional[Term]) -> bool:
        return isinstance(factor, str) and factor in self._dims and factor not in self._extents

    def is_one(self, parameter: Dict[str, Any]) -> bool:
        """Whether it is a stride along a dimension in which elements lie side by side."""
        if self._is_general or parameter["kind"] != "stride":
            return False
        return parameter["dimension"] == len(self._tensors[parameter["tensor"]]["dims"]) - 1

    def _has_wide_rows(self, parameter: Dict[str, Any]) -> bool:
        """Whether a stride is that of an outer dimension, and, for contiguous tensors, divisible in the example."""
        if parameter["kind"] != "stride" or self.is_one(parameter):
            return False
        dims = self._tensors[parameter["tensor"]]["dims"]
        if dims[-1] in self._unaligned:
            return False
        stride = 1
        for name in dims[parameter["dimension"] + 1:]:
            stride *= self._extents.get(name, self._example.get(name, DIVISOR))
        return stride % DIVISOR == 0

    def assumptions(self, taken: Sequence[Dict[str, Any]]) -> List[Dict[str, Any]]:
        """In the manifest's words, of a kernel that takes these parameters."""
        result: List[Dict[str, Any]] = []
        for parameter in taken:
            divisor, factor = self.divisor_of(parameter), self._divisible_factor(parameter)
            if self.is_one(parameter):
                result.append({"tensor": parameter["tensor"], "dimension": parameter["dimension"], "stride": 1})
            elif parameter["kind"] == "descriptor":
                result += triton_descriptor.assumptions(parameter, self._declaration)
            elif divisor == 1 or parameter["kind"] == "workspace":
                continue
            elif parameter["kind"] == "tensor":
                result.append({"tensor": parameter["name"], "aligned": divisor})
            elif parameter["kind"] == "stride":
                result.append({"tensor": parameter["tensor"], "dimension": parameter["dimension"],
                               "stride_divisible_by": divisor})
            elif parameter["kind"] == "scalar":
                result.append({"scalar": parameter["name"], "divisible_by": divisor})
            elif self._is_assumed(factor):
                tensor, dimension = self._declaration.place_of(factor)
                result.append({"tensor": tensor, "dimension": dimension, "extent_divisible_by": divisor})
        for name, value in self._extents.items():
            if name in self._declaration.dims:
                tensor, dimension = self._declaration.place_of(name)
                result.append({"tensor": tensor, "dimension": dimension, "extent": value})
            else:
                result.append({"scalar": name, "is": value})
        # A dim and a stride may be one extent, and need one assumption.
        return [a for i, a in enumerate(result) if a not in result[:i]] + self._declaration.assumptions_of_any()
