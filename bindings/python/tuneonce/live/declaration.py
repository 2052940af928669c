"""The declaration of a kernel from the calls that it had: its parameters, strides, constants and grid."""
from typing import Any, Dict, List, Optional, Sequence

from tuneonce.export.declaration import Declaration
from tuneonce.export.declaration_error import DeclarationError
from tuneonce.export.parameters import DTYPE_BYTES, scalar, stride, tensor
from tuneonce.export.terms import blocks
from tuneonce.live.grid_term import GridTerms
from tuneonce.live.observation import Observation

# PyTorch's names of dtypes that a manifest calls otherwise.
DTYPES = {"float8_e4m3fn": "float8_e4m3"}
# What Triton's JIT specializes integers for.
DIVISOR = 16


class LiveDeclaration:
    """`names`: the kernel's parameters; `access`: by tensor; `constants`: by parameter, what the caller gave; `configs`: by config,
    its constants. All observations are of calls with these constants and types. `language`: "triton" or "cutile"."""

    def __init__(self, names: Sequence[str], access: Dict[str, str], constants: Dict[str, Any], configs: Sequence[Dict[str, Any]],
                 observations: Sequence[Observation], is_unordered: bool, language: str = "triton") -> None:
        self._names = names
        self._access = access
        self._constants = constants
        self._configs = configs
        self._seen = observations
        self._is_unordered = is_unordered
        self._language = language
        self._last = observations[-1]
        self._strides: Dict[str, List[str]] = {}  # By tensor, the parameters that are its strides.
        self._dims = self._dims_of_tensors()

    def declaration(self) -> Declaration:
        """Raises DeclarationError where the calls do not say enough."""
        parameters = [p for p in (self._parameter(name) for name in self._names) if p is not None]
        used = list(dict.fromkeys(dim for dims in self._dims.values() for dim in dims))
        scalars = [p["name"] for p in parameters if p["kind"] == "scalar"]
        whole = [n for n in scalars if type(self._last.scalars[n]) is int]
        return Declaration(
            dims=used, parameters=parameters, grid=blocks(*self._grid(whole, used)), constants=dict(self._constants),
            divisible={n: DIVISOR for n in self._divisible(whole, used)}, unordered=self._is_unordered,
            example={"dims": self._extents(self._last), "scalars": {n: self._last.scalars[n] for n in scalars}})

    def _divisible(self, scalars: Sequence[str], dims: Sequence[str]) -> List[str]:
        """What code is specialized for where it is divisible: Triton's JIT looks at numbers, and cuTile's at extents."""
        if self._language == "triton":
            return [n for n in scalars if all(seen.scalars[n] % DIVISOR == 0 for seen in self._seen)]
        return [n for n in dims if all(self._extents(seen)[n] % DIVISOR == 0 for seen in self._seen)]

    def dims_of_extent(self, extent: int) -> List[str]:
        """The dims that had this extent in all calls."""
        return [n for n in dict.fromkeys(dim for dims in self._dims.values() for dim in dims)
                if all(self._extents(seen)[n] == extent for seen in self._seen)]

    def _dims_of_tensors(self) -> Dict[str, List[str]]:
        """Each dimension of a tensor is a dim of its own; tensors that always have one shape share their dims."""
        result: Dict[str, List[str]] = {}
        for name, of_last in self._last.tensors.items():
            same = next((other for other in result if all(seen.tensors[other].shape == seen.tensors[name].shape
                                                          for seen in self._seen)), None)
            result[name] = result[same] if same is not None else [f"{name}_{d}" for d in range(len(of_last.shape))]
        return result

    def _parameter(self, name: str) -> Optional[Dict[str, Any]]:
        if name in self._last.tensors:
            dtype = self._last.tensors[name].dtype
            dtype = DTYPES.get(dtype, dtype)
            if dtype not in DTYPE_BYTES or not self._dims[name]:
                raise DeclarationError(f"tensor '{name}' of dtype {dtype} and rank {len(self._dims[name])} cannot be in a bundle")
            return tensor(name, dtype, self._dims[name], self._access.get(name, "in"), may_be_partial=self._access.get(name) == "out")
        if name not in self._last.scalars:
            return None  # A constant.
        value = self._last.scalars[name]
        if type(value) is float:
            return scalar(name, "float32", value)
        if type(value) is bool:
            return scalar(name, "bool", value)
        dtype = "int32" if all(-2**31 <= seen.scalars[name] < 2**31 for seen in self._seen) else "int64"
        return self._stride(name, dtype) or scalar(name, dtype, value)

    def _stride(self, name: str, dtype: str) -> Optional[Dict[str, Any]]:
        """The tensor's stride that a parameter called as a stride is, if its name and value say which: "stride_am", "x_row_stride". One
        that cannot be told remains a scalar, and the tensor must then be contiguous."""
        words = [word for word in name.lower().split("_") if word not in ("stride", "strides", "ptr")]
        if "stride" not in name.lower() or not words:
            return None
        places = [(t, d) for t, of_last in self._last.tensors.items() for d in range(len(of_last.shape))
                  if all(seen.tensors[t].strides[d] == seen.scalars[name] for seen in self._seen)]
        named = {t: len(base) for t in {t for t, _ in places}
                 if (base := t.lower().removesuffix("_ptr").removesuffix("ptr")) and words[0].startswith(base)}
        if not named:
            return None
        best = max(named, key=lambda t: named[t])
        dimensions = [d for t, d in places if t == best]
        expected = len(self._strides.get(best, ()))  # They are in the order of the dimensions.
        chosen = expected if expected in dimensions else dimensions[0] if len(dimensions) == 1 else None
        if chosen is None:
            return None
        self._strides.setdefault(best, []).append(name)
        return stride(best, chosen, dtype, name=name)

    def _extents(self, seen: Observation) -> Dict[str, int]:
        return {dim: extent for name, dims in self._dims.items() for dim, extent in zip(dims, seen.tensors[name].shape)}

    def _grid(self, scalars: Sequence[str], dims: Sequence[str]) -> List[Any]:
        launches = [(seen, config, grid) for seen in self._seen for config, grid in zip(self._configs, seen.grids) if grid is not None]
        if not launches:
            raise DeclarationError("no call had a grid that could be computed")
        names = {n: [seen.scalars[n] for seen, _, _ in launches] for n in scalars}
        names.update({n: [self._extents(seen)[n] for seen, _, _ in launches] for n in dims})
        axes = {n: [config[n] for _, config, _ in launches] for n in self._configs[0]
                if all(type(config.get(n)) is int for config in self._configs)}
        axes.update({n: [value] * len(launches) for n, value in self._constants.items() if type(value) is int})
        terms = GridTerms(names, axes, len(scalars))
        extents = [terms.find([grid[d] for _, _, grid in launches], f"extent {d} of the grid") for d in range(3)]
        while len(extents) > 1 and extents[-1] == 1:
            extents.pop()
        return extents
