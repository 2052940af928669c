"""Triton's autotune, and ours over the same kernels and configs."""

import os
import pathlib
from typing import Any, Callable, Dict, List, Optional

import works
from interface import CannotRun, Choice
from peers.gpu_peer import GpuPeer, imported


class TritonAutotune(GpuPeer):
    NAME, LANGUAGE = "Triton autotune", "Triton"
    DOCS = "https://triton-lang.org/main/python-api/generated/triton.autotune.html"
    SETTINGS = "cache_results=True; the benchmark's times by default (25 ms to warm up, 100 ms a config)"
    REMEMBERS = "compiled code, and with cache_results choices, in TRITON_CACHE_DIR"
    WORKS: Dict[str, Optional[str]] = dict.fromkeys(works.WORKS)
    FAULTS: Dict[str, Optional[str]] = dict.fromkeys(works.FAULTS)

    def prepare_on_gpu(self, folder: pathlib.Path) -> str:
        os.environ["TRITON_CACHE_DIR"] = str(folder / "triton")
        return str(imported("triton").__version__)

    def choose(self, work: str, configs: List[Dict[str, int]], t: Dict[str, Any]) -> Choice:
        import triton
        import triton_kernels as ours

        made = [
            triton.Config(
                {k: v for k, v in c.items() if not k.startswith("num_")},
                num_warps=c["num_warps"],
                num_stages=c["num_stages"],
            )
            for c in configs
        ]
        key = [name for name in ("n", "N", "M", "S") if name in ours.kernel_of(work).arg_names][:1]
        tuned = triton.autotune(configs=made, key=key, cache_results=True)(ours.kernel_of(work))
        plain = ours.arguments(work, t)

        def launch() -> None:
            tuned[lambda meta: ours.grid_of(work, meta)](*plain)

        launch()
        best = tuned.best_config
        chosen = {**best.kwargs, "num_warps": best.num_warps, "num_stages": best.num_stages}
        name = works.name_of({k: chosen[k] for k in configs[0]})
        timings = getattr(tuned, "configs_timings", None) or {}
        return Choice(
            name,
            launch,
            len(timings) or None,
            sum(1 for v in timings.values() if min(_list(v)) == float("inf")),
            searched=getattr(tuned, "bench_time", None) is not None,
        )

    def tune(self, work: str) -> Choice:
        import triton_kernels as ours

        t = self.make_tensors(work)
        choice = self.choose(work, ours.configs(work), t)
        choice.space = ours.space(work, t)
        return choice

    def faulty(self, kind: str) -> Choice:
        configs = [{**c, "num_warps": 4, "num_stages": 3} for c in works.crossed(works.faulty_axes(kind))]
        return self.choose("vector_add", configs, self.make_tensors("vector_add"))


def _list(value: Any) -> List[float]:
    return list(value) if isinstance(value, (list, tuple)) else [value]


def searched_by_ours(
    configs: List[Dict[str, int]], launcher: Callable[[Dict[str, int]], Callable[[], None]], written: Any
) -> Choice:
    """tuneonce.exhaustive_search over launches; `written`: the tensor that they write, so that it is checked."""
    import torch

    tuneonce = imported("tuneonce")
    result = tuneonce.exhaustive_search(
        configs,
        torch.cuda.current_stream(),
        None,
        launcher,
        lambda config: (written,),
        quiet=True,
        baseline=configs[0],
        outputs=[0],
    )
    best = result.best.config
    chosen = launcher(best)
    return Choice(
        works.name_of(best),
        lambda: chosen(written),
        len(result.successes) + len(result.failures),
        len(result.failures),
        searched=True,
    )


class TuneonceOnTriton(TritonAutotune):
    NAME = "tuneonce"
    DOCS = "docs/python.md, Coming from cuTile"
    SETTINGS = "exhaustive_search over Triton's launches; Triton compiles them one after the other"
    REMEMBERS = ""  # exhaustive_search does not; an exported bundle would.
    FAULTS = dict.fromkeys(works.FAULTS, "in this process, as a callable: see tuneonce on CUDA C++")

    def choose(self, work: str, configs: List[Dict[str, int]], t: Dict[str, Any]) -> Choice:
        import triton_kernels as ours

        out = works.output(work, t)

        def launcher(config: Dict[str, int]) -> Callable[[Any], None]:
            kernel, grid, plain = ours.kernel_of(work), ours.grid_of(work, config), ours.arguments(work, t)
            return lambda into: kernel[grid](*[into if each is out else each for each in plain], **config)

        return searched_by_ours(configs, launcher, out)

    def faulty(self, kind: str) -> Choice:
        raise CannotRun(self.FAULTS[kind])


PEERS = [TuneonceOnTriton, TritonAutotune]
