"""What the peers that run on torch's tensors have in common."""

import importlib
import pathlib
from typing import Any, Dict

import works
from interface import CannotRun, Choice, Peer


def imported(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except Exception as error:  # noqa: BLE001
        raise CannotRun(f"{name} cannot be imported: {type(error).__name__}: {str(error).splitlines()[0]}") from error


class GpuPeer(Peer):
    tensors: Dict[str, Any]

    def prepare(self, folder: pathlib.Path) -> str:
        self.folder = folder
        torch = imported("torch")
        if not torch.cuda.is_available():
            raise CannotRun("torch finds no GPU")
        return self.prepare_on_gpu(folder)

    def prepare_on_gpu(self, folder: pathlib.Path) -> str:
        raise NotImplementedError

    def make_tensors(self, work: str) -> Dict[str, Any]:
        self.tensors = works.tensors(work)
        return self.tensors

    def sound(self, choice: Choice) -> bool:
        import torch

        choice.launch()
        torch.cuda.synchronize()
        t = self.tensors
        return bool(torch.equal(t["z"], t["x"] + t["y"]))
