"""Ours on CUDA C++: a TunedKernel of a bundle, which tunes on the first call and remembers in a store."""

import json
import os
import pathlib
import shutil
import tempfile
from typing import Any, Dict, List, Optional

import works
from interface import CannotRun, Choice, Peer


def write_bundle(
    folder: pathlib.Path, work: str, configs: List[works.Config], sources: Dict[str, pathlib.Path]
) -> pathlib.Path:
    """bundles/WORK with these configs alone, all of CUDA C++ (on the CPU device of C++), the first as the baseline."""
    made = works.manifest(work)
    variants = [v for v in made["variants"] if v["name"] in ("cuda", "cpu")]
    for variant in variants:
        variant["defines"] = list(configs[0])
        variant["artifacts"] = [{"file": sources[variant["name"]].name}]
    made.update(
        axes=[{"name": axis, "values": sorted({c[axis] for c in configs})} for axis in configs[0]],
        configs=configs,
        baseline=configs[0],
        variants=variants,
        name=f"peers_{work}",
    )
    for key in ("where", "space", "matmul"):
        made.pop(key, None)
    folder.mkdir(parents=True, exist_ok=True)
    for source in sources.values():
        shutil.copy(source, folder)
    (folder / "manifest.json").write_text(json.dumps(made))
    return folder


class TuneonceBundle(Peer):
    NAME, LANGUAGE = "tuneonce", "CUDA C++"
    DOCS = "docs/python.md, docs/verification.md"
    SETTINGS = "as it comes: trials in a worker process, outputs compared with the baseline's; 3 s for a candidate"
    REMEMBERS = "choices and code, in the user's store"
    WORKS: Dict[str, Optional[str]] = dict.fromkeys(works.WORKS)
    FAULTS: Dict[str, Optional[str]] = dict.fromkeys(works.FAULTS)
    NEEDS_GPU = False

    def __init__(self, device: str = "cuda"):
        self.device = device
        self.deadline_ms = 3000 if device == "cuda" else 1000  # The CPU device's is for tests.

    def prepare(self, folder: pathlib.Path) -> str:
        os.environ["XDG_CACHE_HOME"] = str(folder / "cache")
        self.folder = folder
        self.bundles = pathlib.Path(tempfile.mkdtemp(dir=folder.parent))  # What is shipped is not what is remembered.
        try:
            import tuneonce
        except ImportError as error:
            raise CannotRun(f"{error}: PYTHONPATH names no tuneonce") from error
        self.tuneonce = tuneonce
        return str(getattr(tuneonce, "__version__", ""))

    def _tuned(self, bundle: pathlib.Path, work: str, t: Dict[str, Any]) -> Choice:
        results = []

        class Observer(self.tuneonce.Observer):
            def on_tuned(self, kernel, key, result):
                results.append(result)

        kernel = self.tuneonce.TunedKernel(
            bundle, self.device, observer=Observer(), candidate_deadline_ms=self.deadline_ms, on_tune_error="raise"
        )
        arguments = [*t.values(), *works.WORKS[work].scalars.values()]
        kernel(*arguments)
        config = kernel.explain(*arguments).config
        counts = (len(results[0].successes) + len(results[0].failures), len(results[0].failures)) if results else (0, 0)
        return Choice(works.name_of(config), lambda: kernel(*arguments), *counts, searched=bool(results))

    def tune(self, work: str) -> Choice:
        self.tensors = works.tensors(work, self.device)
        found = works.BUNDLES / work
        bundle = write_bundle(
            self.bundles / work,
            work,
            works.crossed(works.CUDA_AXES[work]),
            {"cuda": found / f"{work}.cu", "cpu": found / f"{work}.cpu.cc"},
        )
        choice = self._tuned(bundle, work, self.tensors)
        if self.device == "cuda":
            choice.space = works.cuda_space(work, self.tensors)
        return choice

    def faulty(self, kind: str) -> Choice:
        kernels = pathlib.Path(__file__).resolve().parents[1] / "kernels"
        bundle = write_bundle(
            self.bundles / kind,
            "vector_add",
            works.crossed(works.faulty_axes(kind)),
            {"cuda": kernels / "faulty.cu", "cpu": kernels / "faulty.cpu.cc"},
        )
        self.tensors = works.tensors("vector_add", self.device)
        return self._tuned(bundle, "vector_add", self.tensors)

    def sound(self, choice: Choice) -> bool:
        choice.launch()
        x, y, z = self.tensors.values()
        return bool((abs(z - (x + y)) < 1e-6).all())


PEERS = [TuneonceBundle]
