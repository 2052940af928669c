"""Helion: kernels in its own words, of which it makes Triton candidates."""

import importlib.metadata
import os
import pathlib
from typing import Any, Dict, Optional

import works
from interface import Choice
from peers.gpu_peer import GpuPeer, imported
from peers.torch_tuners import THEIRS


class Helion(GpuPeer):
    NAME, LANGUAGE = "Helion", "Helion"
    DOCS = "https://helionlang.com/deployment_autotuning.html"
    SETTINGS = "HELION_AUTOTUNE_EFFORT=quick: the default, full, takes it minutes a kernel"
    REMEMBERS = "code and choices, in HELION_CACHE_DIR"
    IS_SLOW = True
    WORKS: Dict[str, Optional[str]] = {**dict.fromkeys(works.WORKS), "attention": "not written for it here"}
    FAULTS: Dict[str, Optional[str]] = dict.fromkeys(works.FAULTS, THEIRS)

    def prepare_on_gpu(self, folder: pathlib.Path) -> str:
        os.environ.update(
            HELION_AUTOTUNE_EFFORT="quick",
            HELION_CACHE_DIR=str(folder / "helion"),
            TORCHINDUCTOR_CACHE_DIR=str(folder / "inductor"),
            TRITON_CACHE_DIR=str(folder / "triton"),
        )
        imported("helion")
        return importlib.metadata.version("helion")

    def tune(self, work: str) -> Choice:
        import torch

        kernels = imported("helion_kernels")
        t = self.make_tensors(work)
        launch = {
            "vector_add": lambda: kernels.vector_add(t["x"], t["y"]),
            "rms_norm": lambda: kernels.rms_norm(t["x"], t["w"], 1e-5),
            "matmul": lambda: kernels.matmul(t["a"], t["b"]),
        }[work]
        result: Any = launch()
        torch.cuda.synchronize()
        if not works.is_right(work, t, result):
            raise RuntimeError("it computed something else")
        return Choice("its own", launch)


PEERS = [Helion]
