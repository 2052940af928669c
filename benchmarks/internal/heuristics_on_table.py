"""Evaluates nvMatmulHeuristics on a table of matmuls that record_table wrote.

PYTHONPATH=FOLDER_WITH_nvMatmulHeuristics python benchmarks/internal/heuristics_on_table.py TABLE.csv [DISCOVERY.csv]
PYTHONPATH=FOLDER_WITH_nvMatmulHeuristics python benchmarks/internal/heuristics_on_table.py --discovery-shapes

No GPU is needed: the library describes an H200. Each proposal, in its order, stands for the nearest config of the table
that runs at the shape and that no earlier proposal stands for. The distance is the sum of the octaves between the tiles,
and an eighth of those between the clusters. Prints the fraction of the best recorded speed that the first config and
the best of the first eight reach.

The library is used with the measurements that it contains, and with DISCOVERY.csv calibrated for the kernel: a table of
the same kernel at the shapes that --discovery-shapes prints, which are those of the library's discovery set (pairs of a
problem and a tile). A pair has the time of the nearest config, unless a tile is more than an octave away or splits K.
"""
import ctypes
import math
import os
import sys

from nvMatmulHeuristics import nvMatmulHeuristics as library

RANK_BY_MODEL = 1 << 3
PROPOSALS = 16


def read_table(path):
    with open(path, encoding="utf-8") as file:
        lines = [line.split(",") for line in file.read().splitlines()[1:]]
    num_axes = next(i for i, column in enumerate(lines[0]) if "=" in column)
    shapes = [{dim: int(extent) for dim, extent in (each.split("=") for each in column.split(" "))}
              for column in lines[0][num_axes:]]
    configs = [dict(zip(lines[0], map(int, line[:num_axes]))) for line in lines[1:]]
    return shapes, configs, [[float(cell or "inf") for cell in line[num_axes:]] for line in lines[1:]]


def distance(config, proposal):
    apart = lambda axis, proposed: abs(math.log2(config[axis] / max(proposed, 1)))
    return (apart("TILE_M", proposal.cta_tile_m) + apart("TILE_N", proposal.cta_tile_n) +
            apart("TILE_K", proposal.cta_tile_k) + apart("num_ctas", proposal.cluster_m * proposal.cluster_n) / 8)


def discovery_set(model, layout, hardware):
    """Returns the pairs as the library's own structures: problems, kernels."""
    arguments = (model.handle, model.precision.encode(), ctypes.c_int(model.target), ctypes.c_int(layout))
    count = model.nvMatmulHeuristicsGetDiscoverySet(*arguments, None, None, 0, hardware)
    problems, kernels = (model.nvmmhMatmulProblem * count)(), (model.nvmmhKernelConfiguration * count)()
    model.nvMatmulHeuristicsGetDiscoverySet(*arguments, problems, kernels, count, hardware)
    return problems, kernels


def calibrate(model, layout, hardware, path):
    """Gives the library the times of its discovery set, in seconds. It skips those that are 0, and says so by status 2."""
    shapes, configs, times = read_table(path)
    place = {(each["M"], each["N"], each["K"]): i for i, each in enumerate(shapes)}
    problems, kernels = discovery_set(model, layout, hardware)
    seconds = (ctypes.c_float * len(problems))()
    for pair in range(len(problems)):
        problem, kernel = problems[pair].asGemmProblem(), model.unpackGemmConfig(kernels[pair])
        shape = place.get((problem.M, problem.N, problem.K))
        runs = [i for i, row in enumerate(times) if shape is not None and not math.isinf(row[shape])]
        if not runs or kernel.split_k > 1:
            continue
        nearest = min(runs, key=lambda i: distance(configs[i], kernel))
        if distance(configs[nearest], kernel) < 1.5:
            seconds[pair] = times[nearest][shape] * 1e-6
    status = model.nvMatmulHeuristicsCommitDiscoveryResults(
        model.handle, model.precision.encode(), ctypes.c_int(model.target), ctypes.c_int(layout), problems, kernels,
        seconds, len(problems), hardware)
    print(f"calibrated with {sum(each > 0 for each in seconds)} of {len(problems)} pairs, status {status}")


def main():
    model = library.NvMatmulHeuristicsInterface(library.NvMatmulHeuristicsTarget.TRITON, "HSH",
                                                flags=library.NvMatmulHeuristicsFlags(RANK_BY_MODEL))
    hardware = model.createHardwareDescriptor()
    model.setHardwarePredefinedGpu(hardware, library.NvMatmulHeuristicsNvidiaGpu.H200_SXM)
    layout = library.NvMatmulHeuristicsMatmulLayout(0)  # Row-major, and neither a nor b is transposed.
    if sys.argv[1] == "--discovery-shapes":
        print("# Shapes for record_table: the discovery set of nvMatmulHeuristics.")
        problems = [each.asGemmProblem() for each in discovery_set(model, layout, hardware)[0]]
        for m, n, k in sorted({(each.M, each.N, each.K) for each in problems}):
            print(f"M={m} N={n} K={k}")
        finish()
    shapes, configs, times = read_table(sys.argv[1])
    model.loadInternalDiscoverySet(layout, hardware)
    if len(sys.argv) > 2:
        calibrate(model, layout, hardware, sys.argv[2])
    fractions = {1: [], 8: []}
    for shape, extents in enumerate(shapes):
        runs = {i: row[shape] for i, row in enumerate(times) if not math.isinf(row[shape])}
        chosen = []
        for proposal in model.get_with_mnk(extents["M"], extents["N"], extents["K"], layout, PROPOSALS, hardware):
            free = [i for i in runs if i not in chosen]
            if free:
                chosen.append(min(free, key=lambda i: distance(configs[i], proposal["kernel"])))
        for count, values in fractions.items():
            values.append(min(runs.values()) / min(runs[i] for i in chosen[:count]))
    for count, values in fractions.items():
        values.sort()
        print(f"{len(values)} shapes, best of {count}: mean {sum(values) / len(values):.4f}, "
              f"tenth percentile {values[len(values) // 10]:.4f}, least {values[0]:.4f}")
    finish()


def finish():
    sys.stdout.flush()
    os._exit(0)  # The library's destructor crashes on a machine without a CUDA driver.


main()
