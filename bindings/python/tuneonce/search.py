"""exhaustive_search with the names that cuTile's users know, over anything that launches."""
import array
import collections.abc
import contextlib
import inspect
import json
import numbers
import operator
import re
import sys
from typing import (TYPE_CHECKING, Any, Callable, ContextManager, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple,
                    TypeVar, Union, overload)

from tuneonce._cutile import CompiledAhead
from tuneonce.result import TuningRecord
from tuneonce.scratch import array_at

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from tuneonce.typed import SearchOptions

C = TypeVar("C")


class Hints:
    """The values of a compiler hint by target."""

    @staticmethod
    def by_target(default: Any = None, **targets: Any) -> Dict[str, Any]:
        """Sets a hint by target: `by_target(sm_90=4, default=2)`. A target's own value overrides the default."""
        if default is not None:
            targets["default"] = default
        if not targets:
            raise ValueError("by_target needs at least one target or a default")
        return targets


def _coded(values: Sequence[Any]) -> List[Any]:
    """Returns numbers or texts for the values of an axis, which conditions can read, and else one text for each value."""
    is_whole = [isinstance(value, numbers.Integral) and -2**63 <= int(value) < 2**63 for value in values]
    if all(is_whole):
        return [int(value) for value in values]
    if all(isinstance(value, numbers.Real) and (whole or not isinstance(value, numbers.Integral)) and float(value) == value
           for value, whole in zip(values, is_whole)):
        return [float(value) for value in values]
    return list(values) if all(_is_text(value) for value in values) else [str(i) for i in range(len(values))]


def _is_text(value: Any) -> bool:
    """True for a str without lone surrogates."""
    return isinstance(value, str) and value == value.encode(errors="replace").decode()


class SearchSpace(Sequence[Dict[str, Any]]):
    """The combinations of the axes' values for which all conditions hold, as dicts. The last axis changes fastest.

    where: conditions. A text has the syntax of manifests and of C++: "TILE * STAGES <= 512 || STAGES == 2". It is asked as soon
        as the axes that it names have values, so that a space of a billion combinations can be enumerated. `a / b` rounds down,
        and a condition that divides by 0 does not hold. A function gets a config as a dict and returns whether it is kept. It is
        asked about the configs that the texts keep.

    Raises ValueError for a mistake in a condition, which it names, or if no config remains.
    """

    def __init__(self, axes: Mapping[str, Sequence[Any]],
                 where: Sequence[Union[str, Callable[[Dict[str, Any]], bool]]] = ()) -> None:
        if isinstance(where, str):
            raise TypeError("where is a list of conditions: write [condition]")
        if not isinstance(axes, collections.abc.Mapping):
            raise TypeError(f"axes is a dict {{name: values}}, not {axes!r}")
        if not isinstance(where, collections.abc.Iterable):
            raise TypeError(f"where is a list of conditions, not {where!r}")
        where = list(where)
        for each in where:
            if not isinstance(each, str) and not callable(each):
                raise TypeError(f"a condition is a text or a function, not {each!r}")
        for name, values in axes.items():
            if not _is_text(name):
                raise TypeError(f"the name of an axis is a str without lone surrogates, not {name!r}")
            if isinstance(values, (str, bytes)) or not isinstance(values, collections.abc.Sequence) or not values:
                raise ValueError(f"axis '{name}' needs a list of at least one value")
        from tuneonce import _tuneonce
        codes = {name: _coded(values) for name, values in axes.items()}
        self._values = {name: dict(zip(codes[name], values)) for name, values in axes.items()}
        self._set = _tuneonce._ConfigSet(list(codes.items()), [_line_of(each) for each in where if isinstance(each, str)])
        functions = [each for each in where if not isinstance(each, str)]
        self._kept: Sequence[int] = range(self._set.size())
        if functions:
            self._kept = array.array("q", (i for i in self._kept if all(holds(self._config(i)) for holds in functions)))
        if not self._kept:
            raise ValueError("the conditions leave no config")

    def _config(self, place: int) -> Dict[str, Any]:
        return {name: values[code] for (name, values), code in zip(self._values.items(), self._set.values_at(place))}

    def __len__(self) -> int:
        return len(self._kept)

    @overload
    def __getitem__(self, index: int) -> Dict[str, Any]: ...
    @overload
    def __getitem__(self, index: slice) -> List[Dict[str, Any]]: ...

    def __getitem__(self, index: Union[int, slice]) -> Any:
        kept = self._kept[index]
        return self._config(kept) if isinstance(kept, int) else [self._config(i) for i in kept]

    def __iter__(self) -> Iterator[Dict[str, Any]]:
        return map(self._config, self._kept)

    def __repr__(self) -> str:
        return f"<SearchSpace of {len(self)} configs>"


