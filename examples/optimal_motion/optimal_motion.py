"""A point-to-point motion of the reference arm, optimal in energy or in time, within its effort limits.

    python optimal_motion.py [--time] [--intervals 24]

Direct transcription: accelerations are linear between nodes, which makes positions and speeds polynomials;
the efforts at the nodes are CasADi's call of the generated C code, with its compiled Jacobians. Energy is
the integral of the squared efforts, each beside its limit. Needs ``pip install '.[casadi]'`` in the checkout.
"""

import argparse
from dataclasses import dataclass

import casadi as ca
import numpy as np

from kane_dynamics_ros.runtime import load_model
from kane_dynamics_ros.runtime.casadi_functions import casadi_functions

START = np.array([0.0, 0.4, -0.8, 0.0, 0.0])  # [rad]
GOAL = np.array([1.5, 1.1, -0.3, 0.7, 1.0])
DURATION = 2.0  # [s] of the energy-optimal motion, and the first guess of the shortest
CALM = 1e-4  # weight of squared accelerations: wrist joints cost next to no effort, and would be undetermined
LIMIT_SHARE = 0.8  # of the effort limits that the motion may use


@dataclass(frozen=True)
class Motion:
    """Nodes of a motion: times (N,) [s], and q, qd, qdd, tau, each (N, n)."""

    time: np.ndarray
    q: np.ndarray
    qd: np.ndarray
    qdd: np.ndarray
    tau: np.ndarray


def optimal_motion(intervals: int = 24, *, shortest: bool = False) -> Motion:
    """The optimal motion from START to GOAL, at rest at both ends.

    Raises ``RuntimeError`` where Ipopt fails.
    """
    model = load_model("manipulator_5dof")
    n, nodes = len(model.joint_names), intervals + 1
    limits = LIMIT_SHARE * np.array([joint.effort for joint in model.joints])
    efforts = casadi_functions(model)["inverse_dynamics"].map(nodes)

    opti = ca.Opti()
    duration = opti.variable() if shortest else ca.MX(DURATION)
    q, qd, qdd = (opti.variable(n, nodes) for _ in range(3))
    tau = efforts(q, qd, qdd)
    h = duration / intervals
    for k in range(intervals):
        mean = (qdd[:, k] + qdd[:, k + 1]) / 2
        opti.subject_to(qd[:, k + 1] == qd[:, k] + h * mean)
        opti.subject_to(q[:, k + 1] == q[:, k] + h * qd[:, k] + h**2 * (qdd[:, k] / 3 + qdd[:, k + 1] / 6))
    for column, pose in ((0, START), (intervals, GOAL)):
        opti.subject_to(q[:, column] == pose)
        opti.subject_to(qd[:, column] == 0)
    opti.subject_to(opti.bounded(-1, ca.vec(tau / limits), 1))
    energy = h * (ca.sumsqr(tau / limits) + CALM * ca.sumsqr(qdd))
    if shortest:
        opti.subject_to(opti.bounded(0.2, duration, 10.0))
        opti.set_initial(duration, DURATION)
        opti.minimize(duration + 1e-3 * energy)  # a little energy makes the shortest motion a smooth one
    else:
        opti.minimize(energy)
    opti.set_initial(q, np.linspace(START, GOAL, nodes).T)
    quiet = {
        "print_level": 0,
        "sb": "yes",
        "hessian_approximation": "limited-memory",
        "max_iter": 1000,
        "tol": 1e-6,
    }
    opti.solver("ipopt", {"print_time": False}, quiet)
    solution = opti.solve()
    found = [np.array(solution.value(x)).T for x in (q, qd, qdd, tau)]
    return Motion(np.linspace(0.0, float(solution.value(duration)), nodes), *found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--time", action="store_true", help="the shortest motion instead of the least energy")
    parser.add_argument("--intervals", type=int, default=24)
    options = parser.parse_args()
    motion = optimal_motion(options.intervals, shortest=options.time)
    print(f"{motion.time[-1]:.3f} s; largest effort of each joint: {np.abs(motion.tau).max(0).round(2)} N m")


if __name__ == "__main__":
    main()
