"""PyTorch's own tuners: Inductor's max-autotune and TunableOp. Candidates are theirs: only the work is the same."""

import os
import pathlib
from typing import Any, Callable, Dict, Optional

import works
from interface import Choice
from peers.gpu_peer import GpuPeer, imported

THEIRS = "its candidates are its own: none can be added"


class Inductor(GpuPeer):
    NAME, LANGUAGE = "torch.compile", "PyTorch"
    DOCS = "https://docs.pytorch.org/docs/stable/generated/torch.compile.html"
    SETTINGS = 'mode="max-autotune-no-cudagraphs" (the one timer has a graph of its own); attention by flex_attention'
    REMEMBERS = "code and choices, in TORCHINDUCTOR_CACHE_DIR"
    IS_SLOW = True
    WORKS: Dict[str, Optional[str]] = dict.fromkeys(works.WORKS)
    FAULTS: Dict[str, Optional[str]] = dict.fromkeys(works.FAULTS, THEIRS)

    def prepare_on_gpu(self, folder: pathlib.Path) -> str:
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(folder / "inductor")
        os.environ["TRITON_CACHE_DIR"] = str(folder / "triton")
        return str(imported("torch").__version__)

    def function(self, work: str, t: Dict[str, Any]) -> Callable[[], Any]:
        import torch
        import torch.nn.functional as F

        compiled = lambda f: torch.compile(
            f, mode="max-autotune-no-cudagraphs", fullgraph=True, dynamic=False
        )  # noqa: E731
        if work == "vector_add":
            add = compiled(lambda x, y: x + y)
            return lambda: add(t["x"], t["y"])
        if work == "rms_norm":
            norm = compiled(lambda x, w: F.rms_norm(x, (x.shape[1],), w, 1e-5))
            return lambda: norm(t["x"], t["w"])
        if work == "matmul":
            product = compiled(torch.mm)
            return lambda: product(t["a"], t["b"])
        from torch.nn.attention.flex_attention import create_block_mask, flex_attention

        s = t["q"].shape[2]
        mask = create_block_mask(lambda b, h, q, k: q >= k, None, None, s, s, device="cuda")
        attention = compiled(lambda q, k, v: flex_attention(q, k, v, block_mask=mask))
        return lambda: attention(t["q"], t["k"], t["v"])

    def tune(self, work: str) -> Choice:
        import torch

        t = self.make_tensors(work)
        launch = self.function(work, t)
        with torch.no_grad():
            result = launch()
        torch.cuda.synchronize()
        if not works.is_right(work, t, result):
            raise RuntimeError("it computed something else")
        return Choice("its own", launch)


class TunableOp(GpuPeer):
    NAME, LANGUAGE = "TunableOp", "PyTorch"
    DOCS = "https://docs.pytorch.org/docs/stable/cuda.tunable.html"
    SETTINGS = "torch.cuda.tunable.enable(), tuning_enable(); a file for its results"
    REMEMBERS = "choices, in a CSV file"
    WORKS: Dict[str, Optional[str]] = {**dict.fromkeys(works.WORKS, "it tunes matmuls alone"), "matmul": None}
    FAULTS: Dict[str, Optional[str]] = dict.fromkeys(works.FAULTS, THEIRS)

    def prepare_on_gpu(self, folder: pathlib.Path) -> str:
        torch = imported("torch")
        torch.cuda.tunable.enable()
        torch.cuda.tunable.tuning_enable()
        torch.cuda.tunable.set_filename(str(folder / "tunableop.csv"))
        if list(folder.glob("tunableop*.csv")):
            torch.cuda.tunable.read_file()
        return str(torch.__version__)

    def tune(self, work: str) -> Choice:
        import torch

        t = self.make_tensors(work)
        remembered = len(torch.cuda.tunable.get_results())

        def launch() -> None:
            torch.mm(t["a"], t["b"], out=t["c"])

        launch()
        torch.cuda.synchronize()
        results = torch.cuda.tunable.get_results()
        # Torch 2.11 writes each result when it has it, and has no function for it.
        getattr(torch.cuda.tunable, "write_file", lambda: None)()
        return Choice(
            " ".join(map(str, results[-1])) if results else "nothing",
            launch,
            len(results) or None,
            searched=len(results) > remembered,
        )


PEERS = [Inductor, TunableOp]
