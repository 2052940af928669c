"""What a Triton kernel's decorators say of it: the function within, the configs of @triton.autotune, @triton.heuristics."""
import ast
import dataclasses
import inspect
import itertools
import re
import sys
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

from triton.backends.nvidia.compiler import CUDAOptions
from triton.runtime.jit import JITFunction

from tuneonce.export import config_list, constants
from tuneonce.export.declaration import Declaration
from tuneonce.export.declaration_error import DeclarationError
from tuneonce.export.kernel_names import declared_names
from tuneonce.export.triton_key import key_of, substitutes_for

# The options that every triton.Config has besides values of the kernel's constants.
CONFIG_OPTIONS = ("num_warps", "num_stages", "num_ctas", "maxnreg")
# Further options of a triton.Config if Triton has a Tile IR back end, with their defaults.
TILE_IR_OPTIONS = {"occupancy": 1, "opt_level": 3}
# The manifest's names of the types that a kernel's whole numbers may be annotated with.
ANNOTATIONS = {"i32": "int32", "u32": "uint32", "i64": "int64", "u64": "uint64"}
# The options of Triton's compiler, launch_pdl and launch_cooperative_grid among them, with their defaults.
OPTIONS = {field.name: field.default for field in dataclasses.fields(CUDAOptions)}


def note(kernel: str, text: str) -> None:
    """Says what was ignored or left out, and goes on."""
    print(f"{kernel}: {text}", file=sys.stderr)


class UnknownArgument(Exception):
    """An argument that is known at a launch only; the text is its name."""


def _unknown(self: Any, *arguments: Any) -> Any:
    raise UnknownArgument(object.__getattribute__(self, "name"))


class GivenArgument:
    """An argument of which an export knows only that a launch has one: it is not None, and all else raises UnknownArgument."""

    def __init__(self, name: str) -> None:
        object.__setattr__(self, "name", name)

    __getattribute__ = _unknown
    __bool__ = __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __len__ = __iter__ = __getitem__ = __call__ = _unknown
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __floordiv__ = _unknown
    __rfloordiv__ = __mod__ = __rmod__ = __pow__ = __rpow__ = __lshift__ = __rshift__ = __and__ = __rand__ = __or__ = _unknown
    __neg__ = __int__ = __float__ = __index__ = __abs__ = __str__ = __repr__ = __hash__ = _unknown


class KnownArguments(Dict[str, Any]):
    """What a heuristic is shown at export: constants and the config. `given`: the parameters that a launch passes."""

    def __init__(self, values: Dict[str, Any], given: Sequence[str]) -> None:
        super().__init__(values)
        self._given = given

    def __missing__(self, name: str) -> Any:
        if name in self._given:
            return GivenArgument(name)
        raise UnknownArgument(name)

    def get(self, name: str, default: Any = None) -> Any:
        return self[name]


