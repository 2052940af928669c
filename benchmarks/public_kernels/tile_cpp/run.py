"""Tunes the public tile C++ kernels that prepare.py compiled ahead, checks them against torch, and compares times with
nvcc's cubins of the same config.

run.py --work FOLDER --json FILE [--seeds 2] [--stop-after 200] [--only NAME ...]

It needs tuneonce's Python package, torch and a GPU of compute capability 9.0, no compiler. Kernels run in one process,
which is started again after a kernel that ends it. Kernels that are in FILE are skipped, others are added to it.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
from typing import Any, Dict, List, Optional

from tile_kernel import TileKernel, read_list

LINE = 300  # Characters of an error that are kept.


class Launches:
    """nvcc's cubin of one instance, launched by the CUDA driver on PyTorch's current stream."""

    def __init__(self, cubin: pathlib.Path, symbol: str):
        import ctypes
        self._ctypes, self._driver = ctypes, ctypes.CDLL("libcuda.so.1")
        self._module, self._function = ctypes.c_void_p(), ctypes.c_void_p()
        self._image = cubin.read_bytes()
        self._check("cuModuleLoadData", self._driver.cuModuleLoadData(ctypes.byref(self._module), self._image))
        self._check("cuModuleGetFunction",
                    self._driver.cuModuleGetFunction(ctypes.byref(self._function), self._module, symbol.encode()))

    def _check(self, function: str, code: int) -> None:
        if code != 0:
            raise RuntimeError(f"{function} returned {code}")

    def launcher(self, grid: Any, words: List[Any]) -> Any:
        """Launches with these arguments, ctypes objects of the parameters' types."""
        import torch
        pointers = (self._ctypes.c_void_p *
                    len(words))(*[self._ctypes.cast(self._ctypes.byref(word), self._ctypes.c_void_p) for word in words])
        x, y, z = grid

        def launch() -> None:
            stream = self._ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)  # A search's own, in a race.
            self._check("cuLaunchKernel",
                        self._driver.cuLaunchKernel(self._function, x, y, z, 1, 1, 1, 0, stream, pointers, None))

        launch.words = words  # type: ignore[attr-defined]  # The pointers point at them.
        return launch


def arguments_of(kernel: TileKernel, shape: Dict[str, int], seed: int, device: str) -> Dict[str, Any]:
    """Tensors and scalars by parameter name, and "shape"."""
    import torch
    import cases
    torch.manual_seed(seed)
    made: Dict[str, Any] = {"shape": shape}
    for parameter in kernel.parameters:
        if parameter.manifest["kind"] == "scalar":
            made[parameter.name] = parameter.value
        elif parameter.is_tensor:
            extents = [shape[dim] if isinstance(dim, str) else dim for dim in parameter.manifest["dims"]]
            dtype = getattr(torch, parameter.manifest["dtype"])
            is_random = dtype.is_floating_point and parameter.manifest["access"] != "out"
            made[parameter.name] = (torch.randn(extents, device=device).to(dtype)
                                    if is_random else torch.zeros(extents, device=device, dtype=dtype))
    if kernel.name in cases.INPUTS:
        cases.INPUTS[kernel.name](made)
    return made


def words_of(kernel: TileKernel, shape: Dict[str, int], config: Dict[str, int], arguments: Dict[str, Any],
             num_sms: int) -> List[Any]:
    """What the driver gets for each parameter."""
    import ctypes
    from tile_kernel import value_of
    types = {
        "int32": ctypes.c_int32,
        "int64": ctypes.c_int64,
        "uint64": ctypes.c_uint64,
        "float32": ctypes.c_float,
        "bool": ctypes.c_bool
    }
    words: List[Any] = []
    for parameter in kernel.parameters:
        kind, name = parameter.manifest["kind"], parameter.name
        if kind == "tensor":
            words.append(ctypes.c_void_p(arguments[name].data_ptr()))
            continue
        if kind == "scalar":
            value = arguments[name]
        elif kind == "stride":
            value = arguments[parameter.manifest["tensor"]].stride(parameter.manifest["dimension"])
        else:
            term = parameter.manifest["dim"] if kind == "dim" else parameter.manifest["value"]
            value = value_of(term, {**shape, **config}, num_sms)
        words.append(types[parameter.manifest["dtype"]](value))
    return words


