"""Does the lever's elasticity disturb the pump's motion? [WindPump] supposes not, and computes one way.

One way, as the paper: the rigid mechanism's motion moves the lever's frame, and the lever is integrated in
time under it and the liaison force at C' (``lever_under_liaison_forces``). Both ways (``coupled_run``): the
slide x_D and the amplitudes eta of the lever's first bending modes are coordinates of one system while the
crank turns steadily,

    M (x_D'', eta'')^T = sum P^T (forces - inertia forces), P: partial velocities by x_D' and eta'.

The lever bends between B and C', whose distance stays l_2 to the first order, so that the loop closes as for
the rigid lever.
"""

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import scipy.linalg
from scipy.integrate import solve_ivp

from kane_dynamics_ros.algebra import Array
from kane_dynamics_ros.elastic.arm_model import floating_inertia
from kane_dynamics_ros.elastic.body import DOFS, ElasticBody, restrict, straight_beam
from kane_dynamics_ros.elastic.equations import geometric_stiffness, proportional_damping
from kane_dynamics_ros.elastic.link import beam_rates
from kane_dynamics_ros.papers.planar_beam import PlanarMotion, at_rest, planar_beam, sample_time, step
from kane_dynamics_ros.papers.wind_pump_mechanism import (
    CRANK_SPEED,
    Lever,
    Loads,
    Mechanism,
    MechanismState,
    accelerations,
    close_loop,
    driven,
    equations_of_motion,
    external_forces,
    liaison_matrix,
    mass_matrix,
    slide_acceleration,
    speed_ratios,
)
from kane_dynamics_ros.papers.wind_pump_turn import axes, lever_motion

DAMPING = 0.02  # ratio of the lever's first two modes
MODES = 3
PENDULUM_AND_SLIDE = slice(6, 10)  # their rows of (A43), which hold the forces at C' and D and no others
FORCES_AT_C_AND_D = slice(4, 8)


class CoupledMotion(NamedTuple):
    """Samples of a run, N of them.

    Time [s] (N,), slide [m] (N,), the lever's middle across its chord [m] (N,), how much nearer its ends are
    for its bend [m] (N,), and X_C, Y_C, X_D, Y_D [N] (N, 4).
    """

    time: Array
    slide: Array
    deflection: Array
    shortening: Array
    liaison: Array


class Modes(NamedTuple):
    """The lever over the amplitudes of its first bending modes, of unit modal mass.

    ``middle`` (modes,): deflection of the middle; ``shortening`` (modes, modes): int v'^2 dx / 2 is
    eta . shortening eta.
    """

    body: ElasticBody
    frequencies: Array
    middle: Array
    shortening: Array


def with_lever(pump: Mechanism, lever: Lever) -> Mechanism:
    """The pump with mass and inertia of this lever, taken as rigid."""
    m2 = beam_rates(lever.material, lever.section).m * pump.l2
    return replace(pump, a2=0.5, m2=m2, J2=m2 * pump.l2**2 / 12)


