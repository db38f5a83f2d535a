"""Natural frequencies against closed forms of Euler-Bernoulli beams: (beta L)^2 sqrt(EI / (m L^4))."""

import math

import numpy as np
import pytest

from kane_dynamics_ros.elastic.body import DOFS, ElasticBody, restrict, straight_beam
from kane_dynamics_ros.elastic.equations import mass, natural_frequencies
from kane_dynamics_ros.elastic.link import Material, beam_rates, rectangle

LENGTH = 0.8
STEEL = Material(E=2.1e11, G=8.1e10, density=7850.0)
RATES = beam_rates(STEEL, rectangle(0.03, 0.012))

# Roots beta L of the frequency equations, cos cosh = -1 (clamped-free) and cos cosh = 1 (free-free,
# clamped-clamped), to 10 digits; pinned-pinned: i pi.
CLAMPED_FREE = (1.8751040687, 4.6940911330, 7.8547574382)
CLAMPED_CLAMPED = (4.7300407449, 7.8532046241, 10.9956078380)
PINNED = (math.pi, 2 * math.pi, 3 * math.pi)


def bending_only(
    body: ElasticBody, bending: tuple[int, ...], ends: dict[int, tuple[int, ...]]
) -> ElasticBody:
    """Keep one bending's coordinates; hold those that ``ends`` names at a node."""
    dofs = DOFS[body.kind]
    other = [i for i in range((body.elements + 1) * dofs) if i % dofs not in bending]
    held = [node * dofs + i for node, names in ends.items() for i in names]
    return restrict(body, [*other, *held])


def frequencies(kind: str, bending: tuple[int, int], ends: str, elements: int) -> np.ndarray:
    body = straight_beam(kind, RATES, LENGTH, elements)
    hold = {"C": bending, "P": bending[:1], "F": ()}
    supports = {0: hold[ends[0]], elements: hold[ends[1]]}
    beam = bending_only(body, bending, supports)
    return natural_frequencies(mass(beam), beam.k)


PLANES = [("plane", (1, 2), RATES.EIz), ("space", (1, 5), RATES.EIz), ("space", (2, 4), RATES.EIy)]
SUPPORTS = [
    ("CF", CLAMPED_FREE, 0),
    ("CC", CLAMPED_CLAMPED, 0),
    ("PP", PINNED, 0),
    ("FF", CLAMPED_CLAMPED, 2),
]


@pytest.mark.parametrize(("kind", "bending", "EI"), PLANES)
@pytest.mark.parametrize(("ends", "roots", "rigid"), SUPPORTS)
def test_frequencies_converge_with_order_four_to_the_closed_form(kind, bending, EI, ends, roots, rigid):
    exact = np.square(roots) * math.sqrt(EI / (RATES.m * LENGTH**4))
    counts = (8, 16, 32)
    errors = np.array([frequencies(kind, bending, ends, n)[rigid : rigid + 3] / exact - 1 for n in counts])
    orders = np.log2(errors[:-1] / errors[1:])
    assert np.all(errors[:2] > 0)  # the consistent mass matrix bounds from above
    # The error is c h^4 (1 + O(h^2)), so the measured order tends to 4 as the elements shrink.
    np.testing.assert_allclose(orders[0], 4.0, atol=0.25)
    # On 32 elements the first mode's error is near 1e-9, where round-off of stiff elements begins.
    np.testing.assert_allclose(orders[1, 1:], 4.0, atol=0.07)


@pytest.mark.parametrize(("coordinate", "stiffness", "inertia"), [(0, "EA", "m"), (3, "GJ", "polar")])
def test_axial_and_torsional_frequencies_converge_with_order_two(coordinate, stiffness, inertia):
    """Linear shape functions: clamped-free (2 i - 1) pi / 2 sqrt(stiffness / inertia) / L."""
    rate = RATES.m if inertia == "m" else RATES.my + RATES.mz
    exact = math.pi / 2 / LENGTH * math.sqrt(getattr(RATES, stiffness) / rate)
    errors = []
    for elements in (8, 16):
        body = bending_only(
            straight_beam("space", RATES, LENGTH, elements), (coordinate,), {0: (coordinate,)}
        )
        errors.append(natural_frequencies(mass(body), body.k)[0] / exact - 1)
    assert math.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.01)


def test_a_free_beam_in_space_has_six_rigid_motions():
    body = straight_beam("space", RATES, LENGTH, 6)
    values = natural_frequencies(mass(body), body.k)
    # Round-off of an eigenvalue problem whose largest frequency is 1e6 rad/s: sqrt(1e-16) of it.
    assert np.all(values[:6] < 1e-6 * values[-1])
    assert values[6] > 100.0


def test_rotary_inertia_lowers_the_pinned_frequency_as_rayleigh_says():
    """Rayleigh's beam, pinned: w = (i pi / L)^2 sqrt(EI / m) / sqrt(1 + (i pi / L)^2 I / A)."""
    rates = beam_rates(STEEL, rectangle(0.03, 0.2), rotary_inertia=True)
    body = bending_only(straight_beam("space", rates, LENGTH, 16), (2, 4), {0: (2,), 16: (2,)})
    wave = math.pi / LENGTH
    exact = wave**2 * math.sqrt(rates.EIy / rates.m) / math.sqrt(1 + wave**2 * rates.mz / rates.m)
    assert natural_frequencies(mass(body), body.k)[0] == pytest.approx(
        exact, rel=5e-6
    )  # order 4, 16 elements
