"""Which of a kernel's arguments its code reads and writes through, as its TTIR says."""
import re
from typing import Dict, List, NamedTuple, Optional, Sequence, Set, Tuple

_VALUE = re.compile(r"%[\w$.-]+(?:#\d+)?")
_DECLARED = re.compile(r"(%[\w$.-]+)\s*:")
_POINTER = re.compile(r"(%[\w$.-]+)\s*: !tt\.(?:ptr|tensordesc)")
_PAIR = re.compile(r"(%[\w$.-]+) = (%[\w$.-]+(?:#\d+)?)")
_RESULT = re.compile(r"^(%[\w$.-]+)(?::(\d+))?((?:, %[\w$.-]+(?::\d+)?)*) = (.*)$")
_OPERATION = re.compile(r'"?([a-z_]+\.[\w.]+)"?')
_FUNCTION = re.compile(r'tt\.func (?:public |private )?@("[^"]*"|[\w$.-]+)')
_CALL = re.compile(r'tt\.call @("[^"]*"|[\w$.-]+)\(([^)]*)\)')
_BRANCH = re.compile(r"(\^\w+)(?:\(([^):]*)[^)]*\))?")
# Operations whose results point where their operands point, or are numbers computed from them.
_PASSING = ("tt.addptr", "tt.splat", "tt.broadcast", "tt.expand_dims", "tt.reshape", "tt.trans", "tt.bitcast", "tt.unsplat",
            "tt.ptr_to_int", "tt.int_to_ptr", "tt.make_tensor_ptr", "tt.make_tensor_descriptor", "tt.advance", "tt.join",
            "tt.split", "tt.cat", "tt.reinterpret_tensor_descriptor", "tt.gather", "tt.assert", "tt.print", "arith.", "ub.",
            "math.", "llvm.intr.assume")
_READING = ("tt.load", "tt.descriptor_load", "tt.descriptor_gather")
_WRITING = ("tt.store", "tt.descriptor_store", "tt.descriptor_scatter")
_UPDATING = ("tt.atomic_rmw", "tt.atomic_cas", "tt.descriptor_reduce")


class PointerAccess(NamedTuple):
    """The indices of arguments, among those of the compiled function, that are read and written through. `is_traced`: whether
    every address was traced to arguments; otherwise all arguments count as read and written. `has_atomics`: whether results may
    depend on an order."""
    read: Set[int]
    written: Set[int]
    is_traced: bool
    has_atomics: bool


class _Region:
    """An operation with a region: the values that its results and its loop's arguments are, by position."""

    def __init__(self, kind: str, results: Sequence[str] = (), arguments: Sequence[str] = ()) -> None:
        self.kind = kind
        self.results = list(results)
        self.arguments = list(arguments)
        self.passed: List[str] = []  # By the condition of a while loop to its body.


