"""How much faster than real time the simulated arm runs headless: a controller's cycle at 1 kHz."""

from benchmark.line import Line, faster
from benchmark.timing import interleaved
from kane_dynamics_ros.runtime import load_model
from kane_dynamics_ros.simulation.hardware import SimulatedHardware
from kane_dynamics_ros.simulation.plant import Plant

CYCLES = 1000  # one simulated second


def lines() -> list[Line]:
    """Read the sensors, command what holds the arm there, step: the arm's own part, and all of the cycle."""
    model = load_model("manipulator_5dof")
    hardware = SimulatedHardware(Plant(model))
    command = model.gravity(hardware.read().position)

    def arm_alone() -> None:
        for _ in range(CYCLES):
            hardware.read()
            hardware.write(command)
            hardware.step()

    def with_controller() -> None:
        for _ in range(CYCLES):
            hardware.write(model.gravity(hardware.read().position))
            hardware.step()

    times = interleaved({"arm": arm_alone, "loop": with_controller}, repeats=9)
    period = hardware.engine.time_step * 1e6
    arm, loop = (times[name] / CYCLES * 1e6 for name in ("arm", "loop"))
    title = "real time"
    return [
        faster("simulated hardware, a cycle at 1 kHz", arm, period, title, "us", 100.0),
        Line("the same with gravity compensation", loop, period, title, "us"),
    ]
