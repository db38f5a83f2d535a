"""Operations of inverse dynamics in the emitted C, counted by a parser."""

from benchmark.line import Line, below
from benchmark.measured import Measured, measured_arms
from benchmark.operations import count_operations

BOUNDS = {"ur5": 280, "so101": 468, "panda": 648}  # DESIGN.md: the best known figure of each arm


def lines() -> list[Line]:
    """Every arm's operations."""
    return [line for measured in measured_arms() for line in _counted(measured)]


def _counted(measured: Measured) -> list[Line]:
    """Ours against CasADi's programs of the same arm, and against DESIGN.md's bound."""
    name = measured.arm.name
    ours = count_operations(measured.source, f"{name}_inverse_dynamics").binary
    same_frames, urdf_frames = (
        count_operations(source, source.stem).binary
        for source in (measured.casadi_ours, measured.casadi_urdf)
    )
    work = f"{name}, operations"
    bound = BOUNDS.get(name)
    required = (
        below(work, ours, same_frames, "CasADi, our frames", "")
        if bound is None
        else below(work, ours, bound, "best known", "")
    )
    return [
        required,
        *([] if bound is None else [Line(work, ours, same_frames, "CasADi, our frames", "")]),
        Line(work, ours, urdf_frames, "CasADi, URDF frames", ""),
    ]
