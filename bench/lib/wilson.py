"""The interval of a share."""
import math

# Of a normal variable, both ends of 99.9 %.
Z999 = 3.2905


def wilson(count, of, z=Z999):
    """Both ends of the interval of a share (Wilson, J. Am. Stat. Assoc. 22 (1927) 209); everything where nothing was counted."""
    if of == 0:
        return 0.0, 1.0
    share, square = count / of, z * z / of
    middle = (share + square / 2) / (1 + square)
    half = z * math.sqrt(share * (1 - share) / of + square / (4 * of)) / (1 + square)
    return max(0.0, middle - half), min(1.0, middle + half)
