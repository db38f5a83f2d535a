"""Recordings of the simulated reference robot: it follows sines under computed torque."""

from functools import cache

import numpy as np
from replay_bags import Array, Record, record

from kane_dynamics_ros.runtime import DynamicsModel, Payload
from kane_dynamics_ros.simulation.hardware import SimulatedHardware
from kane_dynamics_ros.simulation.plant import Plant
from kane_dynamics_ros.simulation.rollout import simulate

RATE, SECONDS = 1000.0, 20.0
MIDDLE, SIZE = np.array([0.0, 0.6, -0.8, 0.0, 0.0]), np.array([0.8, 0.5, 0.6, 0.8, 0.8])
OMEGA = 2 * np.pi * np.array([0.31, 0.43, 0.53, 0.71, 0.83])  # [rad/s]


def sines(time: float) -> Array:
    """Position, velocity, acceleration: (3, 5); it begins at rest, half a cosine at a time."""
    angle = OMEGA * time
    return np.stack(
        [
            MIDDLE + SIZE * (1 - np.cos(angle)) / 2,
            SIZE * OMEGA * np.sin(angle) / 2,
            SIZE * OMEGA**2 * np.cos(angle) / 2,
        ]
    )


@cache
def recorded(model: DynamicsModel, payload: Payload) -> Record:
    """The simulated arm with a payload and the URDF's friction, under a controller that knows neither."""
    plant = Plant(model)
    plant.set_payload(payload)
    plant.reset(MIDDLE, np.zeros(5))

    def controller(reference: Array, q: Array, qd: Array) -> Array:
        feedback = 400.0 * (reference[0] - q) + 40.0 * (reference[1] - qd)
        return model.inverse_dynamics(q, qd, reference[2] + feedback)

    run = simulate(model, controller, sines, SECONDS, SimulatedHardware(plant))
    return record(run.position, run.velocity, run.effort, RATE, model.joint_names)
