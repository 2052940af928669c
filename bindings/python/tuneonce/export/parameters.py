"""What a kernel takes: the manifest's parameters (docs/internal/manifest.md)."""
from typing import Any, Dict, List, Optional, Sequence, Union

from tuneonce.export.terms import Term, ceil_div, is_multiple, product

DTYPE_BYTES = {"bool": 1, "int8": 1, "uint8": 1, "int16": 2, "uint16": 2, "int32": 4, "uint32": 4, "int64": 8,
               "uint64": 8, "float8_e4m3": 1, "float8_e5m2": 1, "float16": 2, "bfloat16": 2, "float32": 4, "float64": 8}
# A divisor of the number of elements of a workspace.
WORKSPACE_DIVISOR = 16


def _with_warmup(parameter: Dict[str, Any], warmup: Any) -> Dict[str, Any]:
    return parameter if warmup is None else {**parameter, "warmup": warmup}


def tensor(name: str, dtype: str, dims: Sequence[Union[str, int]], access: str = "in", may_be_partial: bool = False,
           tolerance: Optional[Dict[str, float]] = None,
           warmup: Union[None, float, str, Dict[str, Any]] = None) -> Dict[str, Any]:
    """A tensor parameter; `dims`: the name of a dim, or a constant extent, for each dimension; `access`: in, out or
    inout. Of an output: whether the kernel leaves elements unwritten on purpose, and its tolerance (absolute, relative, ulps). `warmup`: what an input holds where a shape is tuned without
    data: a number, {"iota": [start, step]}, {"uniform": [low, high]} or {"offsets": [end, skew]}, in which the name
    of a dim can stand for a number. A tensor of integers or truth values that the kernel reads needs one for that."""
    result = {"name": name, "kind": "tensor", "access": access, "dtype": dtype, "dims": list(dims)}
    if may_be_partial:
        result["may_be_partial"] = True
    if tolerance is not None:
        result["tolerance"] = tolerance
    return _with_warmup(result, warmup)


def tensors(names: str, dtype: str, dims: Sequence[str], access: str = "in", **more: Any) -> List[Dict[str, Any]]:
    """Several that are alike: *tensors("q k v", "float16", ["B", "H", "S", "D"])."""
    return [tensor(name, dtype, dims, access, **more) for name in names.split()]


def scalar(name: str, dtype: str, warmup: Union[None, float, str] = None) -> Dict[str, Any]:
    """A number that the caller passes. `warmup`: the one where a shape is tuned without data."""
    return _with_warmup({"name": name, "kind": "scalar", "dtype": dtype}, warmup)


def dim(name: str, dtype: str = "int32") -> Dict[str, Any]:
    """The value of a dim, for kernels that take it as a parameter."""
    return {"kind": "dim", "dim": name, "dtype": dtype}


def stride(tensor_name: str, dimension: int, dtype: str = "int32", name: Optional[str] = None) -> Dict[str, Any]:
    """A tensor's stride in elements, for kernels that take it as a parameter: then the tensor need not be contiguous there.
    `name`: the kernel's; default x_stride_0 and so on."""
    return {"kind": "stride", "name": name or f"{tensor_name}_stride_{dimension}", "tensor": tensor_name,
            "dimension": dimension, "dtype": dtype}


def strides(tensor_name: str, names: str, dtype: str = "int32") -> List[Dict[str, Any]]:
    """The strides of a tensor's dimensions, outermost first, by the kernel's names: *strides("x", "stride_b stride_h stride_s")."""
    return [stride(tensor_name, dimension, dtype, name) for dimension, name in enumerate(names.split())]


def derived(name: str, value: Term, dtype: str = "int32") -> Dict[str, Any]:
    """The value of a term, for kernels that take it as a parameter; the caller does not pass it."""
    return {"name": name, "kind": "derived", "value": value, "dtype": dtype}


def workspace(name: str, elements: Term, dtype: str = "uint8") -> Dict[str, Any]:
    """Scratch memory of so many elements, rounded up to a multiple of 16, contents undefined; the caller does not pass it. Of
    an extent that 16 divides, tileiras moves 16 bytes at a time also where what is in bounds is masked."""
    if not is_multiple(elements, WORKSPACE_DIVISOR):
        elements = product(WORKSPACE_DIVISOR, ceil_div(elements, WORKSPACE_DIVISOR))
    return {"name": name, "kind": "workspace", "dtype": dtype, "elements": elements}


def descriptor(name: str, tensor_name: str, box: Sequence[Term], **options: Any) -> Dict[str, Any]:
    """A tensor as a tensor map (TMA), for kernels that take one; the caller passes the tensor. `box`: elements in each
    dimension, outermost first. `options`: element_strides, swizzle, interleave, l2_promotion, oob_fill."""
    return {"name": name, "kind": "descriptor", "tensor": tensor_name, "box": list(box), **options}
