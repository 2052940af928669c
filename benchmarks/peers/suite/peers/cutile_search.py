"""cuTile's exhaustive_search, and ours over the same kernels and configs."""

import os
import pathlib
import sys
from typing import Any, Dict, List, Optional

import works
from interface import Choice
from peers.gpu_peer import GpuPeer, imported


class CutileSearch(GpuPeer):
    NAME, LANGUAGE = "cuTile exhaustive_search", "cuTile"
    DOCS = "https://docs.nvidia.com/cuda/cutile-python/"
    SETTINGS = "as it comes"
    REMEMBERS = "compiled code, in CUDA_TILE_CACHE_DIR; no choices"
    WORKS: Dict[str, Optional[str]] = dict.fromkeys(works.WORKS)
    FAULTS: Dict[str, Optional[str]] = {
        "crash": "its loads and stores are checked against the tensor: none written for it here",
        "hang": None,
        "wrong": None,
    }

    def prepare_on_gpu(self, folder: pathlib.Path) -> str:
        os.environ["CUDA_TILE_CACHE_DIR"] = str(folder / "cutile")
        self.ct = imported("cuda.tile")
        imported("tuneonce.export")  # The bundles' kernels stand beside declarations of ours.
        return str(self.ct.__version__)

    def search(self, *arguments: Any) -> Any:
        return self.ct.tune.exhaustive_search(*arguments, quiet=True)

    def choose(self, work: str, kernel: Any, configs: List[works.Config], t: Dict[str, Any]) -> Choice:
        import torch

        stream = torch.cuda.current_stream()

        def hints(config: works.Config) -> Dict[str, Any]:
            return {"occupancy": config["occupancy"]} if "occupancy" in config else {}

        def arguments(config: works.Config) -> Any:
            macros = [v for axis, v in config.items() if axis != "occupancy"]
            d, scalars = works.WORKS[work].dims, list(works.WORKS[work].scalars.values())
            return (*t.values(), *scalars, *macros, *([d["D"]] if work == "attention" else []))

        def grid(config: works.Config) -> Any:
            return works.grid_of(work, config)

        result = self.search(configs, stream, grid, kernel, arguments, hints)

        def launcher(config: works.Config) -> Any:
            hinted, where, what = kernel.replace_hints(**hints(config)), grid(config), arguments(config)
            return lambda: self.ct.launch(torch.cuda.current_stream(), where, hinted, what)

        best = result.best.config
        return Choice(
            works.name_of(best),
            launcher(best),
            len(result.successes) + len(result.failures),
            len(result.failures),
            {works.name_of(c): launcher(c) for c in configs},
            True,
        )

    def tune(self, work: str) -> Choice:
        sys.path.insert(0, str(works.BUNDLES / work))
        kernel = getattr(imported(work), work)
        return self.choose(work, kernel, works.cutile_configs(work), self.make_tensors(work))

    def faulty(self, kind: str) -> Choice:
        kernel = imported("cutile_faulty").vector_add
        configs = works.crossed(works.faulty_axes(kind))
        return self.choose("vector_add", kernel, configs, self.make_tensors("vector_add"))


class TuneonceOnCutile(CutileSearch):
    NAME = "tuneonce"
    DOCS = "docs/python.md, Coming from cuTile"
    SETTINGS = "exhaustive_search, as it comes: compiles in parallel"
    REMEMBERS = ""  # exhaustive_search does not; an exported bundle would.
    FAULTS = dict.fromkeys(works.FAULTS, "in this process, as a callable: see tuneonce on CUDA C++")

    def search(self, *arguments: Any) -> Any:
        return imported("tuneonce").exhaustive_search(*arguments, quiet=True)


PEERS = [TuneonceOnCutile, CutileSearch]
