"""One public kernel in a process of its own: exported, then measured. run.py starts it; --result gets what it found.

one_kernel.py --list LIST --kernel PACKAGE/NAME --work FOLDER --result FILE --time-limit S [...]
"""
import argparse
import contextlib
import fcntl
import hashlib
import importlib.util
import json
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from typing import Any, Dict, Iterator

from kernel_list import PublicKernel, lines_of, read

REFUSAL = 300  # Characters of a refusal that are kept.


def export(kernel: PublicKernel, work: pathlib.Path) -> Dict[str, Any]:
    """Exports into WORK/bundles/PACKAGE/NAME, unless what lies there was made of the same."""
    bundle = work / "bundles" / kernel.id
    if not kernel.declaration.is_file():
        return {"exported": False, "refusal": f"there is no declaration {kernel.declaration.relative_to(kernel.root)}"}
    result: Dict[str, Any] = {"declaration_lines": lines_of(kernel.declaration)}
    command = [sys.executable, "-m", "tuneonce.export", kernel.language, kernel.source(work / "packages")]
    command += kernel.options
    for stub in kernel.stubs:
        command += [] if importlib.util.find_spec(stub) else ["--stub", stub]
    stamp, made_of = bundle / "made_of", digest_of(kernel)
    if stamp.is_file() and stamp.read_text() == made_of:
        return {**result, "exported": True, **contents_of(bundle)}
    shutil.rmtree(bundle, ignore_errors=True)
    bundle.parent.mkdir(parents=True, exist_ok=True)
    start = time.monotonic()
    command += ["--declaration", str(kernel.declaration), "-o", str(bundle)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    result["export_s"] = time.monotonic() - start
    if done.returncode != 0 or not (bundle / "manifest.json").is_file():
        shutil.rmtree(bundle, ignore_errors=True)
        return {**result, "exported": False, **refusal_of(done.stderr)}
    stamp.write_text(made_of)
    return {**result, "exported": True, **contents_of(bundle)}


def digest_of(kernel: PublicKernel) -> str:
    """Of what decides an export: the declaration, the package's version, the exporter and its options."""
    digest = hashlib.sha256(repr((kernel.version, kernel.kernel, list(kernel.options))).encode())
    digest.update(kernel.declaration.read_bytes())
    exporter = importlib.util.find_spec("tuneonce.export")
    for file in sorted(pathlib.Path(exporter.origin).parent.glob("*.py")):
        digest.update(file.read_bytes())
    return digest.hexdigest()


def contents_of(bundle: pathlib.Path) -> Dict[str, Any]:
    manifest = json.loads((bundle / "manifest.json").read_text())
    return {"variants": [f"{v['name']} ({len(v['artifacts'])})" for v in manifest["variants"]]}


def refusal_of(text: str) -> Dict[str, Any]:
    """The last line; and whether more stood there, which is no refusal but an exception that nobody caught."""
    lines = [line for line in text.strip().split("\n") if line.strip()] or ["it said nothing"]
    return {"refusal": lines[-1].strip()[:REFUSAL], "is_traceback": any(line.startswith("Traceback") for line in lines)}


def said(error: Exception) -> str:
    """One line for the table; the whole goes to the log. REQUIRES: it is being handled."""
    traceback.print_exc()
    return f"{type(error).__name__}: {error}".split("\n")[0][:REFUSAL]


@contextlib.contextmanager
def alone(work: pathlib.Path, limit_s: float) -> Iterator[None]:
    """Only one process measures; the others may import and export meanwhile. The time that one waits is not limited."""
    signal.setitimer(signal.ITIMER_REAL, 0)
    with open(work / "device.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        signal.setitimer(signal.ITIMER_REAL, limit_s)
        yield


def measure(kernel: PublicKernel, work: pathlib.Path, device: str, limit_s: float, seeds: int,
            save: Any) -> Dict[str, Any]:
    from measuring import Measuring
    result: Dict[str, Any] = {"shapes": []}
    with tempfile.TemporaryDirectory() as scratch:
        if device.startswith("cuda"):
            import torch
            torch.zeros(1, device=device)  # The context, which is nobody's to pay.
        measuring = Measuring(kernel, work / "bundles" / kernel.id, work / "packages", pathlib.Path(scratch), device)
        # Without a race several may use the device at once.
        with contextlib.nullcontext() if seeds else alone(work, limit_s):
            start = time.monotonic()
            for shape in kernel.shapes:
                try:
                    result["shapes"].append(measuring.verify(shape, seeds) if seeds else measuring.shape(shape))
                except Exception as error:  # The other shape may do.
                    result.setdefault("failure", f"{shape}: {measuring.stage}: {said(error)}")
                save(result)
            try:
                if not seeds:
                    result["regret"] = measuring.regret(kernel.shapes[-1])
            except Exception as error:
                result["regret_failure"] = said(error)
            result["alone_s"] = time.monotonic() - start
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--list", type=pathlib.Path, required=True)
    parser.add_argument("--kernel", required=True)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    parser.add_argument("--result", type=pathlib.Path, required=True)
    parser.add_argument("--time-limit", type=float, required=True, metavar="SECONDS",
                        help="of exporting, and again of measuring: then SIGALRM ends this process, whatever it does")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--seeds", type=int, default=0, help="tune with the data of so many seeds and race nothing")
    parser.add_argument("--export-only", action="store_true")
    arguments = parser.parse_args()
    signal.setitimer(signal.ITIMER_REAL, arguments.time_limit)
    kernel = next(k for k in read(arguments.list) if k.id == arguments.kernel)
    result: Dict[str, Any] = {"kernel": kernel.id, "family": kernel.family, "language": kernel.language}

    def save(more: Dict[str, Any]) -> None:  # As it comes: a crash leaves what was found before.
        result.update(more)
        arguments.result.write_text(json.dumps(result))

    save(export(kernel, arguments.work))
    if not arguments.export_only and result["exported"]:
        try:
            save(measure(kernel, arguments.work, arguments.device, arguments.time_limit, arguments.seeds, save))
        except Exception as error:
            save({"failure": said(error)})


if __name__ == "__main__":
    main()
