"""What a bundle says of its kernel beside the code: the manifest's fields, as Python values (docs/internal/manifest.md)."""
import dataclasses
import itertools
import json
import pathlib
from typing import Any, Dict, Iterable, List, Optional, Sequence, Set, Tuple, Union

from tuneonce.export import config_list, constants as constant_values, dtype_set, named_space, terms
from tuneonce.export.declaration_check import check_axes, check_declaration, check_grid
from tuneonce.export.declaration_error import DeclarationError
from tuneonce.export.kernel_names import declared_names
from tuneonce.export.parameters import DTYPE_BYTES


@dataclasses.dataclass
class Declaration:
    """A kernel's bundle. Field names and values are the manifest's, but for those explained here.

    axes: structural axes by name; a kernel's constants of the same names get their values. An axis `backend` of variant
        names ("tile", "triton", "triton_tile" for the code of Triton's Tile IR back end) makes them race instead of
        standing in for each other.
    hint_axes: axes that are compiler hints (occupancy, num_ctas, num_worker_warps); Triton: num_warps, num_stages, num_ctas,
        maxnreg. None is a hint that is not set. A kernel under @triton.autotune needs no axes: its configs are taken, the
        first is the baseline.
    option_axes: axes that are options of the variants' compilers (maxrregcount, opt-level, ftz, approx), always in all combinations
        unless the configs name them. One that may change results needs a tolerance (docs/internal/manifest.md).
    constants: the kernel's other constants by name: a value, `ConstantOf(dim, values)`, or a function of the config, the
        other constants and the extents that are constants. An axis of one truth value is one, too. Triton: also tensors that
        are left out (None), and options that are the same for all configs.
    space: the name of a family's space ("dense_matmul": tuneonce.families), or {"family": name, "dims": {"M": "tokens"}}, in place
        of configs and baseline; axes, hint_axes and option_axes are then those that are added, in all combinations, and the
        baseline has the first value of each.
    configs: the configs, if not all combinations: dicts, or objects with a value per axis as attributes. Without `axes` and
        `hint_axes` these are those of the configs. Hints that they name are coupled with them, others are combined.
    grid: for all variants; `grids` by variant name overrides it.
    cpu: file (beside the kernel's) with the C++ kernel for the CPU device, of the same symbol.
    parameters_of: by variant name, the names of the parameters that its kernel takes; default: all but dims and strides for Tile IR,
        whose kernels take these with each tensor.
    alias_groups: sets of tensors that may overlap; all others are assumed not to overlap with one that is written.
    divisible: what extents of dims are divisible by where they are: Tile IR is exported twice then, the variant `tile`
        for such extents only, `tile_any` for all. cuTile's own launches are compiled for extents divisible by 16 where
        they are, and are up to a third faster for it. Triton: of whole scalars, too.
    unaligned: groups of dims, each the innermost of tensors: for each group there is a further variant, `tile_unaligned_N`, where
        rows of these tensors may begin anywhere and only the others' are aligned, as cuTile's and Triton's own launches compile
        for each tensor. Give it where such extents come (N = 4001): [["N"], ["K"], ["N", "K"]], the most aligned first.
    alignment: bytes that every tensor's address is assumed to be a multiple of, and every row's too; `alignments` by tensor
        overrides it.
    key: {"dim"}, {"dtype_of"} and {"value_of"}; a dim may have one of "bucket": "next_pow2", "buckets": [1, 2, 4, 8, 16, 24],
        upper bounds, and "nearest": [16, 256].
    where: conditions that configs must meet: "M % TILE_M == 0 || occupancy <= 2", or {"name": ..., "condition": ...}
        (docs/internal/manifest.md).
    baseline: a value per axis, or a list of {"config": {...}, "where": condition}, of which the first counts that fits.
    targets_of, options_of, requires_of: by variant name, its `targets`, its compiler `options`, and a condition of configs and
        arguments that it may run for: "VEC == 1 || aligned(x, 4 * VEC)" (docs/internal/manifest.md).
    dtypes: those that tensors may have which are declared with the first of them, all of them the same: ["float16",
        "bfloat16"]. The kernel is exported for each, as variants of their own (`tile_bfloat16`), and a call's tensors say
        which run. `cpu` gets the dtype as the macro T.
    programmatic_launch: cuTile: launches may begin before the launch before them has ended (programmatic dependent launch). The
        kernel has to wait for that one (ct.grid_dependency_control_wait), which needs bytecode version 13.4. Triton: the
        constant launch_pdl decides it.
    more_parameters: what only some variants take: an exporter's own kernels, or kernels that no exporter makes.
    added_axes, of_dtype: not to be given: the axes that were, where a named space has others; of which of `dtypes` this is, with
        the tensor that shows it.
    """
    dims: Sequence[str]
    parameters: Sequence[Dict[str, Any]]
    grid: Dict[str, Any]
    axes: Dict[str, Sequence[Any]] = dataclasses.field(default_factory=dict)
    hint_axes: Dict[str, Sequence[Optional[int]]] = dataclasses.field(default_factory=dict)
    option_axes: Dict[str, Sequence[Any]] = dataclasses.field(default_factory=dict)
    space: Union[None, str, Dict[str, Any]] = None
    configs: Optional[Iterable[Any]] = None
    baseline: Union[None, Any, List[Dict[str, Any]]] = None
    version: str = "1"
    key: Optional[List[Dict[str, Any]]] = None
    where: Sequence[Union[str, Dict[str, str]]] = ()
    grids: Dict[str, Dict[str, Any]] = dataclasses.field(default_factory=dict)
    cpu: Optional[str] = None
    parameters_of: Dict[str, Sequence[str]] = dataclasses.field(default_factory=dict)
    alias_groups: Sequence[Sequence[str]] = ()
    divisible: Dict[str, int] = dataclasses.field(default_factory=dict)
    unaligned: Sequence[Sequence[str]] = ()
    alignment: int = 16
    alignments: Dict[str, int] = dataclasses.field(default_factory=dict)
    tolerance: Optional[Dict[str, float]] = None
    work: Optional[Dict[str, List[List[Union[int, float, str]]]]] = None
    example: Optional[Dict[str, Any]] = None
    max_configs: Optional[int] = None
    constants: Dict[str, constant_values.Constant] = dataclasses.field(default_factory=dict)
    unordered: bool = False
    fallback: Optional[Dict[str, Any]] = None
    targets_of: Dict[str, Dict[str, int]] = dataclasses.field(default_factory=dict)
    options_of: Dict[str, Sequence[str]] = dataclasses.field(default_factory=dict)
    requires_of: Dict[str, str] = dataclasses.field(default_factory=dict)
    programmatic_launch: bool = False
    more_parameters: Sequence[Dict[str, Any]] = ()
    added_axes: Optional[List[str]] = None
    dtypes: Sequence[str] = ()
    of_dtype: Optional[Tuple[str, str]] = None

    def __post_init__(self) -> None:
        for grid in (self.grid, *self.grids.values()):
            check_grid(grid)
        if self.space is not None and self.added_axes is None:  # Not of one that dataclasses.replace made.
            self._read_space()
        self._read_configs()
        check_axes(self)
        self._settle_truths()
        check_declaration(self)

    def _read_space(self) -> None:
        """The configs of the family that `space` names, on whatever target, with each combination of what is added."""
        if not (self.configs is None and self.baseline is None and self.fallback is None):
            raise DeclarationError("a named space brings its own configs and baseline: leave them out, or list all of the space")
        self.added_axes = [*self.axes, *self.hint_axes]
        assert self.space is not None
        name = self.space["family"] if isinstance(self.space, dict) else self.space
        configs = named_space.configs_of(name)
        for axis, values in {**self.axes, **self.hint_axes}.items():
            configs = [{**config, axis: value} for config in configs for value in values]
        self.axes = {**config_list.axes_of(configs, hints=False), **self.axes}
        self.hint_axes = {**config_list.axes_of(configs, hints=True), **self.hint_axes}
        self.configs = configs

    def _settle_truths(self) -> None:
        """An axis of one truth value is a constant; one of two has them in the manifest's order."""
        truths = {n: sorted(set(v)) for n, v in self.axes.items() if {type(each) for each in v} == {bool}}
        fixed = {n: v[0] for n, v in truths.items() if len(v) == 1}
        self.constants = {**fixed, **self.constants}
        self.axes = {n: truths.get(n, v) for n, v in self.axes.items() if n not in fixed}
        for config in [*(self.configs or ()), *self.single_configs()]:
            for name in fixed:
                config.pop(name, None)

    def single_configs(self) -> List[Dict[str, Any]]:
        """The baselines and the fallback."""
        baselines = self.baseline if isinstance(self.baseline, list) else [self.baseline]
        return [c.get("config", c) for c in [*baselines, self.fallback] if c is not None]

    def _read_configs(self) -> None:
        """Configs and baseline as dicts, and the axes that only they name."""
        def plain(config: Any) -> Any:
            return None if config is None else config_list.plain([config])[0]
        if isinstance(self.baseline, list):
            self.baseline = [{**each, "config": plain(each["config"])} if "config" in each else plain(each) for each in self.baseline]
        else:
            self.baseline = plain(self.baseline)
        self.fallback = plain(self.fallback)
        if self.configs is not None:
            self.configs = config_list.plain(self.configs)
            named = {n: v for n, v in config_list.axes_of(self.configs, hints=False).items() if n not in self.option_axes}
            self.axes = self.axes or named
            self.hint_axes = {**config_list.axes_of(self.configs, hints=True), **self.hint_axes}
        self.hint_axes = {n: [config_list.hint_value(n, v) for v in values] for n, values in self.hint_axes.items()}

    def check_names(self, kernel: str, arguments: Sequence[str], taken: Sequence[str]) -> None:
        """Raises DeclarationError unless the kernel's parameters but its constants, `arguments`, are those declared, `taken`, in
        the same order. A kernel's `n` may be the dim `N`."""
        known = declared_names(arguments, taken)
        if [known.get(a) for a in arguments] != list(taken):
            raise DeclarationError(f"kernel '{kernel}' takes ({', '.join(arguments)}), but is declared with ({', '.join(taken)}): "
                                   "give the parameters the kernel's names, in its order")

    def check_grid_names(self) -> None:
        """Raises DeclarationError for a name in the blocks of a grid that is neither a dim, nor a scalar, nor an axis."""
        scalars = [p["name"] for p in self.parameters if p["kind"] == "scalar"]
        known = [*self.dims, *scalars, *self.axes, *self.hint_axes, *self.option_axes]
        for grid in (self.grid, *self.grids.values()):
            for name in terms.names_in(list(grid.get("blocks", ()))):
                if name not in known:
                    raise DeclarationError(f"the grid names '{name}', which is not a dim, a scalar or an axis; those are: "
                                           f"{', '.join(known)}")

    def structural_configs(self, backend: Optional[str] = None) -> List[Dict[str, Any]]:
        """One dict per artifact. `backend`: only that variant's, without the axis `backend`."""
        configs: List[Dict[str, Any]] = []
        for config in self._listed(backend):
            structural = {n: v for n, v in config.items() if n in self.axes}
            if structural not in configs:
                configs.append(structural)
        return configs

    def _listed(self, backend: Optional[str]) -> List[Dict[str, Any]]:
        configs = self.configs
        if configs is None:
            configs = [dict(zip(self.axes, values)) for values in itertools.product(*self.axes.values())]
        if backend is None or "backend" not in self.axes:
            return [dict(config) for config in configs]
        return [{n: v for n, v in c.items() if n != "backend"} for c in configs if c["backend"] == backend]

    def all_configs(self, backend: Optional[str] = None) -> List[Dict[str, Any]]:
        """All configs: those listed, or all structural ones, with every combination of the hint and option axes that they do not name."""
        coupled = self.configs[0] if self.configs else {}
        free = {n: v for n, v in {**self.hint_axes, **self.option_axes}.items() if n not in coupled}
        hints = [dict(zip(free, values)) for values in itertools.product(*free.values())]
        return [{**config, **hint} for config in self._listed(backend) for hint in hints]

    def inner_dims(self) -> Set[str]:
        """The dims along which tensors' elements lie side by side. The dim of a tensor of one dimension counts only
        where no other tensor has it as an outer one."""
        outer = {d for t in self.tensors() for d in t["dims"][:-1]}
        return {t["dims"][-1] for t in self.tensors() if len(t["dims"]) > 1 or t["dims"][-1] not in outer}

    def key_note(self) -> Optional[str]:
        """A line for people: which dims of the key, a batch or tokens, vary from call to call and have no bucket. None
        if there is no such dim, or nothing to tune."""
        key = self.key if self.key is not None else [{"dim": d} for d in self.dims]
        inner = self.inner_dims()
        constant = {c.dim for c in self.constants.values() if isinstance(c, constant_values.ConstantOf)}
        constant.update(declared_names([n for n, c in self.constants.items() if type(c) is int], self.dims).values())
        exact = [part["dim"] for part in key if list(part) == ["dim"] and part["dim"] not in inner | constant]
        if not exact or len(self.all_configs()) < 2:
            return None
        suggested = [{**part, "bucket": "next_pow2"} if part.get("dim") in exact else part for part in key]
        return (f"the key has the exact extent of {', '.join(exact)}, so that each new extent is tuned: give the "
                f"declaration a key with buckets, key={json.dumps(suggested)}")

    def tensors(self) -> List[Dict[str, Any]]:
        return [p for p in self.parameters if p["kind"] == "tensor"]

    def by_name(self) -> Dict[str, Dict[str, Any]]:
        """The parameters by their names; a dim's is the dim."""
        return {p.get("name", p.get("dim")): p for p in self.parameters}

    def parameters_by_argument(self, arguments: Sequence[str]) -> Dict[str, Dict[str, Any]]:
        """By the names of a kernel's parameters, `arguments`, the declared ones that they are."""
        by_name = self.by_name()
        return {argument: by_name[name] for argument, name in declared_names(arguments, list(by_name)).items()}

    def place_of(self, dim: str) -> Tuple[str, int]:
        """A tensor and its dimension whose extent a dim is."""
        return next((t["name"], t["dims"].index(dim)) for t in self.tensors() if dim in t["dims"])

    def names_of(self, variant: str, with_dims: bool) -> List[str]:
        """Names of the parameters that a variant's kernel takes."""
        if variant in self.parameters_of:
            return list(self.parameters_of[variant])
        return [p.get("name", p.get("dim")) for p in self.parameters if with_dims or p["kind"] in ("tensor", "scalar", "derived")]

    def alignment_of(self, name: str) -> int:
        return self.alignments.get(name, self.alignment)

    def alias_group_of(self, name: str) -> int:
        """A number per alias group; -1 for a tensor in none."""
        for number, group in enumerate(self.alias_groups):
            if name in group:
                return number
        return -1

    def row_alignment(self, tensor_of: Dict[str, Any], unaligned: Sequence[str]) -> int:
        """Bytes that a tensor's rows are aligned to where rows along the dims `unaligned` may begin at any element."""
        dims = tensor_of["dims"]
        is_any = len(dims) > 1 and dims[-1] in unaligned
        return DTYPE_BYTES[tensor_of["dtype"]] if is_any else self.alignment_of(tensor_of["name"])

    def assumptions(self, divisible: bool = False, unaligned: Sequence[str] = ()) -> List[Dict[str, Any]]:
        """What `alignment`, `alias_groups` and, if asked for, `divisible` say, in the manifest's words; contiguous along the last
        dimension, and other strides divisible by what `alignment` is of, but for rows along the dims `unaligned`."""
        result: List[Dict[str, Any]] = []
        tensors = self.tensors()
        for each in tensors:
            name, rank = each["name"], len(each["dims"])
            alignment = self.row_alignment(each, unaligned)
            row_divisor = max(1, alignment // DTYPE_BYTES[each["dtype"]])
            if alignment > 1:
                result.append({"tensor": name, "aligned": alignment})
            result.append({"tensor": name, "dimension": rank - 1, "stride": 1})
            if row_divisor > 1:
                result += [{"tensor": name, "dimension": d, "stride_divisible_by": row_divisor} for d in range(rank - 1)]
        for name, divisor in self.divisible.items() if divisible else ():
            if name not in self.dims:
                continue  # A scalar: Triton only.
            tensor_name, dimension = self.place_of(name)
            result.append({"tensor": tensor_name, "dimension": dimension, "extent_divisible_by": divisor})
        return result + self.assumptions_of_any()

    def assumptions_of_any(self) -> List[Dict[str, Any]]:
        """What a kernel is compiled for in whatever form: what `alias_groups` says, and the dtype, in the manifest's words."""
        result: List[Dict[str, Any]] = []
        if self.of_dtype is not None:
            result.append({"tensor": self.of_dtype[0], "dtype": self.of_dtype[1]})
        for a, b in itertools.combinations(self.tensors(), 2):
            written = a["access"] != "in" or b["access"] != "in"
            group = self.alias_group_of(a["name"])
            if written and (group < 0 or group != self.alias_group_of(b["name"])):
                result.append({"tensor": a["name"], "no_overlap": b["name"]})
        return result

    def manifest(self, name: str, variants: Sequence[Dict[str, Any]]) -> Dict[str, Any]:
        axes = [{"name": n, "values": list(v)} for n, v in self.axes.items() if self._is_listed(n)]
        compiled = {n for v in variants if v["source"] == "tile_ir" for a in v["artifacts"] for n in a.get("config", {})}
        axes += [{"name": n, "kind": "structural" if n in compiled else "hint", "values": list(v)}
                 for n, v in self.hint_axes.items() if self._is_listed(n)]
        axes += [{"name": n, "kind": "option", "values": list(v)} for n, v in self.option_axes.items()]
        result: Dict[str, Any] = {"tuneonce_bundle": 1, "name": name, "version": self.version, "dims": list(self.dims)}
        if self.key is not None:
            result["key"] = self.key
        result["parameters"] = [*dtype_set.open_parameters(self), *self.more_parameters]
        if self.space is not None:
            result["space"] = self.space
        if axes or self.space is None:
            result["axes"] = axes
        if self.configs is not None and self.space is None:
            result["configs"] = self.all_configs()
        optional = {"max_configs": self.max_configs, "baseline": self.baseline, "where": list(self.where) or None,
                    "fallback": self.fallback,
                    "unordered": self.unordered or None, "tolerance": self.tolerance, "work": self.work,
                    "example": dtype_set.example(self)}
        result.update({field: value for field, value in optional.items() if value is not None})
        result["variants"] = [self._with_selections(variant) for variant in variants]
        return result

    def _is_listed(self, axis: str) -> bool:
        """Whether the manifest lists the axis: not one that a named space has."""
        return self.added_axes is None or axis in self.added_axes

    def _with_selections(self, variant: Dict[str, Any]) -> Dict[str, Any]:
        """`variant` with what `targets_of`, `options_of` and `requires_of` say of it."""
        name = variant["name"]
        chosen = {"targets": self.targets_of.get(name), "options": self.options_of.get(name),
                  "requires": self.requires_of.get(name)}
        return {**variant, **{field: value for field, value in chosen.items() if value is not None}}

    def cpu_variant(self, name: str, source: pathlib.Path) -> Dict[str, Any]:
        """The variant for the CPU device; `source` was copied into the bundle. Where back ends race, it stands for the
        baseline's, or the first, unless the axis has a `cpu`."""
        result = {"name": "cpu", "source": "cpu_cpp", "symbol": name, "parameters": self.names_of("cpu", with_dims=True),
                  "defines": [n for n in self.axes if n != "backend"], "grid": self.grids.get("cpu", self.grid),
                  "artifacts": [{"file": source.name}]}
        if self.dtypes:
            leader = dtype_set.leader(self)
            result["types"] = {"T": {"dtype_of": leader}}
            result["assumptions"] = [{"tensor": leader, "dtype": list(self.dtypes)}]
        backends = self.axes.get("backend", ())
        if backends and "cpu" not in backends:
            result["backend"] = next((c["backend"] for c in self.single_configs()), backends[0])
        return result
