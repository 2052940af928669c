"""A kernel for arguments of certain types and with certain constants: what C++ asks about it."""
import contextlib
import json
import sys
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Sequence, Set, Tuple

from triton.runtime.driver import driver

from tuneonce.export.declaration_error import DeclarationError
from tuneonce.scratch import array_at
from tuneonce.triton.code import Code
from tuneonce.triton.compiler import Request, fingerprint, shown
from tuneonce.triton.live_declaration import LiveDeclaration
from tuneonce.triton.observation import Observation, grid_of, observed
from tuneonce.triton.pointer_access import PointerAccess, pointer_access
from tuneonce.triton.unsupported import Unsupported

if TYPE_CHECKING:
    from tuneonce.triton.autotuner import Autotuner

# Shared memory of a block where the driver does not say how much it has, in bytes: that of the largest devices.
MOST_SHARED_BYTES = 232448
# What Triton's JIT specializes addresses and numbers for.
ALIGNMENT = 16
# Tensors of trials that are kept for hooks.
MOST_MOVED = 64
# Calls that an instance remembers for an export.
MOST_OBSERVATIONS = 16


def labels_of(configs: Sequence[Any], parameters: Sequence[str]) -> List[str]:
    """A different text for each config: what differs from Triton's defaults, and the kernel's constants."""
    labels: List[str] = []
    for config in configs:
        values = {n: v for n, v in config.all_kwargs().items() if n in config.kwargs or n in ("num_warps", "num_stages") or v != 1}
        label = ", ".join(f"{n}={v}" for n, v in values.items())
        labels.append(label if label not in labels else f"{label} ({len(labels)})")
    return labels