def exhaustive_search(search_space: Sequence[C], stream: Any, grid_fn: Optional[Callable[[C], Sequence[int]]], kernel: Any,
                      args_fn: Callable[[C], Sequence[Any]], hints_fn: Optional[Callable[[C], Mapping[str, Any]]] = None,
                      *, device: str = "cuda", timer: Optional[str] = None,
                      baseline: Optional[C] = None, outputs: Sequence[int] = (), store: Any = None, name: Optional[str] = None,
                      **options: "Unpack[SearchOptions]") -> TuningRecord[C]:
    """Runs every config and returns the fastest; ties go to the baseline, else to the earliest in the space.

    kernel: a cuTile kernel (launched by ct.launch on grid_fn(config)), or a callable `kernel(config)` that returns one: the
    configs are compiled several at a time; a TunedKernel; or a callable `kernel(config)` that returns something to call with
    the arguments; or any callable `kernel(*args)` that launches by itself, on the current stream: PyTorch's is set to the one
    that is timed. hints_fn: for cuTile kernels, as its replace_hints; a hint that differs by target is Hints.by_target's.
    stream: an int, or a framework's stream. What is timed is what a config launches on the stream; on the CPU device, how long
    the call takes.

    baseline: a config of the space, which stays unless another one is faster by baseline_margin. outputs: which of the arguments
    (by position) a config writes: trials then write scratch instead, and a config that leaves elements of it, writes beside it, or
    differs from the baseline (unless verify is False), fails. What is not among them is neither verified nor protected.
    store: where the result is remembered, as for TunedKernel; True is the user's own store. A search of the same kernel, configs,
    baseline, grids, hints, arguments, outputs and device then returns the record and runs nothing, also in another process.
    Default: nowhere. An argument is the same if its value is, and an array if its extents and dtype are. A kernel is the same
    if its code is, and all that the code refers to; TypeError names what cannot be compared between processes. Searches with
    and without verify are different ones.
    name: the kernel's name in records; by default that of the function.
    options: those of searches (docs/options.md). Configs that are not tried by the end of wall_budget_ms are left out, but for the
    baseline, else one that works. One search of a process measures at a time. Failing configs are data; if none works the error
    lists why. Ctrl-C ends it.
    """
    configs, arguments = _checked(search_space, args_fn, outputs)
    place = None if baseline is None else _place_of(baseline, configs)
    from tuneonce import _tuneonce
    memory = None
    if store is not None and store is not False:
        called = name or _name_of(kernel)
        identity = _identity(called, kernel, configs, arguments, grid_fn, hints_fn, place, outputs, options)
        memory = (None if store is True else store, called, identity, _key(arguments[0]))
        known = _tuneonce._find_search(device, memory, {"timer": timer, **options})
        if known is not None:
            return _record_of(known, configs, _labels(configs), CompiledAhead())
    ahead = CompiledAhead()
    try:
        launchers = [_launcher(config, grid_fn, kernel, _Arguments(args, outputs), hints_fn, stream, device, ahead)
                     for config, args in zip(configs, arguments)]
        found = _tuneonce._search(
            _labels(configs), lambda index, on, scratch: launchers[index](on, scratch),
            [[args[position] for position in outputs] for args in arguments], stream, device, place,
            {"timer": timer, **options}, memory)
    finally:
        ahead.end()
    result = _record_of(found, configs, _labels(configs), ahead)
    if not options.get("quiet"):
        print(f"tuneonce: best of {len(configs)}: {result.best}", file=sys.stderr)
    return result


