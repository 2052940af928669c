"""What the results say: refusals and the slowest first, then the goals, as text and as one JSON document."""
import datetime
import json
import pathlib
import platform
import subprocess
from typing import Any, Dict, List, Sequence

SLOWER = 1.02  # The lower end of the interval above this is a kernel that runs slower than at home.
COLD = 1 / 3  # Our cold tune over home's, at most.


def read_results(path: pathlib.Path) -> List[Dict[str, Any]]:
    """The latest of each kernel, in the order of their first."""
    latest: Dict[str, Dict[str, Any]] = {}
    if path.is_file():
        for line in path.read_text().split("\n"):
            if line.strip():
                result = json.loads(line)
                latest[result["kernel"]] = result
    return list(latest.values())


def is_slow(shape: Dict[str, Any]) -> bool:
    return shape.get("low", 0) > SLOWER


def slowest(result: Dict[str, Any]) -> float:
    return max((shape.get("ratio", 0.0) for shape in result.get("shapes", ())), default=0.0)


def is_slow_to_tune(shape: Dict[str, Any]) -> bool:
    return "cold_s" in shape and shape["cold_s"] > COLD * shape["home_cold_s"]


def table(results: Sequence[Dict[str, Any]]) -> str:
    """Markdown: first what was refused, then what was exported and failed, then the rest, slowest first."""
    refused = [r for r in results if not r["exported"]]
    failed = [r for r in results if r["exported"] and "failure" in r]
    rest = sorted((r for r in results if r["exported"] and "failure" not in r), key=slowest, reverse=True)
    lines = [
        f"refused: {r['kernel']}: {r['refusal']}{' (a traceback)' if r.get('is_traceback') else ''}" for r in refused]
    lines += [f"failed: {r['kernel']}: {r['failure']}" for r in failed]
    lines += [
        "", "| kernel | shape | lines | ours us | home us | ratio (95 %) | error | home's | cold s | home s | regret |",
        "|---|---|---|---|---|---|---|---|---|---|---|"]
    for r in failed + rest:
        for shape in r.get("shapes", ()) or [{}]:
            lines.append(row(r, shape))
    return "\n".join(lines + [""] + goals(results)) + "\n"


def row(result: Dict[str, Any], shape: Dict[str, Any]) -> str:
    cells = [
        result["kernel"], " ".join(f"{k}={v}" for k, v in shape.get("shape", {}).items()),
        str(result.get("declaration_lines", ""))]
    if "ratio" in shape:
        cells += [
            f"{shape['ours_us']:.2f}", f"{shape['home_us']:.2f}",
            f"{shape['ratio']:.3f} ({shape['low']:.3f} to {shape['high']:.3f}){' SLOW' if is_slow(shape) else ''}"]
        cells += [f"{shape['error']:.1e}{' WRONG' if shape['wrong'] else ''}", f"{shape['home_error']:.1e}"]
        cells += [f"{shape['cold_s']:.2f}", f"{shape['home_cold_s']:.2f}"]
        regret = result.get("regret")
        is_last = shape is result["shapes"][-1]
        cells.append(f"{100 * (regret['ratio'] - 1):+.1f} %" if regret and is_last else "")
    else:
        cells += [""] * 8
    return "| " + " | ".join(cells) + " |"


def goals(results: Sequence[Dict[str, Any]]) -> List[str]:
    """A line per goal: how many meet it, and of how many."""
    exported = [r for r in results if r["exported"]]
    shapes = [(r["kernel"], s) for r in exported for s in r.get("shapes", ()) if "ratio" in s]
    slow = sorted({kernel for kernel, s in shapes if is_slow(s)})
    wrong = sorted({r["kernel"] for r in exported for s in r.get("shapes", ()) if s.get("wrong")})
    verified = sum("seeds" in s for r in exported for s in r.get("shapes", ()))
    refused = sorted({r["kernel"] for r in exported for s in r.get("shapes", ()) if s.get("incorrect")})
    late = sorted({kernel for kernel, s in shapes if is_slow_to_tune(s)})
    lines = [r.get("declaration_lines", 0) for r in exported]
    return [
        f"exported: {len(exported)} of {len(results)}, by declarations of at most {max(lines, default=0)} lines",
        f"measured: {len({kernel for kernel, _ in shapes})} kernels, {len(shapes)} shapes",
        f"slower than home by more than 2 %: {len(slow)}{': ' + ', '.join(slow) if slow else ''}",
        f"wrong results: {len(wrong)}{': ' + ', '.join(wrong) if wrong else ''}",
        f"cold tune above a third of home's: {len(late)}{': ' + ', '.join(late) if late else ''}",
        *of_seeds(exported)]


def of_seeds(exported: Sequence[Dict[str, Any]]) -> List[str]:
    """A line for the shapes that were tuned with the data of several seeds, where there are any."""
    verified = sum("seeds" in s for r in exported for s in r.get("shapes", ()))
    refused = sorted({r["kernel"] for r in exported for s in r.get("shapes", ()) if s.get("incorrect")})
    if not verified:
        return []
    return [
        f"with several seeds: {verified} shapes; kernels with configs that a search refused: "
        f"{len(refused)}{': ' + ', '.join(refused) if refused else ''}"]


def is_good(results: Sequence[Dict[str, Any]]) -> bool:
    """Nothing was refused, failed, slow, or wrong."""
    return all(
        r["exported"] and "failure" not in r and not any(is_slow(s) or s.get("wrong")
                                                         for s in r.get("shapes", ()))
        for r in results)


def document(results: Sequence[Dict[str, Any]]) -> Dict[str, Any]:
    """Everything, with the date, the machine and the versions."""
    return {"date": datetime.date.today().isoformat(), **machine(), "goals": goals(results), "kernels": list(results)}


def machine() -> Dict[str, Any]:
    versions: Dict[str, str] = {"python": platform.python_version()}
    found: Dict[str, Any] = {"device": "none", "versions": versions}
    for module in ("tuneonce", "torch", "triton", "cuda.tile"):
        try:
            versions[module] = str(getattr(__import__(module, fromlist=["__version__"]), "__version__", "present"))
        except Exception:  # Not there, or not usable: then nothing was measured with it.
            continue
    query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    try:
        done = subprocess.run(query, capture_output=True, text=True, check=False, timeout=30)
        if done.returncode == 0:
            found["device"] = done.stdout.strip().split("\n")[0]
    except OSError:
        pass
    return found
