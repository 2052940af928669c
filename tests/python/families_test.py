#!/usr/bin/env python3
"""tuneonce.families: families_test.py BUNDLES_FOLDER [NAME ...]. Needs tuneonce and numpy."""
import pathlib
import sys

import numpy as np

import tuneonce
from running import expect, run_tests

TARGETS = ("sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_103", "sm_120", "cpu")
BUILDERS = [name for name in tuneonce.families.__all__ if name not in ("FamilySpace", "classify", "show")]


def test_each_family_has_configs_and_a_baseline_on_each_target():
    assert len(BUILDERS) == 12
    for name in BUILDERS:
        for target in TARGETS:
            if name == "fp8_matmul" and target in ("sm_80", "sm_86"):
                expect(ValueError, "the search space is empty on " + target, lambda: tuneonce.families.fp8_matmul(target))
                continue
            space = getattr(tuneonce.families, name)(target)
            assert 1 <= len(space) <= 30 and space.baseline in list(space), (name, target)
            clusters = [config.get("num_ctas", 1) for config in space]
            assert target in ("sm_90", "sm_100", "sm_103") or max(clusters) == 1, (name, target)


def test_extents_leave_out_padding():
    space = tuneonce.families.dense_matmul("sm_90", M=1, N=4096, K=4096)
    assert {config["TILE_M"] for config in space} == {16, 64} and space.baseline["TILE_M"] == 64
    assert len(space) < len(tuneonce.families.dense_matmul("sm_90"))
    assert {config["TILE_N"] for config in tuneonce.families.norm_like(N=128)} == {1024}


def test_a_space_is_added_to_and_stays_as_it_was():
    space = tuneonce.families.elementwise("sm_80")
    more = space.with_axis("UNROLL", [1, 4])
    assert len(more) == 2 * len(space) and more.baseline == {**space.baseline, "UNROLL": 1}
    assert more[1] == {**space[0], "UNROLL": 4} and "UNROLL" not in space[0]
    assert len(space.with_configs({"TILE": 512, "occupancy": 1, "num_ctas": 1})) == len(space) + 1
    small = space.where(lambda config: config["TILE"] == 4096)
    assert all(config["TILE"] == 4096 for config in small)
    expect(ValueError, "the space elementwise has no baseline", lambda: small.baseline)
    expect(ValueError, "a config of elementwise has the axes TILE, occupancy, num_ctas, not TILE", lambda: space.with_configs({"TILE": 1}))
    expect(ValueError, "has an axis 'TILE'", lambda: space.with_axis("TILE", [1]))
    expect(ValueError, "axis 'A' needs a list", lambda: space.with_axis("A", "xy"))


def test_a_search_goes_through_it():
    x, y = np.arange(5000, dtype=np.float32), np.zeros(5000, np.float32)
    space = tuneonce.families.elementwise("cpu", N=x.size).where(lambda config: config["occupancy"] == 1)

    def kernel(config):
        def double(source, target):
            for start in range(0, source.size, config["TILE"]):
                np.multiply(source[start:start + config["TILE"]], 2, out=target[start:start + config["TILE"]])
        return double
    result = tuneonce.exhaustive_search(space, None, None, kernel, lambda config: (x, y), device="cpu", quiet=True,
                                        baseline=space.baseline, outputs=[1])
    assert len(result.successes) == 3 and result.best.config in list(space)
    assert space.hints_of(space.baseline) == {"occupancy": 1, "num_ctas": 1}


def test_a_bundle_is_classified_by_its_code():
    found = tuneonce.families.classify(f"{sys.argv[1]}/rms_norm", M=64)
    assert (found["family"], found["recommended_space"], found["bound"]) == ("norm_like", "norm_like", "memory bound"), found
    assert found["shape"] == "M=64, N=4096" and "1 reduction" in found["reasons"], found
    assert tuneonce.families.classify(pathlib.Path(sys.argv[1], "matmul"), "sm_100")["target"] == "sm_100"
    expect(ValueError, "the bundle has no dim 'Q'", lambda: tuneonce.families.classify(f"{sys.argv[1]}/matmul", Q=1))


def test_the_ptx_of_a_cubin_is_what_who_calls_has():
    text = pathlib.Path(sys.argv[1], "../tests/data/ptx/softmax.ptx").read_text()
    found = tuneonce.families.classify(f"{sys.argv[1]}/matmul", ptx={"triton_sm90": [text]})
    assert found["family"] is None and "variants belong to several" in found["reasons"][0], found
    by_name = {each["name"]: each for each in found["variants"]}
    assert by_name["triton_sm90"]["family"] == "norm_like" and by_name["triton_sm90_any"]["family"] is None, by_name


def test_mistakes_are_one_line():
    expect(ValueError, "unknown family of kernels 'matmul'; choose one of: fp8_matmul",
           lambda: tuneonce.families.show("matmul"))
    expect(ValueError, "target 'H100' is unknown: use a name such as sm_90, or cpu",
           lambda: tuneonce.families.attention("H100"))
    expect(ValueError, "the family dual_gemm has no dim 'K'; its dims are: M, N",
           lambda: tuneonce.families.dual_gemm("sm_90", K=1))
    expect(TypeError, "", lambda: tuneonce.families.occupancy_only("sm_90", N=1))


run_tests(globals(), sys.argv[2:])