def _record_of(text: str, configs: List[C], labels: List[str], ahead: CompiledAhead) -> TuningRecord[C]:
    """Returns the record of a search, whose configs are the caller's. In its JSON a config that is a dict has its axes."""
    of_label = dict(zip(labels, configs))
    fields = json.loads(text)["records"][0]
    ahead.add_to(fields["cost"])
    record: TuningRecord[C] = TuningRecord(fields, lambda config: of_label[config[0]["value"]])

    def axes(config: Any) -> Any:
        of_config = of_label[config[0]["value"]]
        return [{"axis": str(name), "kind": "structural",
                 "value": value if isinstance(value, (bool, int, float, str)) else str(value)}
                for name, value in of_config.items()] if isinstance(of_config, dict) else config

    for each in (fields["best"], fields["baseline"], *fields["candidates"], *fields["fatal"]):
        for name in ("config", "same_as"):
            if each is not None and each.get(name) is not None:
                each[name] = axes(each[name])
    return record


def _checked(search_space: Sequence[C], args_fn: Callable[[C], Sequence[Any]],
             outputs: Sequence[int]) -> Tuple[List[C], List[Tuple[Any, ...]]]:
    """The configs, and the arguments of each."""
    if isinstance(search_space, collections.abc.Iterator) or not isinstance(search_space, collections.abc.Sequence):
        raise TypeError("the search space must be a sequence, since it is gone through more than once: give "
                        "list(search_space)")
    configs = list(search_space)
    if not configs:
        raise ValueError("the search space is empty")
    if not isinstance(outputs, collections.abc.Sequence) or not all(
            isinstance(each, numbers.Integral) and not isinstance(each, bool) for each in outputs):
        raise TypeError(f"outputs is a list of positions of arguments, not {outputs!r}")
    arguments = [tuple(args_fn(config)) for config in configs]
    for args in arguments:
        if any(not 0 <= position < len(args) for position in outputs):
            raise ValueError(f"outputs are positions of arguments, and there are {len(args)}: {list(outputs)}")
    return configs, arguments


def _place_of(baseline: C, configs: Sequence[C]) -> int:
    """The position of the config that is the baseline: of the one whose types are the same, too, else of one that is equal."""
    from tuneonce.live.source import source_of

    def equals(config: C) -> Optional[bool]:
        try:
            return config is baseline or bool(config == baseline)
        except Exception:  # Arrays compare elements.
            return None
    described = source_of(baseline, otherwise=id)
    equal = {i: found for i, found in enumerate(map(equals, configs)) if found is not False}
    places = [i for i in equal if configs[i] is baseline or source_of(configs[i], otherwise=id) == described] or [
        i for i, found in equal.items() if found]
    if not places:
        raise ValueError(f"the baseline {_line_of(baseline)} is not a config of the search space")
    return places[0]


def _name_of(kernel: Any) -> str:
    function = getattr(kernel, "_pyfunc", kernel)
    return str(getattr(function, "__name__", type(kernel).__name__))


def _identity(name: str, kernel: Any, configs: Sequence[C], arguments: Sequence[Any],
              grid_fn: Optional[Callable[[C], Any]], hints_fn: Optional[Callable[[C], Any]], place: Optional[int],
              outputs: Sequence[int], options: Mapping[str, Any]) -> str:
    """What a remembered search depends on besides the device."""
    from tuneonce.live.fingerprint import fingerprint
    from tuneonce.live.source import NotDescribable, source_of
    grids = [None if grid_fn is None else grid_fn(config) for config in configs]
    hints = [None if hints_fn is None else hints_fn(config) for config in configs]
    try:
        return fingerprint(source_of({"kernel": kernel, "configs": configs, "grids": grids, "hints": hints}),
                           source_of({"arguments": arguments}, is_data=True), place, [operator.index(each) for each in outputs],
                           options.get("verify", True), _labels(configs))
    except NotDescribable as error:
        raise TypeError(f"the search of '{name}' cannot be remembered: {error}; leave out store, or give the type a __reduce__ "
                        "that returns what counts") from None


def _key(arguments: Sequence[Any]) -> str:
    """The arguments of the first config, for people: extents and dtypes, and numbers as they are."""
    def text_of(argument: Any) -> str:
        shape, dtype = getattr(argument, "shape", None), getattr(argument, "dtype", None)
        if shape is not None and hasattr(argument, "__len__"):  # Not numpy's numbers.
            return f"{'x'.join(map(str, shape))} {str(dtype).rpartition('.')[2]}"
        return f"[{', '.join(map(text_of, argument))}]" if isinstance(argument, (list, tuple)) else _line_of(repr(argument))
    return ", ".join(f"{position}={text_of(argument)}" for position, argument in enumerate(arguments))