class Running:
    """One process's run. `device` is "cuda"."""

    def __init__(self, arguments: argparse.Namespace):
        import torch
        self.arguments = arguments
        self.device = "cuda"
        self.num_sms: int = torch.cuda.get_device_properties(0).multi_processor_count
        sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent))  # race.py, measuring.py.

    def kernel(self, kernel: TileKernel) -> Dict[str, Any]:
        result: Dict[str, Any] = {"name": kernel.name, "shapes": []}
        start = time.monotonic()
        for index, shape in enumerate(kernel.shapes):
            try:
                result["shapes"].append(self.shape(kernel, shape, index))
            except Exception as error:  # The other shape may do.
                result["shapes"].append({"shape": shape, "error": one_line(error)})
                self.check_context()
        result["seconds"] = round(time.monotonic() - start, 2)
        return result

    def check_context(self) -> None:
        """An error that stays with the context ends the process; its parent goes on with the next kernel."""
        import torch
        torch.cuda.synchronize()

    def shape(self, kernel: TileKernel, shape: Dict[str, int], index: int) -> Dict[str, Any]:
        import tuneonce
        result: Dict[str, Any] = {"shape": shape, "seeds": []}
        ours: Any = None
        arguments: Dict[str, Any] = {}
        for seed in range(self.arguments.seeds):
            ours = tuneonce.load(str(self.arguments.work / "ahead" / kernel.name),
                                 device=self.device,
                                 store="memory",
                                 on_tune_error="raise",
                                 race_budget_ms=self.arguments.race_ms)
            arguments = arguments_of(kernel, shape, seed, self.device)
            result["seeds"].append(self.tuned(kernel, ours, arguments))
        try:
            result.update(self.compared(kernel, ours, shape, index, arguments))
        except Exception as error:  # What was tuned and checked stays.
            result["theirs_error"] = one_line(error)
            self.check_context()
        return result

    def tuned(self, kernel: TileKernel, ours: Any, arguments: Dict[str, Any]) -> Dict[str, Any]:
        """Tunes on the data and compares what the winner writes with torch's."""
        import torch
        import cases
        with torch.no_grad():
            expected = getattr(cases, kernel.name)(arguments)
        before = {
            tensor.name: arguments[tensor.name].clone()
            for tensor in kernel.tensors
            if tensor.manifest["access"] == "inout"
        }
        passed = [arguments[parameter.name] for parameter in kernel.parameters if parameter.is_passed]
        start = time.monotonic()
        ours.warmup_with(*passed)
        seconds = time.monotonic() - start
        for name, value in before.items():
            arguments[name].copy_(value)
        ours(*passed)
        torch.cuda.synchronize()
        plan = ours.explain(*passed)
        found = {"tune_s": round(seconds, 3), "config": plan.config, **self.errors(kernel, arguments, expected)}
        for name, value in before.items():
            arguments[name].copy_(value)
        return found

    def errors(self, kernel: TileKernel, arguments: Dict[str, Any], expected: Dict[str, Any]) -> Dict[str, Any]:
        from measuring import TOLERANCES, difference
        import torch
        error, incorrect = 0.0, []
        for tensor in kernel.tensors:
            name, dtype = tensor.name, tensor.manifest["dtype"]
            if tensor.manifest["access"] == "in":
                continue
            if not arguments[name].is_floating_point():
                apart = 0.0 if torch.equal(arguments[name], expected[name]) else 1.0
            else:
                apart = difference(arguments[name], expected[name])
            # float32 results of float16 products are as exact as these.
            tolerance = 5e-3 if dtype == "float32" and "tolerance" in kernel.entry else TOLERANCES.get(dtype, 0.0)
            if not apart <= tolerance:
                incorrect.append(name)
            error = max(error, apart)
        return {"error": error, "incorrect": incorrect}

    def compared(self, kernel: TileKernel, ours: Any, shape: Dict[str, int], index: int,
                 arguments: Dict[str, Any]) -> Dict[str, Any]:
        """Races the winner, the package's config in our launch, and nvcc's cubin of that, on the same tensors."""
        import tuneonce
        from race import race
        folder = self.arguments.work / "theirs" / kernel.name
        built = json.loads((folder / "theirs.json").read_text())
        number = index if kernel.is_specialized else 0
        cubin = folder / f"{number}.cubin"
        if not cubin.is_file():
            return {"theirs_error": built[number].get("nvcc_error") or "nvcc's cubin is missing"}
        passed = [arguments[parameter.name] for parameter in kernel.parameters if parameter.is_passed]
        config = kernel.configs()[0]
        same = tuneonce.load(str(self.arguments.work / "ahead" / kernel.name),
                             device=self.device,
                             store="memory",
                             on_tune_error="raise")
        same.pin({dim: shape[dim] for dim in kernel.dims}, kernel.baseline())
        theirs = Launches(cubin,
                          built[number]["kernel"]).launcher(kernel.grid(shape, config, self.num_sms),
                                                            words_of(kernel, shape, config, arguments, self.num_sms))
        raced = race({
            "winner": lambda: ours(*passed),
            "same": lambda: same(*passed),
            "theirs": theirs
        }, self.device, self.arguments.samples, self.arguments.rounds)
        found: Dict[str, Any] = {f"{name}_us": sorted(times)[len(times) // 2] for name, times in raced.times_us.items()}
        for name in ("winner", "same"):
            ratio = raced.ratio(name, "theirs")
            found[f"{name}_over_theirs"] = [ratio.mean, ratio.low, ratio.high]
        return {
            **found, "their_config": config,
            "is_identical": built[number].get("is_identical"),
            "timer": raced.timer
        }


def one_line(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".split("\n")[0][:LINE]


def work_through(arguments: argparse.Namespace) -> None:
    """The child: one line of JSON per kernel to FILE, and before it its name to --progress."""
    running = Running(arguments)
    for kernel in read_list():
        if kernel.name not in arguments.only:
            continue
        arguments.progress.write_text(kernel.name)
        try:
            result = running.kernel(kernel)
        except Exception as error:
            result = {"name": kernel.name, "error": one_line(error)}
            append(arguments.json, result)
            print(line_of(result), flush=True)
            os._exit(3)  # The context is lost; unwinding may hang.
        append(arguments.json, result)
        print(line_of(result), flush=True)


def append(file: pathlib.Path, result: Dict[str, Any]) -> None:
    with open(file, "a") as out:
        out.write(json.dumps(result) + "\n")


def line_of(result: Dict[str, Any]) -> str:
    if "error" in result:
        return f"{result['name']}: {result['error']}"
    parts = []
    for shape in result["shapes"]:
        if "error" in shape:
            parts.append(shape["error"])
            continue
        incorrect = sorted({name for seed in shape["seeds"] for name in seed["incorrect"]})
        text = f"INCORRECT {incorrect}" if incorrect else f"error {max(seed['error'] for seed in shape['seeds']):.1e}"
        if "theirs_us" in shape:
            mean, low, high = shape["same_over_theirs"]
            text += (f", theirs {shape['theirs_us']:.2f} us, same config {mean:.3f} ({low:.3f} to {high:.3f}), winner "
                     f"{shape['winner_over_theirs'][0]:.3f}")
        parts.append(text + (f", {shape['theirs_error']}" if "theirs_error" in shape else ""))
    return f"{result['name']} ({result['seconds']} s): " + "; ".join(parts)


def done_in(file: pathlib.Path) -> List[str]:
    return [json.loads(line)["name"] for line in file.read_text().splitlines()] if file.is_file() else []


def supervise(arguments: argparse.Namespace) -> None:
    """Starts the child again until no kernel or no time is left. A kernel that ends the child, or takes longer than
    --limit-s, is recorded as failed."""
    wanted = [kernel.name for kernel in read_list() if not arguments.only or kernel.name in arguments.only]
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        progress = pathlib.Path(folder) / "progress"
        while time.monotonic() - begin < arguments.stop_after:
            left = [name for name in wanted if name not in done_in(arguments.json)]
            if not left:
                break
            progress.write_text("")
            child = subprocess.Popen([
                sys.executable, __file__, "--child", "--work",
                str(arguments.work), "--json",
                str(arguments.json), "--progress",
                str(progress), "--seeds",
                str(arguments.seeds), "--samples",
                str(arguments.samples), "--rounds",
                str(arguments.rounds), "--race-ms",
                str(arguments.race_ms), "--only", *left
            ])
            failure = watch(child, progress, arguments, begin)
            name = progress.read_text()
            if failure is None or name in done_in(arguments.json):
                continue
            if not name:
                print(f"the process ended before its first kernel: {failure}", flush=True)
                sys.exit(1)
            append(arguments.json, {"name": name, "error": failure})
            print(f"{name}: {failure}", flush=True)
    results = [json.loads(line) for line in arguments.json.read_text().splitlines()] if arguments.json.is_file() else []
    print(f"{len(results)} of {len(wanted)} kernels in {time.monotonic() - begin:.0f} s")


def watch(child: Any, progress: pathlib.Path, arguments: argparse.Namespace, begin: float) -> Optional[str]:
    """Why the child ended without doing all, or None. Ends it where a kernel takes too long or the time is over."""
    current, since = "", time.monotonic()
    while child.poll() is None:
        time.sleep(0.1)
        name, now = progress.read_text(), time.monotonic()
        if name != current:
            current, since = name, now
        is_over = now - begin > arguments.stop_after
        if now - since > arguments.limit_s or is_over:
            child.kill()
            child.wait()
            return f"the run ended after {arguments.stop_after:g} s" if is_over else f"exceeded {arguments.limit_s:g} s"
    return None if child.returncode == 0 else f"the process ended with {child.returncode}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    parser.add_argument("--json", type=pathlib.Path, required=True, help="a line of JSON per kernel")
    parser.add_argument("--only", nargs="*", default=[], help="names of kernels")
    parser.add_argument("--seeds", type=int, default=2, help="tunes of each shape, each on other data")
    parser.add_argument("--samples", type=int, default=6, help="of each comparison")
    parser.add_argument("--rounds", type=int, default=10, help="launches of each side in a sample")
    parser.add_argument("--race-ms", type=float, default=300, help="of each tune's race")
    parser.add_argument("--limit-s", type=float, default=30, help="of each kernel")
    parser.add_argument("--stop-after", type=float, default=190, metavar="SECONDS")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--progress", type=pathlib.Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    (work_through if arguments.child else supervise)(arguments)


if __name__ == "__main__":
    main()