class TritonKernel:
    """A kernel as Triton's decorators made it: what its own launches would compile, as the manifest's axes and configs, and as
    Triton's constants and options of one config.

    Attributes: `function`, the JIT function within; `declaration`, the one given with the kernel's own configs in it.
    `with_tile_ir`: it is exported as Tile IR, too.
    """

    def __init__(self, kernel: Any, name: str, declaration: Declaration, with_tile_ir: bool = False) -> None:
        self.name = name
        self._tile_ir_options = TILE_IR_OPTIONS if with_tile_ir else {}
        self._heuristics: List[Tuple[str, Callable[[Dict[str, Any]], Any]]] = []
        self._originals: Dict[str, Dict[Any, Any]] = {}  # By axis: what its values stand for, where JSON has no such value.
        tuners = []
        # From the outermost decorator on, other packages' subclasses and wrappers too, as Triton itself finds the function.
        while not isinstance(kernel, JITFunction):
            if hasattr(kernel, "configs"):
                tuners.append(kernel)
            elif isinstance(getattr(kernel, "values", None), dict):
                self._heuristics += kernel.values.items()
            if inspect.isfunction(kernel) or not hasattr(kernel, "fn"):
                raise DeclarationError(f"'{name}' is no Triton kernel: no function under @triton.jit")
            kernel = kernel.fn
        self.function = kernel
        self.has_own_configs = False
        self.declaration = self._with_annotated_types(self._with_fixed_numbers(declaration))
        self._check_supported()
        self._declared = {*self.declaration.constants, *declaration.axes, *declaration.hint_axes}  # Not the kernel's own to say.
        self._check_names()
        self._replace_constants()
        if len(tuners) > 1:
            raise DeclarationError(f"kernel '{name}' is under @triton.autotune {len(tuners)} times: export the one within")
        for tuner in tuners:
            self._take_configs(tuner)
        self._replace_constants(self._fixed_heuristics())
        self.declaration.check_grid_names()

    def _with_fixed_numbers(self, declaration: Declaration) -> Declaration:
        """A derived parameter that is a number, derived("group_n", 128), is a constant of the kernel."""
        fixed = {p["name"]: p["value"] for p in declaration.parameters
                 if p["kind"] == "derived" and type(p["value"]) is int and p["name"] in self.function.arg_names}
        if not fixed or declaration.cpu is not None:  # A C++ kernel takes it as it is declared.
            return declaration
        return dataclasses.replace(declaration, constants={**fixed, **declaration.constants},
                                   parameters=[p for p in declaration.parameters if p.get("name") not in fixed])

    def _with_annotated_types(self, declaration: Declaration) -> Declaration:
        """Strides, dims and derived values have the types that the kernel annotates, as in Triton's own launches: a stride of type
        tl.int64 is not cut to 32 bits."""
        if declaration.cpu is not None:  # A C++ kernel takes them as they are declared.
            return declaration
        annotated = {p.name: ANNOTATIONS.get(p.annotation_type) for p in self.function.params}
        by_argument = declaration.parameters_by_argument(self.function.arg_names)
        dtypes = {id(by_argument[name]): dtype for name, dtype in annotated.items() if dtype and name in by_argument}
        return dataclasses.replace(declaration, parameters=[
            {**p, "dtype": dtypes[id(p)]} if id(p) in dtypes and p["kind"] in ("stride", "dim", "derived") else p
            for p in declaration.parameters])

    def _check_supported(self) -> None:
        """Errors: DeclarationError for a kernel whose arguments bundles cannot have."""
        if self.function.is_gluon():
            raise DeclarationError(f"kernel '{self.name}' is a Gluon kernel, which cannot be exported: call it by Triton")
        constants_of = {p.name for p in self.function.params if p.is_constexpr}
        for node in ast.walk(self.function.parse()):
            if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
                name = node.value.id
                is_number = isinstance(node.slice, ast.Constant) and type(node.slice.value) is int
                if is_number and name in self.function.arg_names and name not in {*constants_of, *self.declaration.constants}:
                    raise DeclarationError(f"kernel '{self.name}' takes '{name}' as a tuple: bundles pass tensors and numbers one by "
                                           "one; call the kernel under tuneonce.triton.autotune, which runs it by Triton")
            if isinstance(node, ast.Attribute) and node.attr == "pointer_type":
                raise DeclarationError(f"kernel '{self.name}' makes pointers of numbers (line {node.lineno} of the function): trials "
                                       "could not protect the memory that it writes through a table of pointers")

    def is_known(self, name: str) -> bool:
        """Whether it is one of the kernel's parameters or the compiler's options."""
        return name in OPTIONS or name in self._tile_ir_options or name in self.function.arg_names

    def values(self, config: Dict[str, Any], extents: Dict[str, int]) -> Dict[str, Any]:
        """The kernel's constants and the compiler's options at `config`, by name, and for the extents that are constants, by
        dim. Errors: DeclarationError for a constant or a heuristic without a value."""
        result = self._defaults()
        config = {n: self._originals.get(n, {}).get(v, v) for n, v in config.items()}
        given = constants.values_at(self.declaration.constants, config, extents)
        result.update({n: v for n, v in given.items() if self.is_known(n) and (n in config or n in self.declaration.constants)})
        given = declared_names(self.function.arg_names, self.declaration.names_of("triton", with_dims=True))
        for name, heuristic in self._heuristics:
            if name in self._declared:
                continue
            try:
                result[name] = heuristic(KnownArguments(result, given))
                if type(result[name]) is GivenArgument:
                    raise UnknownArgument(object.__getattribute__(result[name], "name"))
            except UnknownArgument as unknown:
                raise DeclarationError(f"heuristic '{name}' of kernel '{self.name}' depends on '{unknown}', which only a launch "
                                       f"knows: give {name} a value in constants, or values in axes and guards for them") from None
        missing = [p.name for p in self.function.params if p.is_constexpr and p.name not in result]
        if missing:
            raise DeclarationError(f"kernel '{self.name}' has the constant '{missing[0]}', which has no value: give it one in "
                                   "constants, or several in axes")
        return result

    def leave_out(self, config: Dict[str, Any], backend: str) -> None:
        """Takes one of the kernel's own configs out, where back ends race that of `backend`. Errors: DeclarationError if it was the
        last."""
        if "backend" in self.declaration.axes:
            config = {"backend": backend, **config}
        configs = [c for c in self.declaration.configs or [] if c != config]
        if not configs:
            raise DeclarationError(f"no config of kernel '{self.name}' compiles")
        baseline = self.declaration.baseline
        self.declaration = dataclasses.replace(self.declaration, configs=configs,
                                               baseline=configs[0] if baseline == config else baseline)

    def check_descriptors(self) -> None:
        """Errors: DeclarationError for a parameter that the kernel's code uses as a TensorDescriptor."""
        for node in ast.walk(self.function.parse()):
            if (isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and
                    node.value.id in self.function.arg_names and node.attr in ("load", "store", "gather", "scatter")):
                raise DeclarationError(f"kernel '{self.name}' takes '{node.value.id}' as a TensorDescriptor (TMA): declare "
                                       f"descriptor('{node.value.id}_map', '{node.value.id}', [extents of its block]) behind "
                                       "the tensor")

    def _defaults(self) -> Dict[str, Any]:
        """Of parameters that the declaration does not have."""
        declared = declared_names(self.function.arg_names, self.declaration.names_of("triton", with_dims=True))
        return {p.name: p.default for p in self.function.params
                if p.has_default and (p.is_constexpr or p.name not in declared)}

    def _check_names(self) -> None:
        """Every axis and constant is one of the kernel's."""
        has = ", ".join(p.name for p in self.function.params if p.is_constexpr) or "none"
        axes = [(n, "an axis") for n in self.declaration.axes if n != "backend"]
        for name, what in axes + [(n, "a constant") for n in self.declaration.constants]:
            if not self.is_known(name):
                raise DeclarationError(f"'{name}' is {what} of the declaration, but kernel '{self.name}' has no such constant; "
                                       f"it has: {has}")
        for name in self.declaration.hint_axes:
            if not self.is_known(name):
                note(self.name, f"hint axis '{name}' means nothing to Triton: its code is the same for all values")

    def _take_configs(self, tuner: Any) -> None:
        self._check_tuner(tuner)
        given = {*self.declaration.axes, *self.declaration.hint_axes} - {"backend"}
        rows = self._rows(tuner.configs)
        if self.declaration.configs is not None or given & set(rows[0]):
            note(self.name, f"the declaration's axes or configs replace the {len(rows)} configs of @triton.autotune")
            return
        if "backend" in self.declaration.axes:
            raise DeclarationError(f"the configs of @triton.autotune of kernel '{self.name}' cannot race with another back end: "
                                   "write them as axes")
        self.has_own_configs = True
        values = {n: [row[n] for row in rows] for n in rows[0]}
        fixed = {n: v[0] for n, v in values.items() if all(each == v[0] and type(each) is type(v[0]) for each in v)}
        axes = {n: self._axis(n, v) for n, v in values.items() if n not in fixed}
        own = [dict(config) for config in dict.fromkeys(tuple((n, axes[n][i]) for n in axes) for i in range(len(rows)))]
        if len(own) < len(rows):
            note(self.name, f"{len(rows) - len(own)} of the {len(rows)} configs of @triton.autotune are the same as others here")
        structural = {n: sorted(set(v)) for n, v in axes.items() if n not in config_list.HINTS}
        hints = {n: sorted(set(v)) for n, v in axes.items() if n in config_list.HINTS}
        others = [dict(zip(self.declaration.axes, v)) for v in itertools.product(*self.declaration.axes.values())]
        self.declaration = dataclasses.replace(
            self.declaration, axes={**self.declaration.axes, **structural}, hint_axes={**self.declaration.hint_axes, **hints},
            configs=[{**other, **config} for other in others for config in own] if axes else None,
            constants={**fixed, **self.declaration.constants}, key=self.declaration.key or self._key(tuner))
        self._replace_constants()
        configs = self.declaration.all_configs()
        if self.declaration.baseline is None and configs[0]:
            self.declaration = dataclasses.replace(self.declaration, baseline=configs[0])

    def _fixed_heuristics(self) -> Dict[str, int]:
        """The heuristics that have one value, a whole number, for all configs and extents that are constants."""
        if not self._heuristics:
            return {}
        rows = [self.values(config, extents) for config in self.declaration.all_configs("triton")
                for extents in constants.extents(self.declaration.constants)]
        return {n: rows[0][n] for n, _ in self._heuristics if type(rows[0][n]) is int and all(row[n] == rows[0][n] for row in rows)}

    def _replace_constants(self, heuristics: Dict[str, int] = {}) -> None:  # Not changed here.
        """Grids and conditions may name what is the same in all configs, and hence no axis: they get its value."""
        fixed = {n: v for n, v in {**heuristics, **self.declaration.constants}.items()
                 if type(v) is int and n not in self.declaration.dims}

        def replaced(value: Any) -> Any:
            if isinstance(value, dict):
                return fixed[value["axis"]] if value.get("axis") in fixed else {n: replaced(v) for n, v in value.items()}
            if isinstance(value, (list, tuple)):
                return [replaced(v) for v in value]
            return fixed.get(value, value) if isinstance(value, str) else value

        def replaced_in(condition: Any) -> Any:
            if isinstance(condition, dict):
                return {**condition, "condition": replaced_in(condition["condition"])}
            return re.sub(r'"[^"]*"|`[^`]*`|device\.\w+|[A-Za-z_]\w*', lambda m: str(fixed.get(m[0], m[0])), condition)

        self.declaration = dataclasses.replace(
            self.declaration, grid=replaced(self.declaration.grid), where=[replaced_in(c) for c in self.declaration.where],
            grids={n: replaced(g) for n, g in self.declaration.grids.items()})

    def _check_tuner(self, tuner: Any) -> None:
        parameters = self.declaration.parameters_by_argument(self.function.arg_names)
        for name in [*(getattr(tuner, "reset_to_zero", None) or []), *(getattr(tuner, "restore_value", None) or [])]:
            parameter = parameters.get(name, {})
            if parameter.get("kind") == "tensor" and parameter["access"] != "inout":
                raise DeclarationError(f"@triton.autotune of kernel '{self.name}' resets '{name}' before each run, as the kernel "
                                       "adds to its contents: declare it inout")
        if getattr(tuner, "early_config_prune", None) or getattr(tuner, "perf_model", None):
            note(self.name, "prune_configs_by is not asked: all configs are exported")
        if any(getattr(tuner, f"user_defined_{hook}", False) for hook in ("pre_hook", "post_hook")):
            note(self.name, "the hooks of @triton.autotune are not called")

    def _rows(self, configs: Sequence[Any]) -> List[Dict[str, Any]]:
        """What each triton.Config sets, the same names in each; what means nothing here is left out, and said."""
        ignored = set()
        rows = []
        for config in configs:
            own = {**{n: getattr(config, n, None) for n in CONFIG_OPTIONS},
                   **{n: getattr(config, n, None) or default for n, default in self._tile_ir_options.items()}}
            row = {**config.kwargs, **{n: v for n, v in own.items() if n not in config.kwargs}}
            ignored |= {n for n in row if not self.is_known(n)}
            ignored |= {n for n, v in vars(config).items() if v and n not in ("kwargs", *own) and v != TILE_IR_OPTIONS.get(n)}
            rows.append({n: getattr(v, "value", v) if type(v).__name__ == "constexpr" else v
                         for n, v in row.items() if self.is_known(n) and n not in self.declaration.constants})
        if ignored:
            note(self.name, f"{', '.join(sorted(ignored))} of its configs mean nothing here and are ignored")
        names = list(dict.fromkeys(n for row in rows for n in row))
        defaults = {**OPTIONS, **self._defaults()}
        for row in rows:
            for name in names:
                if name not in row and name not in defaults:
                    raise DeclarationError(f"some configs of kernel '{self.name}' have '{name}', and some have not")
                row.setdefault(name, defaults.get(name))
        return [{n: row[n] for n in names} for row in rows]

    def _axis(self, name: str, values: Sequence[Any]) -> List[Any]:
        """The values as an axis can have them: whole numbers, numbers, truth values, or else text."""
        if name in config_list.HINTS:
            result = [config_list.NOT_SET if v is None else int(v) for v in values]
        elif all(isinstance(v, bool) for v in values) or all(type(v) in (int, float) for v in values):
            result = [float(v) for v in values] if any(isinstance(v, float) for v in values) else list(values)
        else:
            result = [v if isinstance(v, str) else str(v) for v in values]
        self._originals[name] = dict(zip(result, values))
        return result

    def _key(self, tuner: Any) -> Optional[List[Dict[str, Any]]]:
        """The `key` of @triton.autotune in the manifest's words; None for the default, all dims."""
        names = list(getattr(tuner, "keys", None) or [])
        parts, dropped = key_of(names, self.function.arg_names, self.declaration, [n for n, _ in self._heuristics])
        if dropped:
            instead = "" if parts else "; nothing is left, so that all dims are the key"
            substitutes = substitutes_for(dropped, parts, self.declaration)
            if substitutes:
                parts += substitutes
                instead = f"; {', '.join(part['dim'] for part in substitutes)} took their place, by powers of two"
            note(self.name, f"the key of @triton.autotune names {', '.join(dropped)}, which no dim or scalar decides: "
                            f"left out{instead}")
        return parts or None
