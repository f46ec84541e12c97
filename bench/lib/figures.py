"""Medians, ratios and shares with intervals, quantiles."""
import math
import statistics

# Two-sided 95 % quantiles of Student's t by degrees of freedom.
T95 = [math.nan, 12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145,
       2.131, 2.120, 2.110, 2.101, 2.093]
# Of a normal variable, both ends of 99.9 %.
Z999 = 3.2905


def ratio(numerators, denominators):
    """Median of the pairwise ratios, and the 95 % interval of their geometric mean."""
    ratios = [a / b for a, b in zip(numerators, denominators)]
    logs = [math.log(value) for value in ratios if value > 0]
    middle = statistics.median(ratios)
    if len(logs) < 2:
        return middle, math.nan, math.nan
    mean = statistics.fmean(logs)
    half = T95[min(len(logs) - 1, len(T95) - 1)] * statistics.stdev(logs) / math.sqrt(len(logs))
    return middle, math.exp(mean - half), math.exp(mean + half)


def ratio_at_same_throughput(ones, others, index, throughput, within):
    """`ratio` of the figure at `index` over the rounds in which both had the same throughput, the figure at that index, to
    within a share: who does more in a second is woken less often for each, so that CPU at different rates says nothing of
    either. None where those are less than half of the rounds."""
    pairs = [(one[index], other[index]) for one, other in zip(ones, others)
             if abs(one[throughput] / other[throughput] - 1) <= within]
    return ratio(*zip(*pairs)) if pairs and 2 * len(pairs) >= len(ones) else None


def quantile(values, share):
    """The smallest value that at least this share of the values does not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, max(0, math.ceil(len(ordered) * share) - 1))]


def wilson(count, of, z=Z999):
    """Both ends of the interval of a share (Wilson, J. Am. Stat. Assoc. 22 (1927) 209); everything where nothing was counted."""
    if of == 0:
        return 0.0, 1.0
    share, square = count / of, z * z / of
    middle = (share + square / 2) / (1 + square)
    half = z * math.sqrt(share * (1 - share) / of + square / (4 * of)) / (1 + square)
    return max(0.0, middle - half), min(1.0, middle + half)
