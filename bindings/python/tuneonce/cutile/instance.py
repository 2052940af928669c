"""A cuTile kernel for arguments of certain types and with certain constants: what C++ asks about it."""
import dataclasses
import math
import struct
from typing import TYPE_CHECKING, Any, Dict, List, Sequence, Tuple, Union

from tuneonce.cutile.array_usage import array_usage
from tuneonce.cutile.compiler import Lowered, is_array
from tuneonce.live.source import source_of
from tuneonce.export.config_list import HINTS
from tuneonce.export.constants import ConstantOf
from tuneonce.export.cutile_kernel import axes_in
from tuneonce.export.declaration_error import DeclarationError
from tuneonce.live.code import Code
from tuneonce.live.declaration import LiveDeclaration
from tuneonce.live.fingerprint import fingerprint
from tuneonce.live.instance import LiveInstance
from tuneonce.live.observation import Observation, observed
from tuneonce.live.unsupported import Unsupported
from tuneonce.live.usage import Usage

if TYPE_CHECKING:
    from tuneonce.cutile.autotuner import Autotuner

# Numbers in a key beyond which it is one fingerprint: a definition has at most 128 parameters.
MOST_KEY_NAMES = 64
# What an array's extents and strides may be where the kernel indexes it with 32 bits.
MOST_INT32 = 2**31 - 1
Passed = List[Tuple[int, str]]


