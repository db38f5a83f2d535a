"""Whether any body can have an inertia tensor."""

import numpy as np

from kane_dynamics_ros.description.model import Matrix

# URDFs are written with few digits, so that a thin rod or plate misses the triangle inequality by rounding.
TRIANGLE_TOLERANCE = 1e-2  # relative to the largest principal moment
ROUNDING = 1e-15  # [kg m^2] what is left where CAD programs mean 0


def principal_moments(tensor: Matrix) -> tuple[float, float, float]:
    """Eigenvalues of the tensor, ascending [kg m^2]."""
    smallest, middle, largest = np.linalg.eigvalsh(np.array(tensor))
    return (float(smallest), float(middle), float(largest))


def failed_condition(tensor: Matrix) -> str | None:
    """What keeps a body from having this tensor, with its principal moments; None when nothing does.

    Each principal moment must be at least 0 and at most the sum of the other two.
    """
    smallest, middle, largest = moments = principal_moments(tensor)
    slack = max(TRIANGLE_TOLERANCE * max(abs(largest), abs(smallest)), ROUNDING)
    found = "the principal moments are " + ", ".join(f"{moment:.6g}" for moment in moments) + " kg m^2"
    if smallest < -slack:
        return f"{found}, and the smallest is negative"
    if largest > smallest + middle + slack:
        return f"{found}, and the largest is more than the sum of the other two"
    return None
