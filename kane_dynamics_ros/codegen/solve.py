"""Linear algebra on expressions: the equations of motion solved for the accelerations."""

from collections.abc import Sequence

from kane_dynamics_ros.codegen.expression import Expression


def solve_symmetric(
    M: Sequence[Sequence[Expression]], b: Sequence[Expression]
) -> tuple[list[Expression], list[Expression]]:
    """x of M x = b by M = L D L^T, and the pivots D.

    Eliminates from the last row upwards, so that zeros of M above a leaf joint stay zero. All pivots of
    a positive definite M are positive.
    """
    n = len(b)
    L = [list(row) for row in M]
    D: list[Expression] = list(b)
    for j in range(n - 1, -1, -1):
        D[j] = L[j][j]
        for i in range(j - 1, -1, -1):
            factor = L[j][i] / D[j]
            for k in range(i, -1, -1):
                L[i][k] = L[i][k] - factor * L[j][k]
            L[j][i] = factor
    x = list(b)
    for j in range(n - 1, -1, -1):  # L^T is upper: substitute from the last
        for i in range(j):
            x[i] = x[i] - L[j][i] * x[j]
    x = [value / pivot for value, pivot in zip(x, D, strict=True)]
    for j in range(1, n):
        for i in range(j):
            x[j] = x[j] - L[j][i] * x[i]
    return x, D
