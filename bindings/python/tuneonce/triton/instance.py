"""A Triton kernel for arguments of certain types and with certain constants: what C++ asks about it."""
import contextlib
import sys
from typing import TYPE_CHECKING, Any, Dict, List, Sequence, Tuple, Union

from triton.runtime.driver import driver

from tuneonce.live.code import Code
from tuneonce.live.declaration import LiveDeclaration
from tuneonce.live.fingerprint import fingerprint
from tuneonce.live.instance import LiveInstance
from tuneonce.live.observation import Observation, grid_of, observed
from tuneonce.live.unsupported import Unsupported
from tuneonce.live.usage import Usage
from tuneonce.scratch import array_at
from tuneonce.triton.compiler import Request, shown
from tuneonce.triton.pointer_access import pointer_access

if TYPE_CHECKING:
    from tuneonce.triton.autotuner import Autotuner

# Shared memory of a block where the driver does not say how much it has, in bytes: that of the largest devices.
MOST_SHARED_BYTES = 232448
# What Triton's JIT specializes addresses and numbers for.
ALIGNMENT = 16
# Tensors of trials that are kept for hooks.
MOST_MOVED = 64


def labels_of(configs: Sequence[Any]) -> List[str]:
    """Returns a different text for each config: its constants, and the options that differ from the defaults."""
    labels: List[str] = []
    for config in configs:
        values = {n: v for n, v in config.all_kwargs().items() if n in config.kwargs or n in ("num_warps", "num_stages") or v != 1}
        label = ", ".join(f"{n}={v}" for n, v in values.items())
        labels.append(label if label not in labels else f"{label} ({len(labels)})")
    return labels


class Instance(LiveInstance):
    """A Triton kernel; see LiveInstance."""
    language = "triton"

    def __init__(self, tuner: "Autotuner", values: List[Any], options: Dict[str, Any], tensors: List[Tuple[int, int]],
                 configs: Sequence[Any]) -> None:
        super().__init__(tuner, tuner.function.__name__, tuner.arg_names)
        self._options = options
        self._configs = list(configs)
        self.is_specialized = [not p.is_constexpr and not p.do_not_specialize for p in tuner.function.params]
        self.has_heuristics = bool(tuner.heuristics)
        self.has_hooks = tuner.user_defined_pre_hook or tuner.user_defined_post_hook or any(c.pre_hook for c in configs)
        self.key_scalars = [(i, type(v).__name__) for i, v in enumerate(values)
                            if self.parameters[i] in tuner.keys and not tuner.function.params[i].is_constexpr and
                            type(v) in (int, float, bool)]
        self._moved: Dict[Any, Any] = {}
        self._constants_of_call: Dict[str, Any] = {}
        types = dict(tensors)
        self._identity = fingerprint(
            tuner.compiler.identity(), [types.get(i, self._word(i, v)) for i, v in enumerate(values)],
            sorted((n, str(v)) for n, v in options.items()), [n for n, _ in tuner.heuristics], list(tuner.keys))
        labels = labels_of(configs)
        facts = self._facts(fingerprint("facts", self._identity, labels), labels, lambda: self._compiled(values, labels))
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
        types = {parameter for parameter, _, _ in self.tensors}
        names = self.parameters
        scalars = {names[i]: v for i, v in enumerate(values)
                   if type(v) in (int, float, bool) and not self._tuner.function.params[i].is_constexpr}
        if not self._remember(lambda: Observation({names[i]: observed(values[i]) for i in types}, scalars,
                                                  [grid_of(grid, self._arguments(config, values)) for config in self._kept])):
            return
        taken = {n for config in self._configs for n in config.kwargs}
        heuristics = {n for n, _ in self._tuner.heuristics}
        self._constants_of_call = {n: v for n, v in zip(names, values)
                                   if v is not ... and n not in taken and n not in heuristics and n not in scalars and
                                   names.index(n) not in types}

    def declaration(self) -> Any:
        """What the calls say of the kernel, as the exporter takes it. Raises DeclarationError."""
        self._check_seen()
        return LiveDeclaration(self.parameters, {self.parameters[i]: access for i, access, _ in self.tensors}, self._constants_of_call,
                               self.constants, self._seen, self.is_unordered).declaration()

    def code_for(self, index: int, values: List[Any]) -> Tuple[str, Tuple[Any, ...]]:
        name = self._name_of(self._kept[index], values)
        if name not in self._failures and not self._find_code(name):
            self._take({name: self._request(self._kept[index], values)})
        if name in self._failures:
            raise self._failures[name]
        return name, self._codes[name].parts()

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
        return fingerprint("live code", self._identity, sorted((n, str(v)) for n, v in self._options_of(config).items()), words)

    def _request(self, config: Any, values: List[Any]) -> Request:
        return self._tuner.compiler.request(self._arguments(config, values), self._options_of(config))

    def _take(self, requests: Dict[str, Request]) -> Dict[str, Any]:
        """Compiles the requests, by name, and keeps the codes. Returns what was compiled, by name."""
        results = dict(zip(requests, self._tuner.compiler.compile(list(requests.values()))))
        for name, result in results.items():
            self._keep_code(name, lambda: self._code_of(requests[name], result))
        return results

    def _code_of(self, request: Request, result: Any) -> Code:
        if isinstance(result, Exception):
            raise result
        return self._tuner.compiler.code_of(request, result)

    def _compiled(self, values: List[Any], labels: List[str]) -> List[Union[Usage, Exception]]:
        """Compiles the configs: how each uses the tensors, or why it does not work."""
        names = [self._name_of(config, values) for config in self._configs]
        requests = {name: self._request(config, values) for name, config in zip(names, self._configs)}
        compiled = self._take(requests)

        def usage(name: str) -> Union[Usage, Exception]:
            if name in self._failures:
                return self._failures[name]
            if self._codes[name].shared_bytes > _most_shared_bytes():
                return ValueError(f"it needs {self._codes[name].shared_bytes} bytes of shared memory")
            access = pointer_access(compiled[name].ttir)
            passed = [n for n, kind in requests[name].signature.items() if kind != "constexpr"]
            read, written = ({passed[i] for i in each if i < len(passed)} for each in (access.read, access.written))
            return Usage(read, written, access.has_atomics)
        return [usage(name) for name in names]


def _most_shared_bytes() -> int:
    """Of one block of the current device."""
    try:
        return int(driver.active.utils.get_device_properties(driver.active.get_current_device())["max_shared_mem"])
    except AttributeError:  # No GPU.
        return MOST_SHARED_BYTES


def _current(stream: int) -> Any:
    """Makes `stream` PyTorch's current one, if PyTorch is in use."""
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_available() or torch.cuda.current_stream().cuda_stream == stream:
        return contextlib.nullcontext()
    return torch.cuda.stream(torch.cuda.ExternalStream(stream))
