"""The reference robot with a forearm that bends follows a fast trajectory under the rigid feedforward.

    python examples/elastic_forearm/elastic_forearm.py --output OUT

Three arms follow the same rest-to-rest motion under the rigid model's torques and a joint PD: a rigid one,
one with an elastic forearm, and the elastic one with joint references corrected so that the tip, once it
sags, is where the rigid arm's tip would be. Prints tip error and vibration, writes a figure.
"""

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from kane_dynamics_ros.elastic.arm_model import ArmModel
from kane_dynamics_ros.elastic.posture import compensate_sag, rigid_tip_position
from kane_dynamics_ros.elastic.reader import elastic_arm
from kane_dynamics_ros.runtime import DynamicsModel, load_model
from kane_dynamics_ros.share import share_directory
from kane_dynamics_ros.simulation.elastic_plant import ElasticPlant
from kane_dynamics_ros.simulation.friction import Friction
from kane_dynamics_ros.simulation.plant import Plant, PlantOptions

START = np.array([0.0, 0.2, -0.6, 0.0, 0.0])  # [rad]
END = np.array([0.8, 0.9, -1.0, 0.4, 0.0])
MOVE, SETTLE = 0.6, 0.9  # [s]
KP = np.array([2000.0, 2000.0, 1000.0, 20.0, 10.0])  # [N m/rad]
KD = np.array([120.0, 120.0, 50.0, 0.3, 0.15])  # [N m s/rad]
STEP = 1e-3  # [s]


@dataclass(frozen=True)
class Run:
    """Time (N,) [s] and the distance (N, 3) [m] of the tip from the rigid arm's reference."""

    name: str
    time: np.ndarray
    error: np.ndarray

    @property
    def largest(self) -> float:
        """Largest distance during the move [mm]."""
        return 1e3 * float(np.linalg.norm(self.error[self.time <= MOVE], axis=1).max())

    @property
    def static(self) -> float:
        """Distance of the mean of the last 0.3 s [mm]."""
        return 1e3 * float(np.linalg.norm(self.error[self.time > MOVE + SETTLE - 0.3].mean(axis=0)))

    @property
    def vibration(self) -> float:
        """Vertical swing, peak to peak, in the first 0.3 s after the move [mm]."""
        after = self.error[(self.time > MOVE) & (self.time <= MOVE + 0.3), 2]
        return 1e3 * float(np.ptp(after))


def reference(time: float, start: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Position, velocity, acceleration (3, n) of a quintic from rest to rest, then still."""
    s = min(time / MOVE, 1.0)
    shape = np.array([10 * s**3 - 15 * s**4 + 6 * s**5, 30 * s**2 - 60 * s**3 + 30 * s**4])
    second = 60 * s - 180 * s**2 + 120 * s**3
    rates = np.array([shape[0], shape[1] / MOVE, second / MOVE**2])
    return np.outer(rates, end - start) + np.outer([1.0, 0.0, 0.0], start)


def follow(
    name: str, engine: Plant | ElasticPlant, model: DynamicsModel, arm: ArmModel, ends: np.ndarray
) -> Run:
    """Feedforward of the rigid model plus joint PD; ``ends`` (2, n) are the joint references."""
    engine.reset(ends[0], np.zeros(model_size(model)))
    times, errors = [], []
    for i in range(round((MOVE + SETTLE) / STEP)):
        q_d, qd_d, qdd_d = reference(i * STEP, *ends)
        feedback = KP * (q_d - engine.q) + KD * (qd_d - engine.qd)
        engine.step(model.inverse_dynamics(q_d, qd_d, qdd_d) + feedback)
        now = (i + 1) * STEP
        tip = engine.tip.p if isinstance(engine, ElasticPlant) else rigid_tip_position(arm, engine.q)
        times.append(now)
        errors.append(tip - rigid_tip_position(arm, reference(now, START, END)[0]))
    return Run(name, np.array(times), np.array(errors))


def model_size(model: DynamicsModel) -> int:
    """Number of joints."""
    return len(model.joint_names)


def run_all(links: Path) -> list[Run]:
    """The three arms."""
    model = load_model("manipulator_5dof")
    urdf = (share_directory() / "urdf" / "manipulator_5dof.urdf").read_text(encoding="utf-8")
    arm = elastic_arm(urdf, model, links)
    options = PlantOptions(time_step=STEP, friction=Friction.none(model_size(model)))
    gravity = np.array(model.parameters.gravity)
    ends = np.stack([START, END])
    corrected = np.stack([compensate_sag(arm, q, gravity) for q in ends])
    return [
        follow("rigid arm", Plant(model, options), model, arm, ends),
        follow("elastic forearm", ElasticPlant(arm, model, options), model, arm, ends),
        follow("elastic, sag compensated", ElasticPlant(arm, model, options), model, arm, corrected),
    ]


def table(runs: list[Run]) -> str:
    """One row per arm."""
    rows = [
        f"{'tip, distance from the rigid reference':40}{'in the move':>12}{'at rest':>10}{'vibration':>11}"
    ]
    rows += [f"{r.name:40}{r.largest:9.2f} mm{r.static:7.2f} mm{r.vibration:8.2f} mm" for r in runs]
    return "\n".join(rows)


def draw(runs: list[Run]) -> Figure:
    """Vertical tip error over the time."""
    figure = Figure(figsize=(8.5, 4.6), layout="constrained")
    axes = figure.add_subplot()
    for run, colour in zip(runs, ("#7a7a7a", "#d9731a", "#1f5fa8"), strict=True):
        axes.plot(run.time, 1e3 * run.error[:, 2], color=colour, label=run.name)
    axes.axvline(MOVE, color="black", lw=0.8, ls=":")
    axes.annotate(
        "end of the move",
        (MOVE, 1),
        xycoords=("data", "axes fraction"),
        xytext=(4, -12),
        textcoords="offset points",
    )
    axes.set(xlabel="time [s]", ylabel="height of the tip above the reference [mm]")
    axes.legend(loc="lower right", frameon=False)
    axes.grid(alpha=0.3)
    return figure


def main() -> None:
    """Run the example."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--links", type=Path, default=Path(__file__).parent / "forearm.yaml")
    parser.add_argument("--output", type=Path, default=Path("."))
    arguments = parser.parse_args()
    runs = run_all(arguments.links)
    print(table(runs))
    arguments.output.mkdir(parents=True, exist_ok=True)
    path = arguments.output / "elastic_forearm.png"
    draw(runs).savefig(path, dpi=110, metadata={"Software": None})
    print(f"wrote {path}")


if __name__ == "__main__":
    main()