class _Graph:
    """Which values point where others point: edges from a value to those that are computed from it. A name is that of the value
    which the innermost region around it has."""

    def __init__(self) -> None:
        self.edges: Dict[str, Set[str]] = {}
        self.arguments: Dict[str, List[str]] = {}  # By function.
        self.kernel = ""
        self.pointers: Set[str] = set()  # Arguments of functions.
        self.accesses: List[Tuple[str, str]] = []  # Operation and address.
        self.escapes: List[str] = []  # Values given to operations that may access memory by them.
        self._function = ""
        self._regions: List[_Region] = []
        self._scopes: List[Dict[str, str]] = [{}]  # By region, from the outermost: the values of names.
        self._num_values = 0
        self._calls: List[Tuple[str, List[str], List[str]]] = []
        self._returned: Dict[str, List[str]] = {}

    def add(self, line: str) -> None:
        text = line.partition(" loc(")[0] if not line.startswith(("tt.func", "^")) else line
        results, text = self._results(text)
        operation = _OPERATION.match(text)
        name = operation[1] if operation else ""
        if text.startswith("}"):
            self._close(text)
        elif text.startswith("^"):
            self._begin_block(text)
        elif name == "tt.func":
            self._begin_function(text)
        elif name in ("scf.yield", "scf.condition", "tt.return", "cf.br", "cf.cond_br"):
            self._pass_on(name, text)
        elif name in ("scf.for", "scf.while", "scf.if"):
            self._begin_region(name, text, results)
        elif name == "tt.call":
            call = _CALL.match(text)
            self._calls.append((call[1], self._values(call[2]), results))
        else:
            self._compute(name, text, results)
            if text.endswith("{"):
                self._open(_Region(name))

    def finish(self) -> None:
        """Adds what calls pass."""
        for function, values, results in self._calls:
            if len(self.arguments.get(function, ())) != len(values):
                self.escapes += values
                continue
            self._connect(values, self.arguments[function])
            self._connect(self._returned.get(function, []), results)

    def reached(self, start: str) -> Set[str]:
        found, waiting = {start}, [start]
        while waiting:
            for following in self.edges.get(waiting.pop(), ()):
                if following not in found:
                    found.add(following)
                    waiting.append(following)
        return found

    def _define(self, name: str) -> str:
        if name not in self._scopes[-1]:  # It may have been used in a block that is printed before.
            self._num_values += 1
            self._scopes[-1][name] = f"{name} {self._num_values}"
        return self._scopes[-1][name]

    def _value(self, name: str) -> str:
        return next((scope[name] for scope in reversed(self._scopes) if name in scope), None) or self._define(name)

    def _open(self, region: _Region) -> None:
        self._regions.append(region)
        self._scopes.append({})

    def _values(self, text: str) -> List[str]:
        return [self._value(v) for v in _VALUE.findall(text)]

    def _results(self, text: str) -> Tuple[List[str], str]:
        match = _RESULT.match(text)
        if not match:
            return [], text
        names = [match[1]] if match[2] is None else [f"{match[1]}#{i}" for i in range(int(match[2]))]
        return [self._define(n) for n in [*names, *_VALUE.findall(match[3])]], match[4]

    def _connect(self, sources: Sequence[str], targets: Sequence[str]) -> None:
        for source, target in zip(sources, targets):
            self.edges.setdefault(source, set()).add(target)

    def _begin_function(self, text: str) -> None:
        self._function = _FUNCTION.match(text)[1]
        self._open(_Region("tt.func"))
        self.arguments[self._function] = [self._define(v) for v in _DECLARED.findall(text)]
        self.pointers |= {self._value(v) for v in _POINTER.findall(text)}
        if not text.startswith("tt.func private"):
            self.kernel = self._function

    def _begin_region(self, name: str, text: str, results: List[str]) -> None:
        carried = text.partition("iter_args(" if name == "scf.for" else "scf.while (")[2].partition(") ")[0]
        pairs = [] if name == "scf.if" else _PAIR.findall(carried)
        first = [self._value(v) for _, v in pairs]
        region = _Region(name, results)
        self._open(region)
        region.arguments = [self._define(a) for a, _ in pairs]
        self._connect(first, region.arguments)
        if name == "scf.for":
            self._connect(first, results)

    def _begin_block(self, text: str) -> None:
        label = text.partition("(")[0].partition(":")[0]
        arguments = [self._define(v) for v in _DECLARED.findall(text)]
        region = self._regions[-1] if self._regions else _Region("")
        if region.kind == "scf.while":
            self._connect(region.passed, arguments)
        elif region.kind == "tt.func":
            self._connect([f"{self._function} {label} {i}" for i in range(len(arguments))], arguments)

    def _pass_on(self, name: str, text: str) -> None:
        values = self._values(text.partition(" : ")[0])
        if name == "tt.return":
            self._returned.setdefault(self._function, values)
            self._connect(values, self._returned[self._function])
        elif name.startswith("cf."):
            for label, passed in _BRANCH.findall(text):
                self._connect(self._values(passed), [f"{self._function} {label} {i}" for i in range(passed.count("%"))])
        elif name == "scf.condition":
            self._regions[-1].passed = values[1:]
            self._connect(values[1:], self._regions[-1].results)
        else:
            region = self._regions[-1]
            self._connect(values, region.arguments)
            if region.kind != "scf.while":
                self._connect(values, region.results)

    def _close(self, text: str) -> None:
        if not self._regions:
            return  # The module's.
        self._scopes.pop()
        if text.endswith("{"):  # "} else {" and "} do {".
            self._scopes.append({})
        else:
            self._regions.pop()

    def _compute(self, name: str, text: str, results: List[str]) -> None:
        values = self._values(text)
        if name in _READING or name in _WRITING or name in _UPDATING:
            self.accesses.append((name, values[0]))
        elif name.startswith(_PASSING):
            for value in values:
                self._connect([value] * len(results), results)
        else:
            self.escapes += values


def pointer_access(ttir: str) -> PointerAccess:
    """Returns the access of the kernel in the text of a TTIR module, after Triton's own passes."""
    access = _traced(ttir)
    if access is not None:
        return access
    count = _DECLARED.findall(next((l for l in ttir.splitlines() if "tt.func public" in l), ""))
    every = set(range(len(count)))
    return PointerAccess(every, every, False, True)


def _traced(ttir: str) -> Optional[PointerAccess]:
    """The access, or None where an address cannot be traced."""
    graph = _Graph()
    for line in ttir.splitlines():
        if line.strip() and not line.startswith(("#", "module")):
            graph.add(line.strip())
    graph.finish()
    reached = [graph.reached(argument) if argument in graph.pointers else set()
               for argument in graph.arguments.get(graph.kernel, [])]

    def roots(value: str) -> Set[int]:
        return {i for i, values in enumerate(reached) if value in values}

    if any(roots(value) for value in graph.escapes):
        return None
    read: Set[int] = set()
    written: Set[int] = set()
    for operation, address in graph.accesses:
        arguments = roots(address)
        if not arguments and operation not in _READING:
            return None
        if operation not in _WRITING:
            read |= arguments or set(range(len(reached)))
        written |= arguments if operation not in _READING else set()
    return PointerAccess(read, written, True, any(operation in _UPDATING for operation, _ in graph.accesses))
