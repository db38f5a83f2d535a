"""Which joint gains the elastic forearm bears: the bound over the control period, and runs with two gains.

python examples/elastic_forearm/stable_gains.py --output OUT
"""

import argparse
from collections import deque
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from kane_dynamics_ros.elastic.arm_model import ArmModel
from kane_dynamics_ros.elastic.posture import largest_stable_factor
from kane_dynamics_ros.elastic.reader import elastic_arm
from kane_dynamics_ros.runtime import DynamicsModel, load_model
from kane_dynamics_ros.share import share_directory
from kane_dynamics_ros.simulation.elastic_plant import ElasticPlant
from kane_dynamics_ros.simulation.friction import Friction
from kane_dynamics_ros.simulation.plant import PlantOptions

Q = np.array([0.0, 0.9, -1.2, 0.3, 0.5])  # [rad]
KP = np.diag([600.0, 600.0, 200.0, 2.0, 2.0])  # [N m/rad], config/feedforward.yaml
KD = np.diag([120.0, 120.0, 30.0, 0.08, 0.04])  # [N m s/rad]
PERIODS = (0.001, 0.002, 0.004, 0.008)  # [s]
PERIOD, STEPS, DELAY, DURATION = 0.002, 4, 1, 0.5
FACTORS = (1.0, 0.5)


def settle(arm: ArmModel, model: DynamicsModel, factor: float) -> tuple[np.ndarray, np.ndarray]:
    """Time [s] and the third joint's error [mrad] after a start that is off by 1 mrad."""
    options = PlantOptions(time_step=PERIOD / STEPS, friction=Friction.none(5), hard_stops=False)
    plant = ElasticPlant(arm, model, options)
    plant.reset(Q + 1e-3, np.zeros(5))
    limits = np.array([np.inf if joint.effort is None else joint.effort for joint in model.joints])
    late, errors = deque([model.gravity(Q)] * DELAY), []
    for _ in range(round(DURATION / PERIOD)):
        effort = model.gravity(Q) + factor**2 * KP @ (Q - plant.q) - factor * KD @ plant.qd
        late.append(np.clip(effort, -limits, limits))
        now = late.popleft()
        for _ in range(STEPS):
            plant.step(now)
        errors.append(1e3 * (plant.q[2] - Q[2]))
    return PERIOD * (1 + np.arange(len(errors))), np.array(errors)


def main(output: Path) -> None:
    model = load_model("manipulator_5dof")
    urdf = (share_directory() / "urdf" / "manipulator_5dof.urdf").read_text(encoding="utf-8")
    arm = elastic_arm(urdf, model, Path(__file__).with_name("forearm.yaml"))
    gravity = np.array(model.parameters.gravity)
    figure = Figure(figsize=(9, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    print("largest stable factor of kd; period [ms], commands 0, 1 and 2 periods late")
    bounds = np.array(
        [[largest_stable_factor(arm, Q, gravity, KP, KD, T, d) for d in (0, 1, 2)] for T in PERIODS]
    )
    for T, row in zip(PERIODS, bounds, strict=True):
        print(f"  {1e3 * T:2.0f}  " + "  ".join(f"{bound:6.2f}" for bound in row))
    for delay, column in enumerate(bounds.T):
        left.loglog(1e3 * np.array(PERIODS), column, "o-", label=f"{delay} periods late")
    left.axhline(1.0, color="0.5", linewidth=0.8)
    left.set(xlabel="control period [ms]", ylabel="stable below this factor of kd", title="Bound")
    left.set_xticks(1e3 * np.array(PERIODS), [f"{1e3 * T:g}" for T in PERIODS], minor=False)
    left.set_yticks([0.2, 0.5, 1, 2, 5], ["0.2", "0.5", "1", "2", "5"])
    left.minorticks_off()
    left.legend()
    for factor in FACTORS:
        right.plot(*settle(arm, model, factor), label=f"kd x {factor:g}, kp x {factor**2:g}", linewidth=1)
    right.set(xlabel="time [s]", ylabel="alpha_3, error [mrad]", title="500 Hz, one period late")
    right.legend()
    output.mkdir(parents=True, exist_ok=True)
    figure.savefig(output / "elastic_gains.png", dpi=110, metadata={"Software": None})
    print(f"wrote {output / 'elastic_gains.png'}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("."))
    main(parser.parse_args().output)
