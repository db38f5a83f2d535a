"""The pump with its elastic lever: one way as in the paper, and both ways, to test the paper's hypothesis."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

from kane_dynamics_ros.elastic.link import Material, beam_rates
from kane_dynamics_ros.papers import wind_pump_coupled as coupled
from kane_dynamics_ros.papers.differentiation_counts import assembly_times
from kane_dynamics_ros.papers.wind_pump_mechanism import CRANK_SPEED, Lever, Mechanism, close_loop
from kane_dynamics_ros.papers.wind_pump_turn import steady_turn

PUMP, STEEL = Mechanism(), Lever()
TURN = 2 * math.pi / CRANK_SPEED
SAMPLES = 121
LAST_HALF = slice(SAMPLES // 2, None)


@pytest.fixture(scope="module")
def start():
    return steady_turn(PUMP, 3).motions[0]


@pytest.fixture(scope="module")
def one_way(start):
    """The steel lever under the rigid motion's liaison forces."""
    return coupled.lever_under_liaison_forces(PUMP, STEEL, start, TURN, SAMPLES)


@pytest.fixture(scope="module")
def both_ways(start):
    """The pump with the steel lever in it."""
    return coupled.coupled_run(PUMP, STEEL, start, TURN, SAMPLES)


@pytest.fixture(scope="module")
def rigid(start):
    """The pump with the steel lever, which does not bend: its stiffness does not matter."""
    return coupled.coupled_run(PUMP, STEEL, start, TURN, SAMPLES, modes=0)


def of_stiffness(factor):
    return replace(STEEL, material=Material(factor * 2.1e11, factor * 8.1e10, 7850.0))


def moved(run, rigid):
    return np.abs(run.slide - rigid.slide).max() / np.ptp(rigid.slide)


def test_modes_of_the_lever_are_those_of_a_pinned_beam():
    """omega_i = (i pi / l)^2 sqrt(EI / m). Of unit modal mass, the middle moves by sqrt(2 / m l), and
    int v'^2 / 2 is (i pi / l)^2 / 2m.
    """
    shape, rates = coupled.bending_modes(PUMP, STEEL), beam_rates(STEEL.material, STEEL.section)
    EI, m = 2.1e11 * 0.02 * 0.004**3 / 12, rates.m
    wave = np.arange(1, 4) * math.pi / PUMP.l2
    np.testing.assert_allclose(shape.frequencies, wave**2 * math.sqrt(EI / m), rtol=1e-3)
    np.testing.assert_allclose(
        np.abs(shape.middle), math.sqrt(2 / (m * PUMP.l2)) * np.array([1, 0, 1]), rtol=2e-3, atol=1e-9
    )
    np.testing.assert_allclose(np.diag(shape.shortening), wave**2 / (2 * m), rtol=1e-3)


def test_one_way_and_coupled_give_the_same_deflection(one_way, both_ways):
    """Finite elements stepped by generalized-alpha, and modes by Runge-Kutta: no integrator in common."""
    size = np.abs(both_ways.deflection).max()
    assert 1e-4 < size < 1e-3
    assert np.abs(one_way.deflection - both_ways.deflection).max() < 0.05 * size


def test_stretch_at_the_end_is_the_liaison_force_over_the_axial_stiffness(one_way):
    """Hooke's law with the end load alone holds up to the lever's own weight and inertia, 0.3 kg of 6 kg."""
    rates = beam_rates(STEEL.material, STEEL.section)
    hooke = np.hypot(one_way.liaison[:, 0], one_way.liaison[:, 1]).max() * PUMP.l2 / (2.1e11 * 0.004 * 0.02)
    assert rates.m == pytest.approx(7850 * 0.004 * 0.02)
    assert np.abs(one_way.shortening[LAST_HALF]).max() == pytest.approx(hooke, rel=0.15)


def test_steel_lever_hardly_disturbs_the_rigid_motion_and_the_less_the_stiffer(start, rigid, both_ways):
    """The paper's hypothesis, which a lever a thousand times softer strains."""
    others = [coupled.coupled_run(PUMP, of_stiffness(each), start, TURN, SAMPLES) for each in (10, 1e-3)]
    steel, stiffer, soft = (moved(run, rigid) for run in (both_ways, *others))
    assert steel < 1e-4
    assert stiffer < steel / 4
    assert soft > 1e-3  # ten times the bound that steel keeps


