"""Bundles as PyTorch custom ops: eager, torch.compile(fullgraph=True), torch.cuda.graph.

    rms_norm = tuneonce.torch.custom_op("mylib::rms_norm", "rms_norm")
    y = rms_norm(x, w, 1e-5)

The op is functional: it takes the bundle's `in` and `inout` tensors and its scalars, in order, and returns the `out` and
`inout` ones, newly made. A kernel with `inout` tensors has an in-place form too: `op.inplace`. The first call of a shape
tunes, on the current stream; in a capture nothing is tuned: call the op once with such shapes before, or
`op.kernel.warmup`.
"""
from typing import Any, Callable, Dict, Mapping, Optional, Sequence, Union

import torch

import tuneonce
from tuneonce.ranks import StoreRanks as StoreRanks

__all__ = ["CustomOp", "StoreRanks", "custom_op"]

_TYPES = {"float16": torch.float16, "bfloat16": torch.bfloat16, "float32": torch.float32, "float64": torch.float64,
          "int8": torch.int8, "uint8": torch.uint8, "int16": torch.int16, "uint16": torch.uint16, "int32": torch.int32,
          "uint32": torch.uint32, "int64": torch.int64, "uint64": torch.uint64, "bool": torch.bool,
          "float8_e4m3": torch.float8_e4m3fn, "float8_e5m2": torch.float8_e5m2}


class CustomOp:
    """A bundle as a torch op, which `custom_op` makes."""

    def __init__(self, name: str, bundle: "tuneonce.Bundle", kernel: "tuneonce.TunedKernel",
                 dims: Optional[Mapping[str, Callable[[Dict[str, int]], int]]] = None) -> None:
        self.kernel = kernel
        self._computed = dict(dims or {})
        for dim in self._computed:
            if dim not in bundle.dims:
                raise ValueError(f"'{dim}' is not a dim of the bundle '{bundle.name}', which has {', '.join(bundle.dims)}")
        self._parameters: Dict[str, Any] = dict(bundle.parameters)
        by_pointers = [n for n, p in self._parameters.items() if p.get("by_pointers")]
        if by_pointers:
            raise ValueError(f"the bundle '{bundle.name}' takes '{by_pointers[0]}' by a table of pointers, which an op cannot "
                             "pass: call its TunedKernel with a tuneonce.PointerTable")
        self._taken = [n for n, p in self._parameters.items() if p.get("access") != "out"]
        self._returned = [n for n, p in self._parameters.items() if p.get("access") in ("out", "inout")]
        if not self._returned:
            raise ValueError(f"the bundle '{bundle.name}' writes no tensor: there is nothing that an op could return")
        self._op = torch.library.custom_op(name, self._run, mutates_args=(), schema=self._schema(self._returned))
        self._op.register_fake(self._fake)
        self.inplace: Optional[Callable[..., None]] = None
        changed = [n for n in self._taken if self._parameters[n].get("access") == "inout"]
        if changed and changed == self._returned:
            in_place = torch.library.custom_op(name + "_", self._run_in_place, mutates_args=changed, schema=self._schema([]))
            in_place.register_fake(lambda *args: None)
            self.inplace = in_place

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Returns the output tensor, or a tuple of several. Arguments are passed by position or by name."""
        return self._op(*args, **named)

    def register_autograd(self, backward: Callable[..., Any], *, setup_context: Optional[Callable[..., None]] = None) -> None:
        """`backward(ctx, *grads)` and `setup_context(ctx, inputs, output)` as torch.library's. The backward is best an op
        of its own bundle: it has keys of its own then. To let it run with the forward's config instead, make both with
        the same `selection_group`."""
        self._op.register_autograd(backward, setup_context=setup_context)

    def _schema(self, returned: Sequence[str]) -> str:
        def argument(name: str) -> str:
            parameter = self._parameters[name]
            if parameter["kind"] == "scalar":
                dtype = _TYPES[parameter["dtype"]]
                kind = "float" if dtype.is_floating_point else "bool" if dtype == torch.bool else "int"
                return f"{kind} {name}"
            in_place = not returned and parameter["access"] == "inout"
            return f"Tensor({'a!' if in_place else ''}) {name}" if in_place else f"Tensor {name}"
        results = {0: "()", 1: "Tensor"}.get(len(returned), "(" + ", ".join(["Tensor"] * len(returned)) + ")")
        return f"({', '.join(argument(n) for n in self._taken)}) -> {results}"

    def _make_outputs(self, given: Dict[str, Any], copy: bool) -> Dict[str, torch.Tensor]:
        """Returns the output tensors. With `copy` an inout tensor has the caller's values, else undefined ones."""
        dims: Dict[str, int] = {}
        like: Optional[torch.Tensor] = None
        for name, value in given.items():
            if isinstance(value, torch.Tensor):
                like = value if like is None else like
                dims.update((d, n) for d, n in zip(self._parameters[name]["dims"], value.shape) if isinstance(d, str))
        for dim, extent in self._computed.items():
            dims.setdefault(dim, extent(dims))
        outputs = {}
        for name in self._returned:
            parameter = self._parameters[name]
            if parameter["access"] == "inout":
                outputs[name] = given[name].clone(memory_format=torch.contiguous_format) if copy else torch.empty_like(
                    given[name], memory_format=torch.contiguous_format)
                continue
            missing = [d for d in parameter["dims"] if isinstance(d, str) and d not in dims]
            if missing or like is None:
                raise ValueError(f"the shape of the output '{name}' cannot be known: no input has the dims {missing}; custom_op "
                                 f"takes dims={{'{missing[0] if missing else 'N'}': lambda dims: ...}}")
            dtype = _TYPES.get(parameter["dtype"], given.get(parameter.get("same_dtype_as"), like).dtype)
            shape = [dims[d] if isinstance(d, str) else d for d in parameter["dims"]]
            outputs[name] = torch.empty(shape, dtype=dtype, device=like.device)
        return outputs

    def _run(self, *args: Any) -> Any:
        given = dict(zip(self._taken, args))
        outputs = self._make_outputs(given, copy=True)
        self.kernel(*[outputs[n] if n in outputs else given[n] for n in self._parameters])
        return self._results(outputs)

    def _fake(self, *args: Any) -> Any:
        return self._results(self._make_outputs(dict(zip(self._taken, args)), copy=False))

    def _results(self, outputs: Dict[str, torch.Tensor]) -> Any:
        results = tuple(outputs[n] for n in self._returned)
        return results[0] if len(results) == 1 else results

    def _run_in_place(self, *args: Any) -> None:
        self.kernel(*args)


def custom_op(name: str, bundle: Union[str, "tuneonce.Bundle"], *, device: str = "cuda",
              dims: Optional[Mapping[str, Callable[[Dict[str, int]], int]]] = None,
              backward: Optional[Callable[..., Any]] = None, setup_context: Optional[Callable[..., None]] = None,
              **options: Any) -> CustomOp:
    """Registers `name` ("library::op"). `options`: those of TunedKernel (store, selection_group, ...). `dims`: how extents of
    outputs that no input has follow from those that inputs have, `{"N": lambda dims: dims["N2"] // 2}`. `backward`,
    `setup_context`: see CustomOp.register_autograd."""
    if not isinstance(bundle, tuneonce.Bundle):
        bundle = tuneonce.Bundle(bundle)
    op = CustomOp(name, bundle, tuneonce.TunedKernel(bundle, device, **options), dims)
    if backward is not None:
        op.register_autograd(backward, setup_context=setup_context)
    return op
