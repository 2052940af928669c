"""A cuTile kernel for arguments of certain types and with certain constants: what C++ asks about it."""
import dataclasses
import struct
from typing import TYPE_CHECKING, Any, Dict, List, Sequence, Tuple, Union

from tuneonce.cutile.array_usage import array_usage
from tuneonce.cutile.compiler import Lowered, is_array
from tuneonce.cutile.source import source_of
from tuneonce.live.code import Code
from tuneonce.live.fingerprint import fingerprint
from tuneonce.live.instance import LiveInstance, said
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
        self._lowered: Dict[Any, Lowered] = {}
        self.key_names = self._names_of_key(values)
        source = fingerprint(tuner.compiler.identity(), source_of(tuner.fn), identity, self.key_names,
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
        constraints, lowered = self._lower(config, arguments)
        if lowered.name not in self._failures and not self._find_code(lowered.name):
            self._compile([lowered])
        if lowered.name in self._failures:
            raise self._failures[lowered.name]
        passed = self._passed(constraints, arguments, values)
        code = dataclasses.replace(self._codes[lowered.name], passed=passed, grid=self._tuner.grid_of(config, values))
        return lowered.name, code.parts()

    def prepare(self, values: List[Any]) -> None:
        """Compiles the configs for the specialization of the call, several at a time."""
        arguments = [self._tuner.arguments(config, values) for config in self.config_indices]
        self._compile([self._lower(config, each)[1] for config, each in zip(self.config_indices, arguments)])

    def _names_of_key(self, values: List[Any]) -> List[str]:
        names = self._tuner.key_names(values)
        return names if len(names) <= MOST_KEY_NAMES else ["key"]

    def _lower(self, config: int, arguments: Sequence[Any]) -> Tuple[Tuple[Any, ...], Lowered]:
        """The constraints of a call at a config, and what the front end makes of them."""
        kernel = self._tuner.variant(config)
        constraints = self._tuner.compiler.constraints(kernel, arguments)
        key = (config, repr(constraints[1:]))
        if key not in self._lowered:
            self._lowered[key] = self._tuner.compiler.lowered(kernel, constraints)
        return constraints, self._lowered[key]

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
        arguments = [self._tuner.arguments(config, values) for config in range(len(self._tuner.configs))]
        lowered: Dict[int, Lowered] = {}
        results: Dict[int, Union[Usage, Exception]] = {}
        for config, each in enumerate(arguments):
            try:
                constraints, lowered[config] = self._lower(config, each)
                results[config] = self._usage(constraints, each, values, lowered[config])
            except Exception as error:  # cuTile's, of any kind.
                results[config] = error
        self._compile([each for config, each in lowered.items() if isinstance(results[config], Usage)])
        for config, each in lowered.items():
            results[config] = self._failures.get(each.name, results[config])
        return [results[config] for config in range(len(arguments))]

    def _usage(self, constraints: Tuple[Any, ...], arguments: Sequence[Any], values: List[Any], lowered: Lowered) -> Usage:
        passed = self._passed(constraints, arguments, values)
        variables = lowered.ir.params
        if len(variables) != len(passed):
            raise Unsupported(f"cuTile passes {len(variables)} numbers and addresses, and tuneonce knows {len(passed)} of them")
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
                raise TypeError(f"args of '{self.name}' returns an array that is none of the call's: give the call's own; trials run on "
                                "copies of what the kernel writes")
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
    interface = getattr(array, "__cuda_array_interface__", None) or getattr(array, "__array_interface__", None)
    shape = tuple(interface["shape"]) if interface else tuple(array.shape)
    strides = interface.get("strides") if interface else None
    if strides is not None:
        size = int(interface["typestr"][2:])
        return shape, tuple(stride // size for stride in strides)
    result: List[int] = []
    for extent in reversed(shape):
        result.insert(0, result[0] * last if result else 1)
        last = extent
    return shape, tuple(result)


def _number(part: Any) -> int:
    """A part of a key as a number: itself, or a fingerprint."""
    if isinstance(part, int) and -2**63 <= part < 2**63:
        return int(part)
    return int(fingerprint(part if isinstance(part, (tuple, float, int)) else str(part))[:15], 16)
