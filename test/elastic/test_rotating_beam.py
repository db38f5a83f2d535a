"""A beam on a turning hub: published frequencies, and the spin-up of Kane, Ryan and Banerjee (1987)."""

import math

import numpy as np
import pytest

from kane_dynamics_ros.elastic.body import clamped, restrict, straight_beam
from kane_dynamics_ros.elastic.equations import (
    RigidMotion,
    axial_load,
    coefficients,
    geometric_stiffness,
    gyroscopic_frequencies,
)
from kane_dynamics_ros.elastic.link import BeamRates

# Unit beam: m = EIy = L = 1, so that frequencies are non-dimensional. Axially stiff, as in the source.
UNIT = BeamRates(m=1.0, my=1e-8, mz=1e-8, ry=0.0, rz=0.0, EA=1e6, GJ=1.0, EIy=1.0, EIz=1.0)
# Wright, Smith, Thresher and Wang (1982), uniform beam, no hub: first flapping frequency.
WRIGHT = {0: 3.5160, 1: 3.6816, 2: 4.1373, 3: 4.7973, 4: 5.5850}


def flapping(speed: float, elements: int = 10, stiffened: bool = True) -> float:
    body = clamped(straight_beam("space", UNIT, 1.0, elements))
    body = restrict(body, [i for i in body.free if i % 6 not in (2, 4)])
    motion = RigidMotion(np.zeros(3), np.array([0.0, 0.0, speed]), np.zeros(3))
    system = coefficients(body, motion)
    k = system.k + (geometric_stiffness(body, axial_load(body, motion)) if stiffened else 0.0)
    return float(gyroscopic_frequencies(system._replace(k=k))[0])


@pytest.mark.parametrize(("speed", "published"), WRIGHT.items())
def test_first_flapping_frequency_agrees_with_the_published_table(speed, published):
    assert flapping(speed) == pytest.approx(published, abs=0.5e-4 + 1e-5)  # half of the last printed digit


def test_without_stiffening_the_flapping_frequency_does_not_rise():
    assert flapping(4, stiffened=False) == pytest.approx(WRIGHT[0], abs=1e-4)


def test_lagging_frequency_is_the_flapping_one_lowered_by_the_speed():
    """In the plane of rotation k(omega) = -Omega^2 m: w_lag^2 = w_flap^2 - Omega^2 (no hub)."""
    speed = 3.0
    body = clamped(straight_beam("space", UNIT, 1.0, 10))
    body = restrict(body, [i for i in body.free if i % 6 not in (1, 5)])
    motion = RigidMotion(np.zeros(3), np.array([0.0, 0.0, speed]), np.zeros(3))
    system = coefficients(body, motion)
    k = system.k + geometric_stiffness(body, axial_load(body, motion))
    lag = gyroscopic_frequencies(system._replace(k=k))[0]
    assert lag == pytest.approx(math.sqrt(flapping(speed) ** 2 - speed**2), rel=1e-9)