def bending_modes(pump: Mechanism, lever: Lever, modes: int = MODES) -> Modes:
    """Modes of the lever pinned at B and guided at C', without stretch."""
    dofs, last = DOFS["plane"], lever.elements * DOFS["plane"]
    beam = straight_beam("plane", beam_rates(lever.material, lever.section), pump.l2, lever.elements)
    bent = restrict(beam, {1, last + 1, *range(0, last + 1, dofs)})
    squared, shapes = scipy.linalg.eigh(bent.k, np.einsum("aaij->ij", bent.D))
    shapes = shapes[:, :modes]
    unit_load = geometric_stiffness(bent, np.ones((lever.elements, 3)))  # int N'^T N' dx
    middle = shapes[bent.free.index(lever.elements // 2 * dofs + 1)]
    body = replace(
        bent,
        D=np.einsum("abij,ik,jl->abkl", bent.D, shapes, shapes),
        E=bent.E @ shapes,
        m_O=bent.m_O @ shapes,
        k=shapes.T @ bent.k @ shapes,
        free=tuple(range(modes)),
    )
    return Modes(body, np.sqrt(squared[:modes]), middle, shapes.T @ unit_load @ shapes / 2)


def coupled_run(
    pump: Mechanism, lever: Lever, start: MechanismState, duration: float, samples: int, modes: int = MODES
) -> CoupledMotion:
    """The slide and the lever's modes as one system, the crank turning steadily; the lever starts straight.

    The mechanism's other bodies contribute as in eq. (A46), by their partial velocities.
    """
    pump = with_lever(pump, lever)
    shape = bending_modes(pump, lever, modes)
    rest = replace(pump, m2=0.0, J2=0.0)
    c = np.diag(2 * DAMPING * shape.frequencies)

    def second(t: float, y: Array) -> Array:
        x_D, eta, v_D, rate = y[0], y[1 : modes + 1], y[modes + 1], y[modes + 2 :]
        motion = MechanismState(start.phi_1 + start.omega_1 * t, start.omega_1, x_D, v_D)
        frame = lever_motion(pump, motion, Loads(np.zeros(2), 0.0, np.zeros(8)))  # at x_D'' = 0
        inertia = floating_inertia(
            shape.body, eta, rate, frame.omega, np.concatenate([frame.epsilon, frame.a_O])
        )
        turning = speed_ratios(pump, close_loop(pump, motion.phi_1, x_D))[0, 1] / pump.l2  # by x_D'
        matrix, load = equations_of_motion(rest, motion, 0.0)
        M = np.eye(modes + 1)
        M[0, 0] = matrix[1, 1] + turning**2 * inertia.spatial[2, 2]
        M[0, 1:] = M[1:, 0] = turning * inertia.coupling[2]
        forces = np.empty(modes + 1)
        forces[0] = load[1] - turning * inertia.bias[2]
        forces[1:] = -inertia.bias_delta - shape.body.k @ eta - c @ rate
        return np.asarray(np.linalg.solve(M, forces), dtype=float)

    def rate_of(t: float, y: Array) -> Array:
        return np.concatenate([y[modes + 1 :], second(t, y)])

    moments = np.linspace(0.0, duration, samples)
    y0 = np.zeros(2 * modes + 2)
    y0[0], y0[modes + 1] = start.x_D, start.v_D
    y = solve_ivp(rate_of, (0.0, duration), y0, "DOP853", moments, rtol=1e-8, atol=1e-10).y.T
    eta = y[:, 1 : modes + 1]
    liaison = [
        forces_at_C_and_D(
            pump,
            MechanismState(start.phi_1 + start.omega_1 * t, start.omega_1, state[0], state[modes + 1]),
            float(second(t, state)[0]),
        )
        for t, state in zip(moments, y, strict=True)
    ]
    shortening = np.einsum("ni,ij,nj->n", eta, shape.shortening, eta)
    return CoupledMotion(moments, y[:, 0], eta @ shape.middle, shortening, np.array(liaison))


def rigid_run(
    pump: Mechanism, lever: Lever, start: MechanismState, duration: float, samples: int
) -> CoupledMotion:
    """The motion with a rigid lever, by eq. (A46)."""
    pump = with_lever(pump, lever)

    def at(t: float, x_D: float, v_D: float) -> MechanismState:
        return MechanismState(start.phi_1 + start.omega_1 * t, start.omega_1, x_D, v_D)

    def rate_of(t: float, y: Array) -> list[float]:
        return [y[1], slide_acceleration(pump, at(t, *y))]

    moments = np.linspace(0.0, duration, samples)
    y = solve_ivp(
        rate_of, (0.0, duration), [start.x_D, start.v_D], "DOP853", moments, rtol=1e-8, atol=1e-10
    ).y.T
    liaison = [driven(pump, at(t, *state)).liaison[4:8] for t, state in zip(moments, y, strict=True)]
    return CoupledMotion(moments, y[:, 0], np.zeros(samples), np.zeros(samples), np.array(liaison))


def forces_at_C_and_D(pump: Mechanism, motion: MechanismState, slide: float) -> Array:
    """X_C, Y_C, X_D, Y_D [N] from the pendulum's and the slide's rows of (A43) at x_D'' = ``slide``."""
    angles = close_loop(pump, motion.phi_1, motion.x_D)
    A, B = accelerations(pump, angles)
    products = np.array([motion.omega_1**2, motion.omega_1 * motion.v_D, motion.v_D**2])
    left = mass_matrix(pump) @ (A @ [0.0, slide] + B @ products) - external_forces(pump, motion, 0.0)
    rows = liaison_matrix(pump, angles)[PENDULUM_AND_SLIDE, FORCES_AT_C_AND_D]
    return np.asarray(np.linalg.solve(rows, left[PENDULUM_AND_SLIDE]))


def lever_under_liaison_forces(
    pump: Mechanism, lever: Lever, start: MechanismState, duration: float, samples: int, steps: int = 10
) -> CoupledMotion:
    """The lever integrated in time, its frame moving as the rigid mechanism's and C' pulled by (X_C, -Y_C).

    ``steps`` between two samples. The pull's share across the lever goes into the guide at C'.
    """
    pump = with_lever(pump, lever)
    n, last = steps * (samples - 1) + 1, lever.elements * DOFS["plane"]
    h = duration / (n - 1)
    frequencies = bending_modes(pump, lever, 2).frequencies
    damping = proportional_damping((DAMPING, DAMPING), (float(frequencies[0]), float(frequencies[1])))
    rates = beam_rates(lever.material, lever.section)
    beam = planar_beam(rates, pump.l2, lever.elements, (0, 1, last + 1), damping)
    radius = 0.8  # the stretch's frequencies are far above what the steps resolve

    def rate_of(t: float, y: Array) -> list[float]:
        return [
            y[1],
            slide_acceleration(pump, MechanismState(start.phi_1 + start.omega_1 * t, start.omega_1, *y)),
        ]

    tolerances = {"rtol": 1e-8, "atol": 1e-10}
    slide = solve_ivp(
        rate_of, (0.0, duration + h), [start.x_D, start.v_D], "DOP853", dense_output=True, **tolerances
    ).sol
    state, found, force = at_rest(beam), [at_rest(beam).d], np.zeros(last + 3)
    for i in range(n - 1):
        t = sample_time(i * h, h, radius)
        motion = MechanismState(start.phi_1 + start.omega_1 * t, start.omega_1, *slide(t))
        loads = driven(pump, motion)
        frame = lever_motion(pump, motion, loads)
        along, _ = axes(close_loop(pump, motion.phi_1, motion.x_D))
        force[last] = np.array([loads.liaison[4], -loads.liaison[5]]) @ along
        plane = PlanarMotion(
            float(frame.a_O[0]), float(frame.a_O[1]), float(frame.omega[2]), float(frame.epsilon[2])
        )
        state = step(beam, state, plane, h, radius, force)
        if (i + 1) % steps == 0:
            found.append(state.d)
    d = np.array(found)
    moments = np.linspace(0.0, duration, samples)
    liaison = [
        driven(pump, MechanismState(start.phi_1 + start.omega_1 * t, start.omega_1, *slide(t))).liaison[4:8]
        for t in moments
    ]
    middle = d[:, lever.elements // 2 * DOFS["plane"] + 1]
    return CoupledMotion(moments, slide(moments)[0], middle, -d[:, last], np.array(liaison))


def hypothesis(
    pump: Mechanism, lever: Lever, start: MechanismState, turns: int = 3, samples: int = 241
) -> list[str]:
    """What elasticity changes over the last of ``turns`` turns of the crank, a line each."""
    duration = turns * 2 * math.pi / CRANK_SPEED
    rigid = rigid_run(pump, lever, start, duration, samples)
    both = coupled_run(pump, lever, start, duration, samples)
    one = lever_under_liaison_forces(pump, lever, start, duration, samples)
    last = slice(-samples // turns, None)
    stroke = float(np.ptp(rigid.slide[last]))
    moved = float(np.abs(both.slide - rigid.slide)[last].max())
    pull = np.hypot(rigid.liaison[:, 0], rigid.liaison[:, 1])[last].max()
    change = np.hypot(*(both.liaison - rigid.liaison)[last, :2].T).max()
    return [
        f"the elastic lever over turn {turns} of the crank, {MODES} bending modes, damping ratio {DAMPING:g}",
        f"  middle, one way as in the paper  {np.abs(one.deflection[last]).max() * 1e3:8.4f} mm",
        f"  middle, coupled                  {np.abs(both.deflection[last]).max() * 1e3:8.4f} mm",
        f"  stretch at C', one way           {np.abs(one.shortening[last]).max() * 1e6:8.4f} um",
        f"  ends nearer by the bend, coupled {both.shortening[last].max() * 1e6:8.4f} um",
        f"  slide, coupled less rigid        {moved * 1e6:8.4f} um of a stroke of {stroke * 1e3:.2f} mm "
        f"({moved / stroke:.1e})",
        f"  force at C', coupled less rigid  {change:8.4f} N of {pull:.2f} N ({change / pull:.1e})",
    ]