def test_rigid_forces_at_C_and_D_come_from_the_pendulum_and_the_slide_alone(start):
    """Ten equations by least squares, and four of them solved, agree."""
    pump = coupled.with_lever(PUMP, STEEL)
    loads = coupled.driven(pump, start)
    four = coupled.forces_at_C_and_D(pump, start, float(loads.accelerations[1]))
    np.testing.assert_allclose(four, loads.liaison[4:8], rtol=1e-8)


def test_swinging_pump_without_loss_keeps_its_energy(start, monkeypatch):
    """Crank held: the gravity's and the spring's potential, the strain's and all kinetic energy add up."""
    monkeypatch.setattr(coupled, "DAMPING", 0.0)
    pump = replace(PUMP, Fr=0.0)
    held = start._replace(omega_1=0.0, v_D=0.3)
    soft = of_stiffness(0.05)
    run = coupled.coupled_run(pump, soft, held, TURN, 401)
    rest = coupled.coupled_run(pump, soft, held, TURN, 401, modes=0)
    assert np.abs(run.slide - rest.slide).max() > 1e-5  # the lever does swing with it
    energy = energies(pump, soft, held, run)
    assert np.ptp(energy[5:-5]) < 2e-3 * np.ptp(pump.k * (run.slide - pump.x0) ** 2 / 2)


def energies(pump, lever, held, run):
    """Total energy along a run, velocities by differences of positions; the lever bends in its
    first mode, as its middle tells.
    """
    pump, t = coupled.with_lever(pump, lever), run.time
    s = np.linspace(0, pump.l2, 41)
    weights = np.full(41, pump.m2 / 40)
    weights[[0, -1]] /= 2
    shape = np.sin(np.pi * s / pump.l2)
    EI = lever.material.E * 0.02 * 0.004**3 / 12
    strain = EI * (np.pi / pump.l2) ** 4 * pump.l2 / 4 * run.deflection**2
    points, turns, centres = [], [], []
    for x, w in zip(run.slide, run.deflection, strict=True):
        angles = close_loop(pump, held.phi_1, x)
        along = np.array([math.cos(angles.phi_2), math.sin(angles.phi_2)])
        across = np.array([-along[1], along[0]])
        B = pump.l1 * np.array([math.cos(held.phi_1), math.sin(held.phi_1)])
        points.append(B + np.outer(s, along) + w * np.outer(shape, across))
        turns.append(angles.phi_3)
        direction = angles.phi_3 - pump.psi - pump.xi
        centres.append(B + pump.l2 * along + pump.hg * np.array([math.cos(direction), math.sin(direction)]))
    points, centres = np.array(points), np.array(centres)
    v, v3 = np.gradient(points, t, axis=0), np.gradient(centres, t, axis=0)
    kinetic = np.einsum("p,npi,npi->n", weights, v, v) / 2
    kinetic += pump.m3 / 2 * (v3**2).sum(axis=1) + pump.J3 / 2 * np.gradient(np.array(turns), t) ** 2
    kinetic += pump.mD / 2 * np.gradient(run.slide, t) ** 2
    weight = 9.81 * (points[:, :, 1] @ weights + pump.m3 * centres[:, 1])
    return kinetic + weight + strain + pump.k / 2 * (run.slide - pump.x0) ** 2


def test_times_are_ratios_to_kane_s_of_the_same_run():
    """By a clock that counts its own readings every method takes one tick; by one that slows down, more."""
    ticks = itertools.count()
    assert assembly_times("plane", 1, lambda: float(next(ticks))) == {
        "Lagrange": 1.0,
        "Gibbs-Appell": 1.0,
        "Kane": 1.0,
    }
    readings = iter((0.0, 6.0, 10.0, 13.0, 20.0, 22.0))
    assert assembly_times("plane", 1, lambda: next(readings)) == {
        "Lagrange": 3.0,
        "Gibbs-Appell": 1.5,
        "Kane": 1.0,
    }
