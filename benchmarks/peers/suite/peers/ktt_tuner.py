"""KTT on the CUDA C++ that ours tunes, by peers_ktt_tune (../../ktt_tune.cc), which is built where KTT is."""

import json
import os
import pathlib
import subprocess
from typing import Any, Dict, List, Optional

import works
from interface import CannotRun, Choice
from peers.gpu_peer import GpuPeer, imported


class Ktt(GpuPeer):
    NAME, LANGUAGE = "KTT", "CUDA C++"
    DOCS = "https://github.com/HiPerCoRe/KTT"
    SETTINGS = "Tuner::Tune, all configurations; outputs of float32 compared with a reference"
    WORKS: Dict[str, Optional[str]] = dict.fromkeys(works.WORKS)
    FAULTS: Dict[str, Optional[str]] = dict.fromkeys(works.FAULTS)

    def prepare_on_gpu(self, folder: pathlib.Path) -> str:
        imported("cupy")
        self.program = pathlib.Path(os.environ.get("PEERS_BIN", "")) / "peers_ktt_tune"
        if not self.program.is_file():
            raise CannotRun("peers_ktt_tune is not in --bin: benchmarks/peers/README.md says what it needs")
        return "2.1.0"

    def describe(self, work: str, source: pathlib.Path, axes: Dict[str, List[int]], t: Dict[str, Any]) -> List[str]:
        """What the program reads; the tensors as files."""
        block, out = works.cuda_block(work), works.output(work, t)
        lines = [
            f"name {work} {source}",
            f"block {block[0]}",
            f"block_y {block[1]}",
            f"shared {works.cuda_shared(work)}",
        ]
        for i, argument in enumerate(works.cuda_arguments(work, t)):
            if not hasattr(argument, "data_ptr"):
                lines.append(f"scalar {argument.tobytes().hex()}")
                continue
            file = self.folder / f"{work}.{i}"
            file.write_bytes(argument.cpu().numpy().tobytes())
            lines.append(f"{'out' if argument is out else 'in'} {file}")
        lines += [f"axis {axis} {' '.join(map(str, values))} ;" for axis, values in axes.items()]
        for config in works.crossed(axes):
            grid = " ".join(map(str, works.grid_of(work, config)))
            lines.append(f"grid {' '.join(str(v) for v in config.values())} = {grid}")
        if work == "vector_add":
            reference = self.folder / "reference"
            reference.write_bytes(works.expected(work, t).cpu().numpy().tobytes())
            lines.append(f"reference {reference}")
        return lines

    def choose(self, work: str, source: pathlib.Path, axes: Dict[str, List[int]], t: Dict[str, Any]) -> Choice:
        described = "\n".join(self.describe(work, source, axes, t))
        done = subprocess.run([str(self.program)], input=described, capture_output=True, text=True)
        if done.returncode != 0:
            last = (done.stderr.strip().splitlines() or ["no output"])[-1]
            raise RuntimeError(f"its program ended with {done.returncode}: {last}")
        said = json.loads(done.stdout.splitlines()[-1])
        launch = works.cuda_launcher(work, source.read_text(), said["best"], works.cuda_arguments(work, t))
        return Choice(
            works.name_of(said["best"]), launch, said["tried"], said["failed"], searched=True, seconds=said["seconds"]
        )

    def tune(self, work: str) -> Choice:
        t = self.make_tensors(work)
        choice = self.choose(work, works.BUNDLES / work / f"{work}.cu", works.CUDA_AXES[work], t)
        choice.space = works.cuda_space(work, t)
        return choice

    def faulty(self, kind: str) -> Choice:
        source = pathlib.Path(__file__).resolve().parents[1] / "kernels" / "faulty.cu"
        return self.choose("vector_add", source, works.faulty_axes(kind), self.make_tensors("vector_add"))


PEERS = [Ktt]
