#!/usr/bin/env python3
"""run.py --bundles FOLDER [--only FAMILY ...] [--device cuda|cpu] [--json FILE] [--stop-after SECONDS]

Each shipped bundle at six shapes and more: our winner, our baseline, cuTile's exhaustive_search and Triton's autotune over
the same kernel and configs, and torch's operators, interleaved in one race by one timer on the same tensors; and the
largest error of ours against float64. Writes the JSON after each shape, prints a line for each, and ends with exit code 1
if something failed: a gate, which is a result that is wrong, or ours slower than cuTile's or Triton's own selection by more
than 1 % (the 95 % interval of the ratio beyond 1.01; both are raced again then, beside our launch of what the other
chose: "again" in the JSON); or a contender that broke the CUDA context: another process goes on without it, and where it
was cuTile's search, our search finds cuTile's config. What torch takes is reported, not gated.
Needs torch and tuneonce, on a GPU also cuda-tile, triton and tileiras; on the CPU device (tiny shapes, no peers but torch)
it shows that the script works.
"""
import sys
from typing import Any, Dict, List, Tuple

from cases import Case, Family
from contenders import OUR_SEARCH, OWN_SEARCH, Contenders, Launch
from measuring import difference, synchronize, tolerance_of
from shapes import Shape, measure_all, parser_of, race_of

GATED = {OWN_SEARCH: "tile", OUR_SEARCH: "tile", "Triton's selection": "triton"}
MOST = 1.01


def measure(_: Family, contenders: Contenders, shape: Shape) -> Tuple[Dict[str, Any], bool]:
    case, operators = shape[1:]
    device = contenders.device
    expected = case.reference()
    ours = contenders.ours(case)
    ours()
    synchronize(device)
    errors = {name: difference(case.arguments[name], wanted) for name, wanted in expected.items()}
    wrong = [name for name, error in errors.items() if not error <= tolerance_of(case.arguments[name])]
    del expected
    left_out: Dict[str, str] = {}
    others = contenders.others(case, operators, left_out)
    rows = race_of({"ours": ours, **others}, device)
    slower = [name for name in GATED if name in rows and rows[name]["low"] > MOST]
    result = contenders.results.last
    assert result is not None
    measured = {
        "choices": contenders.choices, "times_us": {str(s.config): s.mean_us for s in result.successes}, "configs": len(result.successes) + len(result.duplicates) + len(result.failures),
        "failures": [str(failure) for failure in result.failures], "error": max(errors.values()), "wrong": wrong,
        "slower_than": slower, "contenders": rows, "left_out": left_out}
    if slower:
        measured["again"] = again(contenders, case, slower, {"ours": ours, **others})
    return measured, bool(wrong or slower)


def again(contenders: Contenders, case: Case, slower: List[str], launches: Dict[str, Launch]) -> Dict[str, Any]:
    """Ours and who is faster, and our own launches of what these chose."""
    try:
        at = {f"ours at {name}": contenders.ours_at(GATED[name], case) for name in slower}
        return dict(race_of({"ours": launches["ours"], **{name: launches[name] for name in slower}, **at}, contenders.device))
    except Exception as error:  # The shape was measured, without it.
        return {"failed": f"{type(error).__name__}: {error}"}


def line(row: Dict[str, Any]) -> str:
    times = row["contenders"]
    others = ", ".join(f"{name} {of['us']:.2f} ({of['ratio']:.3f})" for name, of in times.items() if name != "ours")
    gates = "".join([" WRONG" if row["wrong"] else "", f" SLOWER than {row['slower_than']}" if row["slower_than"] else ""])
    return f"ours {times['ours']['us']:.2f} us, error {row['error']:.1e}; {others}{gates}"


def main() -> int:
    options = parser_of(__doc__, devices=("cuda", "cpu")).parse_args()
    return measure_all(options, lambda shapes: shapes, measure, line)


if __name__ == "__main__":
    sys.exit(main())
