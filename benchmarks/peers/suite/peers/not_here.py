"""Peers that the suite has no cell for, and why: they stand in the table with their reason."""

import pathlib

from interface import CannotRun, Peer


class KernelLauncher(Peer):
    NAME, LANGUAGE = "Kernel Launcher", "CUDA C++"
    DOCS = "https://kerneltuner.github.io/kernel_launcher/"
    WHY = "it does not tune in the program: it captures a launch, Kernel Tuner tunes that offline (see there)"

    def prepare(self, folder: pathlib.Path) -> str:
        raise CannotRun(self.WHY)


class FlashInfer(KernelLauncher):
    NAME, LANGUAGE, DOCS = "FlashInfer", "FlashInfer", "https://docs.flashinfer.ai/"
    WHY = "no cell is written for it: it tunes tactics of its own operators, and none of the four works is one of those"


PEERS = [KernelLauncher, FlashInfer]