class Instance(LiveInstance):
    """A cuTile kernel; see LiveInstance. `identity`: what of the arguments makes it another instance than others."""
    language = "cutile"

    def __init__(self, tuner: "Autotuner", values: List[Any], tensors: List[Tuple[int, int]], identity: Any) -> None:
        super().__init__(tuner, tuner.name, tuner.parameters)
        self.is_specialized = [False] * len(values)
        self._constants_of_call: List[Dict[str, Any]] = []
        self._access: Dict[str, str] = {}  # By parameter of the kernel.
        self._lowered: Dict[Any, Lowered] = {}
        self.key_names = self._names_of_key(values)
        # Compiled code depends on no other objects: a kernel reads numbers, dtypes and functions.
        of_kernel = source_of(tuner.fn, otherwise=lambda value: type(value).__qualname__)
        source = fingerprint(tuner.compiler.identity(), of_kernel, identity, self.key_names,
                             [repr(tuner.variant(i)._compiler_options) for i in range(len(tuner.configs))])
        facts = self._facts(fingerprint("cutile facts", source, tuner.labels), tuner.labels, lambda: self._compiled(values))
        self.config_indices = [i for i, label in enumerate(tuner.labels) if label not in facts["failures"]]
        if not self.config_indices:
            raise ValueError(f"no config of '{self.name}' compiles: {next(iter(facts['failures'].values()))}")
        self.labels = [tuner.labels[i] for i in self.config_indices]
        self.constants: List[Dict[str, Any]] = [{} for _ in self.labels]
        access = {**facts["access"], **{n: "inout" for n in tuner.in_place}}
        self.tensors = [(i, access.get(self.parameters[i], "in"), dtype) for i, dtype in tensors]
        self.version = fingerprint(source, sorted(access.items()))[:32]
        self.is_unordered = bool(facts["is_unordered"])

    def key_of(self, values: List[Any]) -> List[int]:
        numbers = self._tuner.key_of(values)
        if self.key_names == ["key"] and len(numbers) != 1:
            return [_number(tuple(numbers))]
        if len(numbers) != len(self.key_names):
            raise ValueError(f"the key of '{self.name}' has {len(numbers)} parts, and had {len(self.key_names)} in an earlier call")
        return [_number(each) for each in numbers]

    def code_for(self, index: int, values: List[Any]) -> Tuple[str, Tuple[Any, ...]]:
        config = self.config_indices[index]
        arguments = self._tuner.arguments(config, values)
        constraints = self._tuner.compiler.constraints(self._tuner.variant(config), arguments)
        lowered = self._lower(config, constraints)
        if lowered.name not in self._failures and not self._find_code(lowered.name):
            self._compile([lowered])
        if lowered.name in self._failures:
            raise self._failures[lowered.name]
        passed = self._passed(constraints, arguments, values)
        code = dataclasses.replace(self._codes[lowered.name], passed=passed, grid=self._tuner.grid_of(config, values))
        return lowered.name, code.parts()

    def prepare(self, values: List[Any]) -> None:
        """Compiles the configs for the specialization of the call, several at a time. Raises what the grid's function does."""
        lowered = []
        for config in self.config_indices:
            self._tuner.grid_of(config, values)
            constraints = self._tuner.compiler.constraints(self._tuner.variant(config), self._tuner.arguments(config, values))
            lowered.append(self._lower(config, constraints))
        self._compile(lowered)

    def observe(self, values: List[Any]) -> None:
        """Remembers a call of a new key, for `declaration`."""
        def observation() -> Observation:
            given = self._given(self.config_indices[0], values)
            arrays = {n: observed(v) for n, v in given.items() if is_array(v)}
            scalars = {n: v for n, v in given.items() if type(v) in (int, float, bool) and n not in self._tuner.constants}
            return Observation(arrays, scalars, [self._tuner.grid_of(config, values) for config in self.config_indices])
        if self._remember(observation):
            self._constants_of_call = [{n: v for n, v in self._given(config, values).items() if n in self._tuner.constants or v is None}
                                       for config in self.config_indices]
            arguments = self._given(self.config_indices[0], values)
            self._access = {n: access for n, v in arguments.items() for i, access, _ in self.tensors if v is values[i]}

    def declaration(self) -> Any:
        """What the calls say of the kernel, as the exporter takes it. Raises DeclarationError."""
        self._check_seen()
        configs = [self._tuner.named_config(config) for config in self.config_indices]
        constants: Dict[str, Any] = {}
        for name in self._constants_of_call[0]:
            values = [of_config[name] for of_config in self._constants_of_call]
            if all(config.get(name, ...) == value for config, value in zip(configs, values)):
                continue
            if any(value != values[0] for value in values):
                raise DeclarationError(f"constant '{name}' follows from the config and the arguments: write a declaration (docs/bundles.md)")
            constants[name] = values[0]
        live = LiveDeclaration(self._tuner.kernel_names, self._access, constants, configs, self._seen, self.is_unordered, "cutile")
        declaration = live.declaration()
        used = {*self._tuner.kernel_names, *HINTS, *axes_in([declaration.grid])}
        configs = [{n: v for n, v in config.items() if n in used} for config in configs]
        return dataclasses.replace(declaration, configs=configs, baseline=configs[0],
                                   constants={n: self._constant(n, v, live) for n, v in constants.items()})

    @staticmethod
    def _constant(name: str, value: Any, live: LiveDeclaration) -> Any:
        """A constant that is an extent is exported for this extent only."""
        dims = live.dims_of_extent(value) if type(value) is int and value > 1 else []
        if len(dims) > 1:
            raise DeclarationError(f"constant '{name}' may be the extent of {' or '.join(dims)}: call the kernel with other sizes, too, "
                                   "which tell them apart")
        return ConstantOf(dims[0], [value]) if dims else value

    def _given(self, config: int, values: List[Any]) -> Dict[str, Any]:
        return dict(zip(self._tuner.kernel_names, self._tuner.arguments(config, values)))

    def _names_of_key(self, values: List[Any]) -> List[str]:
        names = self._tuner.key_names(values)
        return names if len(names) <= MOST_KEY_NAMES else ["key"]

    def _lower(self, config: int, constraints: Tuple[Any, ...]) -> Lowered:
        """What the front end makes of a call with these constraints at a config. Only the first time it has the IR, which is large."""
        key = (config, repr(constraints[1:]))
        if key in self._lowered:
            return self._lowered[key]
        lowered = self._tuner.compiler.lowered(self._tuner.variant(config), constraints)
        self._lowered[key] = lowered._replace(ir=None)
        return lowered

    def _compile(self, all_lowered: Sequence[Lowered]) -> None:
        """Compiles what is neither in this process nor in the store, several at a time."""
        compiler = self._tuner.compiler
        new = {each.name: each for each in all_lowered if each.name not in self._failures and not self._find_code(each.name)}
        running = {name: compiler.begin(lowered) for name, lowered in new.items()}
        for name, lowered in new.items():
            self._keep_code(name, lambda: self._code(lowered, compiler.end(running.pop(name))))

    def _code(self, lowered: Lowered, image: bytes) -> Code:
        return Code(self._tuner.compiler.kind, image, lowered.symbol, 1, 0, 1, False, 0, 1, [])

    def _compiled(self, values: List[Any]) -> List[Union[Usage, Exception]]:
        """Compiles the configs: how each uses the arrays, or why it does not work."""
        tuner = self._tuner
        arguments = [tuner.arguments(config, values) for config in range(len(tuner.configs))]
        constraints = [tuner.compiler.constraints(tuner.variant(config), each) for config, each in enumerate(arguments)]
        passed = [self._passed(of_call, each, values) for of_call, each in zip(constraints, arguments)]
        results: List[Union[Lowered, Exception]] = []
        for config, of_call in enumerate(constraints):
            try:
                results.append(self._lower(config, of_call))
            except Exception as error:  # cuTile's, of any kind.
                results.append(error)
        self._compile([each for each in results if isinstance(each, Lowered)])
        return [each if isinstance(each, Exception) else self._failures.get(each.name) or self._usage(each, of_call)
                for each, of_call in zip(results, passed)]

    def _usage(self, lowered: Lowered, passed: Passed) -> Union[Usage, Exception]:
        variables = lowered.ir.params
        if len(variables) != len(passed):
            return Unsupported(f"cuTile passes {len(variables)} numbers and addresses, and tuneonce knows {len(passed)} of them")
        owners = {v.name: self.parameters[i] for v, (i, form) in zip(variables, passed) if form == "pointer"}
        return array_usage(lowered.ir, owners, sorted(set(owners.values())))

    def _passed(self, constraints: Tuple[Any, ...], arguments: Sequence[Any], values: List[Any]) -> Passed:
        """How a launch passes the arguments: an array as its address, extents and strides, and constants not at all. What an entry's
        calls have in common is passed as a number."""
        result: Passed = []
        for constraint, argument in zip(constraints[1:], arguments):
            self._pass(constraint, argument, values, result)
        return result

    def _pass(self, constraint: Any, argument: Any, values: List[Any], result: Passed) -> None:
        kind = type(constraint).__name__
        if kind == "TupleConstraint":
            for each, item in zip(constraint.items, argument):
                self._pass(each, item, values, result)
        elif kind == "ArrayConstraint":
            place = next((i for i, value in enumerate(values) if value is argument), None)
            if place is None:
                raise TypeError(f"args of '{self.name}' returns an array that the call did not get: return the call's arrays; trials run "
                                "on copies of what the kernel writes")
            shape, strides = shape_and_strides(argument)
            if "64" not in str(constraint.index_dtype) and any(n > MOST_INT32 for n in (*shape, *strides)):
                raise ValueError(f"'{self.parameters[place]}' of '{self.name}' has an extent or stride beyond 32 bits: annotate the "
                                 "parameter with ct.IndexedWithInt64()")
            result += [(place, "pointer"), *((n, "word") for n in (*shape, *strides))]
        elif kind == "ScalarConstraint":
            result.append(self._scalar(constraint.dtype, argument, values))
        elif kind != "ConstantConstraint":
            raise Unsupported(f"it takes a {kind.removesuffix('Constraint').lower()}")

    def _scalar(self, dtype: Any, argument: Any, values: List[Any]) -> Tuple[int, str]:
        name = dtype.name.rstrip("_")
        if name in ("float32", "float64"):
            if not self._tuner.has_args:  # Calls with other values have the same code and entry.
                return next(i for i, value in enumerate(values) if value is argument), name
            return int.from_bytes(struct.pack("<f" if name == "float32" else "<d", argument), "little"), "word"
        if name == "bool" or name.startswith(("int", "uint")):
            return int(argument), "word"
        raise Unsupported(f"it takes a scalar of {name}")


def shape_and_strides(array: Any) -> Tuple[Tuple[int, ...], Tuple[int, ...]]:
    """Strides are in elements."""
    if hasattr(array, "stride"):
        return tuple(array.shape), tuple(array.stride())
    interface: Any = getattr(array, "__cuda_array_interface__", None) or getattr(array, "__array_interface__", None) or {}
    shape = tuple(interface.get("shape", ())) if interface else tuple(array.shape)
    strides = interface.get("strides")
    if strides is not None:
        size = int(interface["typestr"][2:])
        return shape, tuple(stride // size for stride in strides)
    return shape, tuple(math.prod(shape[d + 1:]) for d in range(len(shape)))


def _number(part: Any) -> int:
    """A part of a key as a number: itself, or a fingerprint."""
    if isinstance(part, int) and -2**63 <= part < 2**63:
        return int(part)
    return int(fingerprint(part if isinstance(part, (tuple, float, int)) else str(part))[:15], 16)
