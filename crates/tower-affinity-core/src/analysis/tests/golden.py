"""Writes golden.tsv: intervals by another way than the code's.

    python3 -m venv venv && venv/bin/pip install scipy
    venv/bin/python golden.py > golden.tsv

The likelihood ratio of "the difference is D plus something normal of width tau" to "the difference is
D" is integrated numerically, and a root finder asks where it is 1/alpha; the closed form that the
code has is not used.
"""

from math import inf

from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.stats import norm


def variance(truth, canary, stable):
    (k, n), (j, m) = canary, stable
    pooled = (k + j + 1) / (n + m + 2)
    of_canary = min(max(pooled + truth * m / (n + m), 0.0), 1.0)
    of_stable = min(max(pooled - truth * n / (n + m), 0.0), 1.0)
    return of_canary * (1 - of_canary) / n + of_stable * (1 - of_stable) / m


def ratio(truth, canary, stable, tau):
    seen = canary[0] / canary[1] - stable[0] / stable[1]
    sd = variance(truth, canary, stable) ** 0.5
    if sd == 0:
        return inf
    narrow = min(sd, tau)
    # where the product of the two densities is
    peak = (seen - truth) * tau**2 / (tau**2 + sd**2)
    mixed, _ = quad(
        lambda shift: norm.pdf(shift, 0, tau) * norm.pdf(seen, truth + shift, sd),
        peak - 12 * narrow,
        peak + 12 * narrow,
        epsabs=0,
        epsrel=1e-11,
        limit=500,
    )
    return mixed / norm.pdf(seen, truth, sd)


def edge(limit, canary, stable, tau, alpha):
    seen = canary[0] / canary[1] - stable[0] / stable[1]
    step = 1e-4 if limit > 0 else -1e-4
    inside, outside = seen, seen + step
    while ratio(outside, canary, stable, tau) < 1 / alpha:
        inside, outside = outside, outside + step
        if abs(outside) >= 1:
            return limit
    return brentq(lambda truth: ratio(truth, canary, stable, tau) - 1 / alpha, inside, outside, xtol=1e-13)


CASES = [
    # canary, stable, smallest effect, alpha
    ((60, 1000), (50, 1000), 0.01, 0.05),
    ((70, 1000), (450, 9000), 0.01, 0.05),
    ((140, 2000), (100, 2000), 0.01, 0.05),
    ((6, 120), (480, 12000), 0.01, 0.05),
    ((500, 1000), (510, 1000), 0.01, 0.05),
    ((9, 4000), (11, 4000), 0.005, 0.05),
    ((980, 1000), (9900, 10000), 0.01, 0.05),
    ((2000, 10000), (2200, 10000), 0.02, 0.01),
    ((300, 100000), (250, 100000), 0.001, 0.1),
    ((40, 60), (5, 540), 0.01, 0.05),
]

print("# canary: events, sessions; stable: events, sessions; smallest effect; alpha; lower; upper")
for canary, stable, effect, alpha in CASES:
    bounds = [edge(limit, canary, stable, 2 * effect, alpha) for limit in (-1.0, 1.0)]
    print(*canary, *stable, effect, alpha, *(f"{bound:.9f}" for bound in bounds), sep="\t")
