"""The launch of a decorated kernel's last call, repeated by cuLaunchKernelEx in C++ (raw_launch.cc), and what a call from Python costs
beside it. Needs g++ and torch."""
import ctypes
import pathlib
import struct
import subprocess
import tempfile
import time
from typing import Any, Callable, List, Sequence, Tuple

import torch


def library() -> ctypes.CDLL:
    """Builds raw_launch.cc."""
    source = pathlib.Path(__file__).resolve().parent / "raw_launch.cc"
    with tempfile.TemporaryDirectory() as folder:
        built = pathlib.Path(folder) / "libraw_launch.so"
        subprocess.run(["g++", "-std=c++17", "-O2", "-shared", "-fPIC", source, "-o", built, "-ldl"], check=True)
        loaded = ctypes.CDLL(str(built))
    loaded.RawLoad.restype = ctypes.c_void_p
    loaded.RawLoad.argtypes = [ctypes.c_char_p, ctypes.c_char_p]
    loaded.RawLaunch.restype = ctypes.c_double
    loaded.RawLaunch.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint, ctypes.c_uint, ctypes.c_void_p, ctypes.c_void_p,
                                 ctypes.c_int]
    return loaded


def word(value: Any, form: str, values: Sequence[Any]) -> bytes:
    """A parameter of the compiled kernel as 8 bytes."""
    if form == "pointer":
        return struct.pack("<Q", values[value].data_ptr())
    if form == "float32":
        return struct.pack("<f4x", values[value])
    if form == "float64":
        return struct.pack("<d", values[value])
    number = {"integer": lambda: values[value], "word": lambda: value, "scratch": lambda: 0}[form]()
    return struct.pack("<Q", int(number) & (2**64 - 1))


class RawLaunch:
    """`kernel`: a decorated kernel whose last call had the arguments `values`, and `grid` in programs if it has no grid of its own."""

    def __init__(self, kernel: Any, values: List[Any], grid: Tuple[int, ...] = ()) -> None:
        description, config = kernel._last_launch()
        _, (_, image, symbol, threads, shared, num_ctas, programmatic, scratch, _, passed, own_grid) = description.code_for(
            description.config_indices.index(config), values)
        assert num_ctas == 1 and not programmatic and not scratch, "such a launch has attributes or memory of its own"
        self._library = library()
        self._function = self._library.RawLoad(image, symbol.encode())
        assert self._function, f"'{symbol}' cannot be loaded"
        self._words = [ctypes.create_string_buffer(word(value, form, values), 8) for value, form in passed]
        self._parameters = (ctypes.c_void_p * len(passed))(*[ctypes.addressof(w) for w in self._words])
        self._grid = (ctypes.c_uint * 3)(*(*(own_grid or grid), 1, 1)[:3])
        self._threads, self._shared = threads, shared
        self._values = values  # Keeps the memory.

    def launch(self, count: int) -> float:
        """Microseconds of one launch."""
        elapsed = self._library.RawLaunch(self._function, self._grid, self._threads, self._shared,
                                          torch.cuda.current_stream().cuda_stream, self._parameters, count)
        assert elapsed >= 0, f"the driver's error {-elapsed:.0f}"
        return elapsed


def microseconds(launches: Sequence[Callable[[int], float]], batches: int = 200, size: int = 100) -> List[float]:
    """Of one launch each, the median of batches that the device's queue holds. They take turns batch by batch, so that the machine's
    state is the same for all. A launch returns that of a batch of its argument's size."""
    times: List[List[float]] = [[] for _ in launches]
    for batch in range(batches + 1):
        for launch, of_launch in zip(launches, times):
            elapsed = launch(size)
            torch.cuda.synchronize()
            if batch > 0:  # The first one warms up.
                of_launch.append(elapsed)
    return [sorted(of_launch)[batches // 2] for of_launch in times]


def called(call: Callable[[], Any]) -> Callable[[int], float]:
    """A call from Python as `microseconds` wants it."""
    def launch(count: int) -> float:
        begin = time.perf_counter()
        for _ in range(count):
            call()
        return (time.perf_counter() - begin) / count * 1e6
    return launch


def print_costs(raw: RawLaunch, calls: Sequence[Tuple[str, Callable[[], Any]]]) -> None:
    """What each call costs, and adds to a launch of the same kernel in C++."""
    of_raw, *of_calls = microseconds([raw.launch, *(called(call) for _, call in calls)])
    print(f"{of_raw:8.2f} us  raw cuLaunchKernelEx from C++")
    for (name, _), of_call in zip(calls, of_calls):
        print(f"{of_call:8.2f} us  {of_call - of_raw:+6.2f} us  {name}")
