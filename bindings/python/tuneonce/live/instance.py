"""A kernel for arguments of certain types and with certain constants: what C++ asks about it."""
import json
from typing import Any, Callable, Dict, List, Sequence, Tuple, Union

from tuneonce import _tuneonce
from tuneonce.export.compiler_words import said
from tuneonce.export.declaration_error import DeclarationError
from tuneonce.live.code import Code
from tuneonce.live.observation import Observation
from tuneonce.live.unsupported import Unsupported
from tuneonce.live.usage import Usage, merged

# Calls that an instance remembers for an export.
MOST_OBSERVATIONS = 16


class LiveInstance:
    """C++ reads the attributes once, when it makes the TunedKernel, and calls the methods with the GIL.

    Attributes: `name`, `version`, `parameters` (of a call); `labels`, of the configs that compile, the baseline first;
    `config_indices`, their indices among the kernel's configs; `constants`, the values of the call's parameters that each has;
    `tensors`, (parameter, access, dtype) of each tensor; `key_scalars`, (parameter, kind) of the numbers in the key; `key_names`, of
    what else is in the key, whose values `key_of` returns; `is_specialized`, whether a parameter's value may change the code.
    """
    language = ""
    has_heuristics = False
    has_hooks = False
    is_unordered = False
    key_scalars: List[Tuple[int, str]] = []
    key_names: List[str] = []

    def __init__(self, tuner: Any, name: str, parameters: Sequence[str]) -> None:
        self._tuner = tuner
        self.name = name
        self.parameters = list(parameters)
        self.tensors: List[Tuple[int, str, int]] = []
        self._codes: Dict[str, Code] = {}
        self._failures: Dict[str, Exception] = {}  # By name of the code.
        self._seen: List[Observation] = []

    def key_of(self, values: List[Any]) -> List[int]:
        """The values of `key_names` for a call."""
        return []

    def code_for(self, index: int, values: List[Any]) -> Tuple[str, Tuple[Any, ...]]:
        """The name and the parts of a config's code for a call. Raises what the compiler does."""
        raise NotImplementedError

    def prepare(self, values: List[Any]) -> None:
        """A search for this call is about to begin."""

    def note_capture(self) -> None:
        """A call in a capture has a key that was not tuned."""
        self._tuner.note_capture()

    def _find_code(self, name: str) -> bool:
        """Whether there is such code in this process or in the store."""
        stored = None if name in self._codes else self._tuner._find_stored(name)
        if stored is not None:
            self._codes[name] = Code.from_bytes(stored)
        return name in self._codes

    def _keep_code(self, name: str, make: Callable[[], Code]) -> None:
        """Keeps the code, in the store too, or the exception that `make` raised: an error of the compiler, or Unsupported."""
        try:
            self._codes[name] = make()
        except _tuneonce.UnavailableError:  # The compiler is missing. A later call may find it.
            raise
        except Exception as error:
            self._failures[name] = error
        else:
            self._tuner._store(name, self._codes[name].to_bytes())

    def _facts(self, name: str, labels: Sequence[str], compiled: Callable[[], Sequence[Union[Usage, Exception]]]) -> Dict[str, Any]:
        """What the compiled code says of the kernel: how it uses each tensor (`access`), and why configs do not compile (`failures`, by
        label). The store has it by `name` for later processes, which need not compile. Raises Unsupported."""
        if self._tuner._is_disabled():  # Nothing runs but the first config, on the caller's tensors.
            return {"access": {n: "inout" for n in self.parameters}, "failures": {}, "is_unordered": False}
        stored = self._tuner._find_stored(name)
        if stored is not None:
            return json.loads(stored)
        usages: List[Usage] = []
        failures: Dict[str, str] = {}
        for label, usage in zip(labels, compiled()):
            if isinstance(usage, Unsupported):
                raise usage
            if isinstance(usage, Exception):
                failures[label] = said(usage)
            else:
                usages.append(usage)
        facts = {"access": merged(usages), "failures": failures, "is_unordered": any(usage.is_unordered for usage in usages)}
        if usages:  # Otherwise something may be wrong with the machine, and not with the kernel.
            self._tuner._store(name, json.dumps(facts).encode())
        return facts

    def _remember(self, observe: Callable[[], Observation]) -> bool:
        """Keeps a call of a new key for an export. False: there are enough, or its tensors are of no known framework."""
        if len(self._seen) == MOST_OBSERVATIONS:
            return False
        try:
            self._seen.append(observe())
        except AttributeError:
            return False
        return True

    def _check_seen(self) -> None:
        if not self._seen:
            raise DeclarationError("no call had tensors of PyTorch or numpy, whose shapes and strides are known")
