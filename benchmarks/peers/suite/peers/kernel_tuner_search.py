"""Kernel Tuner on the CUDA C++ that ours tunes: brute force by CuPy. Kernel Launcher's wisdom is made by it, too."""

import pathlib
import types
from typing import Any, Dict, List, Optional

import works
from interface import Choice
from peers.gpu_peer import GpuPeer, imported


class KernelTuner(GpuPeer):
    NAME, LANGUAGE = "Kernel Tuner", "CUDA C++"
    DOCS = "https://kerneltuner.github.io/kernel_tuner/stable/user-api.html"
    SETTINGS = 'lang "CuPy", strategy brute_force, 7 iterations, compared with answer=, cache= a file'
    REMEMBERS = "measured configs, in the cache file"
    WORKS: Dict[str, Optional[str]] = dict.fromkeys(works.WORKS)
    FAULTS: Dict[str, Optional[str]] = dict.fromkeys(works.FAULTS)

    def prepare_on_gpu(self, folder: pathlib.Path) -> str:
        cupy, cupyx = imported("cupy"), imported("cupyx")
        if not hasattr(cupy, "_cupyx"):  # A name of CuPy 13's that its back end asks; 14 has it no more.
            cupy._cupyx = types.SimpleNamespace(get_runtime_info=lambda: cupyx.get_runtime_info(full=False))
        self.kernel_tuner = imported("kernel_tuner")
        return str(getattr(self.kernel_tuner, "__version__", ""))

    def choose(self, work: str, source: str, axes: Dict[str, List[int]], t: Dict[str, Any], name: str) -> Choice:
        arguments = works.cuda_arguments(work, t)
        plain = [a.cpu().numpy() if hasattr(a, "data_ptr") else a for a in arguments]
        expected = works.expected(work, t).cpu().numpy()
        answer = [expected if a is works.output(work, t) else None for a in arguments]
        block = {f"block_size_{axis}": [extent] for axis, extent in zip("xyz", works.cuda_block(work))}
        shared = works.cuda_shared(work)
        results, _ = self.kernel_tuner.tune_kernel(
            work,
            source,
            lambda p: works.grid_of(work, p),
            plain,
            {**axes, **block},
            grid_div_x=[],
            grid_div_y=[],
            grid_div_z=[],
            answer=answer,
            atol=2e-2,
            lang="CuPy",
            quiet=True,
            compiler_options=["-std=c++17"],
            smem_args={"size": shared} if shared else None,
            cache=str(self.folder / f"kernel_tuner_{name}.json"),
        )
        good = [r for r in results if isinstance(r.get("time"), (int, float))]
        best = min(good, key=lambda r: r["time"])
        config = {axis: best[axis] for axis in axes}
        return Choice(
            works.name_of(config),
            works.cuda_launcher(work, source, config, arguments),
            len(results),
            len(results) - len(good),
            searched=True,
        )

    def tune(self, work: str) -> Choice:
        t = self.make_tensors(work)
        choice = self.choose(work, works.cuda_source(work), works.CUDA_AXES[work], t, work)
        choice.space = works.cuda_space(work, t)
        return choice

    def faulty(self, kind: str) -> Choice:
        source = (pathlib.Path(__file__).resolve().parents[1] / "kernels" / "faulty.cu").read_text()
        return self.choose("vector_add", source, works.faulty_axes(kind), self.make_tensors("vector_add"), kind)


PEERS = [KernelTuner]