class Instance:
    """C++ reads the attributes once, when it makes the TunedKernel, and calls the methods with the GIL.

    Attributes: `labels`, of the configs that compile, the baseline first; `config_indices`, their indices among the kernel's
    configs; `constants`, the values of the kernel's parameters of each; `tensors`, (parameter, access, dtype) of each tensor;
    `key_scalars`, (parameter, kind) of the numbers in the key.
    """

    def __init__(self, tuner: "Autotuner", values: List[Any], options: Dict[str, Any], tensors: List[Tuple[int, int]],
                 configs: Sequence[Any]) -> None:
        self._tuner = tuner
        self._options = options
        self._configs = list(configs)
        self.parameters = tuner.arg_names
        self.is_specialized = [not p.is_constexpr and not p.do_not_specialize for p in tuner.function.params]
        self.has_heuristics = bool(tuner.heuristics)
        self.has_hooks = tuner.user_defined_pre_hook or tuner.user_defined_post_hook or any(c.pre_hook for c in configs)
        self.name = tuner.function.__name__
        self.key_scalars = [(i, type(v).__name__) for i, v in enumerate(values)
                            if self.parameters[i] in tuner.keys and not tuner.function.params[i].is_constexpr and
                            type(v) in (int, float, bool)]
        self._codes: Dict[str, Code] = {}
        self._moved: Dict[Any, Any] = {}
        self._seen: List[Observation] = []
        self._constants_of_call: Dict[str, Any] = {}
        self._failures: Dict[str, Exception] = {}  # By name of the code.
        types = dict(tensors)
        self._identity = fingerprint(
            tuner.compiler.identity(), [types.get(i, self._word(i, v)) for i, v in enumerate(values)],
            sorted((n, str(v)) for n, v in options.items()), [n for n, _ in tuner.heuristics], list(tuner.keys))
        labels = labels_of(configs, self.parameters)
        facts = self._facts(values, labels)
        kept = [i for i, label in enumerate(labels) if label not in facts["failures"]]
        if not kept:
            raise Unsupported(f"no config compiles: {next(iter(facts['failures'].values()))}")
        self.labels = [labels[i] for i in kept]
        self._kept = [self._configs[i] for i in kept]
        self.config_indices = [next(n for n, c in enumerate(tuner.configs) if c is each) for each in self._kept]
        self.constants = [{n: v for n, v in c.kwargs.items() if n in self.parameters} for c in self._kept]
        self.version = fingerprint(self._identity, sorted(facts["access"].items()))[:32]
        self.is_unordered = bool(facts["is_unordered"])
        self.tensors = [(i, facts["access"].get(self.parameters[i], "in"), dtype) for i, dtype in tensors]

    def prepare(self, values: List[Any]) -> None:
        """A search for this call is about to begin: compiles its configs, several at a time, and zeroes what the decorator says, as
        Triton does."""
        names = {self._name_of(config, values): config for config in self._kept}
        new = {name: self._request(config, values) for name, config in names.items()
               if name not in self._failures and not self._find_code(name)}
        if new:
            self._take(new)
        if not self._tuner.user_defined_pre_hook:
            for name in self._tuner.reset_to_zero:
                values[self.parameters.index(name)].zero_()

    def observe(self, values: List[Any], grid: Any) -> None:
        """Remembers a call of a new key, for `declaration`."""
        if len(self._seen) == MOST_OBSERVATIONS:
            return
        types = {parameter for parameter, _, _ in self.tensors}
        names = self.parameters
        scalars = {names[i]: v for i, v in enumerate(values)
                   if type(v) in (int, float, bool) and not self._tuner.function.params[i].is_constexpr}
        try:
            tensors = {names[i]: observed(values[i]) for i in types}
        except AttributeError:
            return
        self._seen.append(Observation(tensors, scalars,
                                      [grid_of(grid, self._arguments(config, values)) for config in self._kept]))
        taken = {n for config in self._configs for n in config.kwargs}
        heuristics = {n for n, _ in self._tuner.heuristics}
        self._constants_of_call = {n: v for n, v in zip(names, values)
                                   if v is not ... and n not in taken and n not in heuristics and n not in scalars and
                                   names.index(n) not in types}

    def declaration(self) -> Any:
        """What the calls say of the kernel, as the exporter takes it. Raises DeclarationError."""
        if not self._seen:
            raise DeclarationError("no call had tensors of PyTorch or numpy, whose shapes and strides are known")
        return LiveDeclaration(self.parameters, {self.parameters[i]: access for i, access, _ in self.tensors}, self._constants_of_call,
                               self.constants, self._seen, self.is_unordered).declaration()

    def note_capture(self) -> None:
        """A call in a capture has a key that was not tuned."""
        self._tuner.note_capture()

    def code_for(self, index: int, values: List[Any]) -> Tuple[Any, ...]:
        """The code of a config for the specialization of a call. Raises what Triton's compiler does."""
        return self._code(self._kept[index], values).parts()

    def apply_heuristics(self, meta: Dict[str, Any]) -> Tuple[Any, ...]:
        """Adds the values of heuristics to the arguments by name, as @triton.heuristics does."""
        for name, heuristic in self._tuner.heuristics:
            meta[name] = heuristic(dict(meta))
        return tuple(meta[name] for name, _ in self._tuner.heuristics)

    def run_hooks(self, index: int, meta: Dict[str, Any], addresses: Dict[int, int], stream: int) -> None:
        """Runs the hooks that precede a launch, on the tensors at these addresses: in a trial they are not those of the call."""
        arguments = {**meta, **{n: v for n, v in self._kept[index].all_kwargs().items() if n not in meta}}
        is_trial = False
        for parameter, address in addresses.items():
            name = self.parameters[parameter]
            if address != meta[name].data_ptr():
                arguments[name] = self._moved_to(address, parameter, meta[name])
                is_trial = True
        with _current(stream):
            if self._kept[index].pre_hook:
                self._kept[index].pre_hook(arguments)
            if is_trial and self._tuner.user_defined_pre_hook:
                self._tuner.pre_hook(arguments)

    def _moved_to(self, address: int, parameter: int, like: Any) -> Any:
        """A tensor of a trial, which is made once: trials are repeated."""
        key = (address, parameter, tuple(like.shape))
        if key not in self._moved:
            if len(self._moved) > MOST_MOVED:
                self._moved.clear()
            self._moved[key] = array_at(like, address)
        return self._moved[key]

    def _word(self, index: int, value: Any) -> Any:
        """What of an argument's value decides what the instance is."""
        if self._tuner.function.params[index].is_constexpr:
            return shown(value)
        if type(value) is int:
            return "int32" if -2**31 <= value < 2**31 else "int64" if value < 2**63 else "uint64"
        return type(value).__name__

    def _arguments(self, config: Any, values: List[Any]) -> Dict[str, Any]:
        """The arguments by name at `config`, with the values of heuristics."""
        arguments = {n: v for n, v in zip(self.parameters, values) if v is not ...}
        arguments.update({n: v for n, v in config.kwargs.items() if n in self.parameters})
        self.apply_heuristics(arguments)
        return arguments

    def _options_of(self, config: Any) -> Dict[str, Any]:
        return {**self._options, **{n: v for n, v in config.all_kwargs().items() if n not in self.parameters}}

    def _name_of(self, config: Any, values: List[Any]) -> str:
        """By which the store has the code of a config for the specialization of a call. It does not ask Triton, whose own
        specialization imports modules that a process with a warm store does not need, and tells at least what Triton tells."""
        arguments = self._arguments(config, values)
        words: List[Any] = []
        for parameter, is_specialized in zip(self._tuner.function.params, self.is_specialized):
            value = arguments.get(parameter.name, ...)
            if parameter.is_constexpr:
                words.append(shown(value))
            elif hasattr(value, "data_ptr"):
                words.append(value.data_ptr() % ALIGNMENT == 0)
            elif type(value) is int and is_specialized:
                words.append((value % ALIGNMENT == 0, value == 1))
        return fingerprint("code", self._identity, sorted((n, str(v)) for n, v in self._options_of(config).items()), words)

    def _request(self, config: Any, values: List[Any]) -> Request:
        return self._tuner.compiler.request(self._arguments(config, values), self._options_of(config))

    def _code(self, config: Any, values: List[Any]) -> Code:
        name = self._name_of(config, values)
        if name not in self._failures and not self._find_code(name):
            self._take({name: self._request(config, values)})
        if name in self._failures:
            raise self._failures[name]
        return self._codes[name]

    def _take(self, requests: Dict[str, Request]) -> Dict[str, Any]:
        """Compiles the requests, by name, and keeps the codes, in the store too. Returns what was compiled, by name."""
        results = dict(zip(requests, self._tuner.compiler.compile(list(requests.values()))))
        for name, result in results.items():
            try:
                if isinstance(result, Exception):
                    raise result
                self._codes[name] = self._tuner.compiler.code_of(requests[name], result)
            except Exception as error:  # Of Triton's compiler, or Unsupported.
                self._failures[name] = error
            else:
                self._tuner._store(name, self._codes[name].to_bytes())
        return results

    def _find_code(self, name: str) -> bool:
        """Whether there is such code in this process or in the store."""
        stored = None if name in self._codes else self._tuner._find_stored(name)
        if stored is not None:
            self._codes[name] = Code.from_bytes(stored)
        return name in self._codes

    def _facts(self, values: List[Any], labels: List[str]) -> Dict[str, Any]:
        """What the compiled code says of the kernel: how it uses each tensor, and which configs do not compile. The store has it
        for later processes, which need not compile."""
        name = fingerprint("facts", self._identity, labels)
        if self._tuner._is_disabled():  # Nothing runs but the first config, on the caller's tensors.
            return {"access": {n: "inout" for n in self.parameters}, "failures": {}, "is_unordered": False}
        stored = self._tuner._find_stored(name)
        if stored is not None:
            return json.loads(stored)
        failures: Dict[str, str] = {}
        accesses: List[PointerAccess] = []
        passed: List[List[str]] = []
        names = [self._name_of(config, values) for config in self._configs]
        requests = {name: self._request(config, values) for name, config in zip(names, self._configs)}
        compiled = self._take(requests)
        for label, name_of_code in zip(labels, names):
            failure = self._failures.get(name_of_code)
            if isinstance(failure, Unsupported):
                raise failure
            if failure is not None:
                failures[label] = _said(failure)
                continue
            if self._codes[name_of_code].shared_bytes > _most_shared_bytes():
                failures[label] = f"it needs {self._codes[name_of_code].shared_bytes} bytes of shared memory"
            accesses.append(pointer_access(compiled[name_of_code].ttir))
            passed.append([n for n, kind in requests[name_of_code].signature.items() if kind != "constexpr"])
        facts = {"access": _merged(accesses, passed), "failures": failures,
                 "is_unordered": any(a.has_atomics for a in accesses)}
        self._tuner._store(name, json.dumps(facts).encode())
        return facts


def _merged(accesses: Sequence[PointerAccess], passed: Sequence[Sequence[str]]) -> Dict[str, str]:
    """By parameter: "out" or "inout" if any config writes through it."""
    read: Set[str] = set()
    written: Set[str] = set()
    for access, names in zip(accesses, passed):
        read |= {names[i] for i in access.read if i < len(names)}
        written |= {names[i] for i in access.written if i < len(names)}
    return {name: "inout" if name in read else "out" for name in written}


def _most_shared_bytes() -> int:
    """Of one block of the current device."""
    try:
        return int(driver.active.utils.get_device_properties(driver.active.get_current_device())["max_shared_mem"])
    except AttributeError:  # No GPU.
        return MOST_SHARED_BYTES


def _said(error: Exception) -> str:
    """The last line of what Triton's compiler says: those before it show code."""
    lines = [line.strip() for line in str(error.__cause__ or error).splitlines() if line.strip()]
    return lines[-1] if lines else type(error).__name__


def _current(stream: int) -> Any:
    """Makes `stream` PyTorch's current one, if PyTorch is in use."""
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_available() or torch.cuda.current_stream().cuda_stream == stream:
        return contextlib.nullcontext()
    return torch.cuda.stream(torch.cuda.ExternalStream(stream))
