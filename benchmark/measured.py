"""An arm ready to be measured: its one URDF, our module and CasADi's programs of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import casadi as ca

from benchmark.arms import REPOSITORY, Arm, arms, write_reduced_urdf
from benchmark.newton_euler import GRAVITY, derived_programs, inverse_dynamics, write_c
from kane_dynamics_ros.algebra import apply
from kane_dynamics_ros.codegen.derive import derive
from kane_dynamics_ros.codegen.functions import best_arrangement
from kane_dynamics_ros.codegen.module import write_module
from kane_dynamics_ros.description import load_robot, serial_chain
from kane_dynamics_ros.description.model import Chain
from kane_dynamics_ros.formulation.kane.frames import reframe
from kane_dynamics_ros.formulation.kane.segments import regroup, segments_of

BUILD = REPOSITORY / "build" / "benchmark"


@dataclass(frozen=True)
class Measured:
    """Files of one arm in the run's folder."""

    arm: Arm
    urdf: Path
    module: Path  # NAME.py
    source: Path  # NAME.c
    casadi_urdf: Path  # CasADi's C on the URDF's frames
    casadi_ours: Path  # CasADi's C on our frames and base parameters
    casadi_derived: Mapping[str, Path]  # what CasADi derives from it: work to C file


@cache
def measured_arms() -> tuple[Measured, ...]:
    """All arms, the reference robot first, in build/benchmark."""
    BUILD.mkdir(parents=True, exist_ok=True)
    return tuple(prepare(arm, BUILD) for arm in arms())


def prepare(arm: Arm, folder: Path) -> Measured:
    """Reduce the URDF, generate our module and both of CasADi's programs."""
    urdf = write_reduced_urdf(arm, folder)
    chain = serial_chain(load_robot(urdf), arm.tip)
    write_module(derive(chain), arm.name, folder)
    programs = casadi_programs(arm.name, chain)
    sources = [write_c(program, folder) for program in programs]
    derived = derived_programs(f"{arm.name}_on_our_frames", programs[1])
    derived_sources = {work: write_c(program, folder) for work, program in derived.items()}
    stem = folder / arm.name
    return Measured(arm, urdf, stem.with_suffix(".py"), stem.with_suffix(".c"), *sources, derived_sources)


def casadi_programs(name: str, chain: Chain) -> tuple[ca.Function, ca.Function]:
    """Newton-Euler on the URDF's frames, and on our frames and base parameters."""
    reframed = reframe(chain)
    gravity = apply(reframed.R_0R, GRAVITY)
    best = best_arrangement(reframed.segments, gravity, chain.rotor_inertia, share=False)
    return (
        inverse_dynamics(f"{name}_on_urdf_frames", segments_of(chain)),
        inverse_dynamics(f"{name}_on_our_frames", regroup(reframed.segments, best.keep), gravity),
    )
