"""The rivals compute what they are timed for: every one's torques against Pinocchio's."""

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("casadi")
pin = pytest.importorskip("pinocchio")

import sympy as sm
import sympy.physics.mechanics as me

from benchmark.arms import Arm, arms, write_reduced_urdf
from benchmark.kanes_method import inverse_dynamics as kanes_method
from benchmark.measured import casadi_programs
from kane_dynamics_ros.description import load_robot, serial_chain


def state(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    q, qd, qdd = np.random.default_rng(n).normal(size=(3, n))
    return q, qd, qdd


def pinocchio_torques(urdf: Path, n: int) -> np.ndarray:
    model = pin.buildModelFromUrdf(str(urdf))
    assert model.nv == n
    return np.asarray(pin.rnea(model, model.createData(), *state(n)))


@pytest.mark.parametrize("arm", tuple(arms()), ids=lambda arm: arm.name)
def test_casadi_newton_euler_agrees_with_pinocchio(arm: Arm, tmp_path: Path) -> None:
    """On the URDF's frames to rounding; on ours to 1e-10: a file may write pi/2 with 12 digits."""
    urdf = write_reduced_urdf(arm, tmp_path)
    programs = casadi_programs(arm.name, serial_chain(load_robot(urdf), arm.tip))
    expected = pinocchio_torques(urdf, arm.joints)
    for program, tolerance in zip(programs, (1e-12, 1e-10), strict=True):
        tau = np.asarray(program(*state(arm.joints))).ravel()
        np.testing.assert_allclose(tau, expected, atol=tolerance * np.abs(expected).max())


def test_sympys_kanes_method_agrees_with_pinocchio() -> None:
    arm = next(arms())
    chain = serial_chain(load_robot(arm.urdf), arm.tip)
    replacements, expressions = kanes_method(chain)
    values: dict[sm.Expr, float] = {}
    for name, numbers in zip(("q", "u", "a"), state(arm.joints), strict=True):
        for i, number in enumerate(numbers):
            symbol = sm.Symbol(f"a{i}") if name == "a" else me.dynamicsymbols(f"{name}{i}")
            values[symbol] = float(number)
    for symbol, expression in replacements:
        values[symbol] = float(expression.xreplace(values))
    tau = [float(expression.xreplace(values)) for expression in expressions]
    expected = pinocchio_torques(arm.urdf, arm.joints)
    np.testing.assert_allclose(tau, expected, atol=1e-12 * np.abs(expected).max())
