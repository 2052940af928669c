"""Our time over home's, from samples in pairs: the mean ratio and its 95 % confidence interval."""
import dataclasses
import math
import statistics
from typing import Sequence, Tuple


@dataclasses.dataclass(frozen=True)
class Ratio:
    """mean: geometric. low and high bound the 95 % confidence interval."""
    mean: float
    low: float
    high: float


def student_t(degrees: int) -> float:
    """The 97.5 % quantile of Student's distribution, by its expansion around the normal one: to 1 % from 4 degrees."""
    z = statistics.NormalDist().inv_cdf(0.975)
    return (z + (z**3 + z) / (4 * degrees) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * degrees**2) +
            (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * degrees**3))


def ratio_of(pairs: Sequence[Tuple[float, float]]) -> Ratio:
    """`pairs`: (ours, home) of the same moment. REQUIRES: at least 3 pairs, all times above zero."""
    logs = [math.log(ours / home) for ours, home in pairs]
    mean = statistics.fmean(logs)
    margin = student_t(len(logs) - 1) * statistics.stdev(logs) / math.sqrt(len(logs))
    return Ratio(math.exp(mean), math.exp(mean - margin), math.exp(mean + margin))