def _labels(configs: Sequence[Any]) -> List[str]:
    """Returns a different text of one line for each config, for messages."""
    labels = [_line_of(config) for config in configs]
    return labels if len(set(labels)) == len(labels) else [f"{i}: {label}" for i, label in enumerate(labels)]


def _line_of(value: Any) -> str:
    """A text of one line without addresses, in which lone surrogates are escapes."""
    line = " ".join(str(value).encode(errors="backslashreplace").decode().splitlines())
    return re.sub(r" at 0x[0-9a-fA-F]+", "", line)


class _Arguments:
    """The arguments of one config, with its outputs replaced by the scratch that a trial writes."""

    def __init__(self, args: Tuple[Any, ...], outputs: Sequence[int]):
        self.given = args
        self._outputs = outputs
        self._moved: Dict[Tuple[int, ...], Tuple[Any, ...]] = {}

    def at(self, scratch: Sequence[int]) -> Tuple[Any, ...]:
        where = tuple(scratch)
        if where not in self._moved:
            moved = list(self.given)
            for position, address in zip(self._outputs, where):
                moved[position] = array_at(self.given[position], address)
            self._moved = {where: tuple(moved)}
        return self._moved[where]


def _launcher(config: Any, grid_fn: Optional[Callable[[Any], Any]], kernel: Any, arguments: _Arguments,
              hints_fn: Optional[Callable[[Any], Mapping[str, Any]]], stream: Any, device: str,
              ahead: CompiledAhead) -> Callable[[int, Sequence[int]], None]:
    """Returns a function that launches this config once on the given stream, with outputs at these addresses."""
    is_made = not hasattr(kernel, "replace_hints") and _takes_config(kernel, grid_fn is not None)
    run = kernel(config) if is_made else kernel
    if hasattr(run, "replace_hints"):  # cuTile's.
        if grid_fn is None:
            raise TypeError("a cuTile kernel needs a grid_fn")
        return ahead.launcher(run, {} if hints_fn is None else hints_fn(config), grid_fn(config), arguments.given, arguments.at)
    if not callable(run):
        what = f"of type {type(run).__name__}, which cannot be called"
        if not is_made:
            raise TypeError(f"the kernel is {what}")
        return _failing(TypeError(f"kernel(config) returned a value {what}: a callable with one parameter, config or cfg, returns "
                                  "what launches; one that launches by itself names it otherwise"))
    if hints_fn is not None:
        raise TypeError("hints_fn is for cuTile kernels: the kernel given has no replace_hints")
    from tuneonce import TunedKernel
    if isinstance(run, TunedKernel):
        return _tuned_launcher(run, arguments, stream)

    def launch(on: int, scratch: Sequence[int]) -> None:
        with _current(on, device):
            run(*arguments.at(scratch))
    return launch


def _failing(error: Exception) -> Callable[[int, Sequence[int]], None]:
    """Returns a function that raises the failure of a config that cannot be launched."""
    def launch(on: int, scratch: Sequence[int]) -> None:
        raise error
    return launch


def _tuned_launcher(kernel: Any, arguments: _Arguments, stream: Any) -> Callable[[int, Sequence[int]], None]:
    """It is tuned before, since one search cannot wait for another; where that fails, so does the config."""
    try:
        kernel.warmup_with(*arguments.given, stream=stream)
    except Exception as error:
        return _failing(error)

    def launch(on: int, scratch: Sequence[int]) -> None:
        kernel(*arguments.at(scratch), stream=on)
    return launch


def _current(stream: int, device: str) -> ContextManager[Any]:
    """Makes `stream` PyTorch's current one, if PyTorch is in use."""
    torch = sys.modules.get("torch")
    if torch is None or not device.startswith("cuda"):
        return contextlib.nullcontext()
    return torch.cuda.stream(torch.cuda.ExternalStream(stream))


def _takes_config(kernel: Any, has_grid: bool) -> bool:
    """True for `kernel(config)`: a callable whose one parameter is named config or cfg; or any name, where a grid is given,
    which only cuTile's kernels need."""
    try:
        names = list(inspect.signature(kernel).parameters)
    except (TypeError, ValueError):
        return False
    return names in (["config"], ["cfg"]) or (has_grid and len(names) == 1)
