"""What ``kane_dynamics inspect --equations`` prints: a chain's equations of motion in symbols."""

import sys

from kane_dynamics_ros.description import Chain
from kane_dynamics_ros.formulation import equation_text, kane_of_chain
from kane_dynamics_ros.formulation.equations import derive
from kane_dynamics_ros.formulation.partial_velocity_table import partial_velocity_table

SHORT = 4  # coordinates up to which the equations are a matter of seconds, whatever the geometry


def equations_of(chain: Chain, form: str) -> str:
    """The partial velocities, M, V and G of ``chain`` by Kane's method, as ``text`` or ``latex``."""
    if len(chain.coordinates) > SHORT:
        print(
            f"deriving the equations of {len(chain.coordinates)} coordinates in symbols: seconds where axes "
            "are parallel or at right angles, many minutes in general; --lock or --tip make the chain "
            "shorter",
            file=sys.stderr,
        )
    written = equation_text.as_latex if form == "latex" else equation_text.as_text
    return written(derive(chain, kane_of_chain.inverse_dynamics), partial_velocity_table(chain))
