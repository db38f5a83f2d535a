"""Generated models of random chains and trees, one to eight joints, some slides: what every robot obeys."""

import newton_euler
import numpy as np
import pinocchio
import pytest
from pinocchio_chain import pinocchio_model
from random_chains import random_chain, random_gravity, random_inertia, random_state, random_tree
from scipy.integrate import solve_ivp
from urdf_of_chain import reframed, urdf_of

from kane_dynamics_ros.cli.verify import compared, largest_differences, random_trials
from kane_dynamics_ros.codegen.derive import derive
from kane_dynamics_ros.codegen.module import write_module
from kane_dynamics_ros.description import parse_robot, serial_chain
from kane_dynamics_ros.description.model import IDENTITY, ZERO, Chain, ChainJoint, Inertia
from kane_dynamics_ros.formulation.dual import Dual
from kane_dynamics_ros.formulation.kane import dynamics
from kane_dynamics_ros.runtime import Payload, load_model

CHAINS = {f"chain of {n}": random_chain(np.random.default_rng(100 + n), n) for n in range(1, 9)}
TREES = {f"tree of {n}": random_tree(np.random.default_rng(200 + n), n) for n in (2, 3, 5, 6, 8)}
ROBOTS = CHAINS | TREES
# Rounding alone: thousands of operations of 1e-16 each, and cancellation between terms.
ROUNDING = 1e-11


def model_of(chain: Chain, folder):
    """The generated model in pure Python, which needs no compiler."""
    return load_model(write_module(derive(chain), "module", folder)[0], backend="python")


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    return {name: model_of(chain, tmp_path_factory.mktemp("model")) for name, chain in ROBOTS.items()}


def difference(a, b) -> float:
    return float(np.max(np.abs(np.asarray(a) - b)) / np.max(np.abs(b)))


@pytest.mark.parametrize("name", ROBOTS)
def test_all_witnesses_agree(name, models):
    trials = random_trials(models[name], ROBOTS[name], None, 2, len(name))
    largest = largest_differences(map(compared, trials), lambda: None)
    assert {name: value for name, value in largest.items() if value >= ROUNDING} == {}


@pytest.mark.parametrize("name", ROBOTS)
def test_newton_euler_and_pinocchio_agree(name, models):
    n = len(models[name].joint_names)
    rng = np.random.default_rng(n)
    gravity, state = random_gravity(rng), random_state(rng, n)
    tau = models[name].with_parameters(gravity=gravity).inverse_dynamics(*state)
    assert difference(newton_euler.inverse_dynamics(ROBOTS[name], *state, gravity), tau) < ROUNDING
    model = pinocchio_model(ROBOTS[name], gravity)
    assert difference(pinocchio.rnea(model, model.createData(), *state), tau) < ROUNDING


@pytest.mark.parametrize("name", ROBOTS)
def test_mass_matrix_is_symmetric_and_positive_definite(name, models):
    rng = np.random.default_rng(1)
    for _ in range(3):
        M = models[name].mass_matrix(random_state(rng, len(models[name].joint_names))[0])
        assert np.array_equal(M, M.T)
        assert np.min(np.linalg.eigvalsh(M)) > 0


@pytest.mark.parametrize("name", ROBOTS)
def test_rate_of_mass_matrix_less_twice_coriolis_matrix_is_skew(name, models):
    """M' by dual numbers along the motion: the slope of tau(q(t), 0, e_j) without gravity."""
    n = len(models[name].joint_names)
    q, qd, _ = random_state(np.random.default_rng(n), n)
    moving, still, free_fall = [Dual(s, r) for s, r in zip(q, qd, strict=True)], [0.0] * n, (0.0, 0.0, 0.0)
    columns = []
    for unit in np.eye(n):
        tau = dynamics.inverse_dynamics(ROBOTS[name], moving, still, unit, free_fall)
        columns.append([effort.slope if isinstance(effort, Dual) else 0.0 for effort in tau])
    M_rate = np.array(columns, dtype=float).T
    N = M_rate - 2 * models[name].coriolis(q, qd)
    assert np.max(np.abs(N + N.T)) < ROUNDING * max(1.0, np.max(np.abs(N)))


@pytest.mark.parametrize("name", ROBOTS)
def test_forward_dynamics_inverts_inverse_dynamics(name, models):
    n = len(models[name].joint_names)
    q, qd, qdd = random_state(np.random.default_rng(n), n)
    tau = models[name].inverse_dynamics(q, qd, qdd)
    # the condition number of M multiplies the rounding
    condition = np.linalg.cond(models[name].mass_matrix(q))
    assert difference(models[name].forward_dynamics(q, qd, tau), qdd) < 1e-14 * max(condition, 1e3)


@pytest.mark.parametrize("name", ["chain of 1", "chain of 2", "chain of 4", "tree of 3"])
def test_energy_balances_along_the_motion(name, models):
    """Field report 67: d(T + U)/dt is the power of the efforts less that lost in friction."""
    n = len(models[name].joint_names)
    rng = np.random.default_rng(n)
    model = models[name].with_parameters(viscous=tuple(rng.uniform(0.1, 0.5, n)), gravity=random_gravity(rng))
    tau, (q, qd, _) = rng.uniform(-2, 2, n), random_state(rng, n)

    def rate(_, state):
        u = state[n : 2 * n]
        power = u @ (tau - model.friction(u))
        return np.concatenate([u, model.forward_dynamics(state[:n], u, tau), [power]])

    start = np.concatenate([q, qd, [0.0]])
    end = solve_ivp(rate, (0.0, 0.3), start, "DOP853", rtol=1e-11, atol=1e-11).y[:, -1]
    gained = sum(model.energy(end[:n], end[n : 2 * n])) - sum(model.energy(q, qd))
    assert gained == pytest.approx(end[-1], abs=1e-7)  # the integrator's tolerance over some 100 J


@pytest.mark.parametrize("n", [2, 4, 6])
def test_a_reframed_twin_has_the_same_torques(n, tmp_path):
    """Both as URDF text, read again: other link frames, inertials and origins, one robot."""
    rng, chain = np.random.default_rng(n), CHAINS[f"chain of {n}"]
    twin = reframed(chain, rng)
    twins = [
        model_of(serial_chain(parse_robot(urdf_of(chain)), "tip"), tmp_path / name)
        for name, chain in (("first", chain), ("second", twin))
    ]
    payload = random_inertia(rng)
    ixx, ixy, ixz, iyy, iyz, izz = (payload.tensor[i][j] for i in range(3) for j in range(i, 3))
    load = Payload(payload.mass, payload.com, (ixx, ixy, ixz, iyy, iyz, izz))
    for _ in range(3):
        state = random_state(rng, n)
        first, second = (model.with_parameters(payload=load).inverse_dynamics(*state) for model in twins)
        assert difference(first, second) < ROUNDING


@pytest.mark.parametrize("name", TREES)
def test_what_branches_do_not_share_is_zero_in_the_code(name):
    """M, and both derivatives of the efforts, between joints of which neither carries the other."""
    chain, derived = TREES[name], derive(TREES[name])
    n = len(chain.joints)
    carried_by = [{k} for k in range(n)]
    for k, joint in enumerate(chain.joints):
        if joint.parent >= 0:
            carried_by[k] |= carried_by[joint.parent]
    apart = {(i, j) for i in range(n) for j in range(n) if i not in carried_by[j] and j not in carried_by[i]}
    functions = {function.name: function for function in derived.equations.functions}
    for function, tables in (("mass_matrix", 1), ("inverse_dynamics_derivatives", 2)):
        outputs = functions[function].outputs
        for table in range(tables):
            zeros = {(k // n, k % n) for k in range(n * n) if outputs[table * n * n + k].is_zero}
            assert apart <= zeros


@pytest.mark.parametrize("name", TREES)
def test_a_payload_and_a_wrench_act_on_the_body_that_the_tip_is_fixed_in(name, models):
    rng = np.random.default_rng(7)
    chain, n = TREES[name], len(models[name].joint_names)
    q, qd, qdd = random_state(rng, n)
    payload, gravity = random_inertia(rng), random_gravity(rng)
    ixx, ixy, ixz, iyy, iyz, izz = (payload.tensor[i][j] for i in range(3) for j in range(i, 3))
    load = Payload(payload.mass, payload.com, (ixx, ixy, ixz, iyy, iyz, izz))
    model = models[name].with_parameters(payload=load, gravity=gravity)
    expected = newton_euler.inverse_dynamics(chain, q, qd, qdd, gravity, payload)
    assert difference(model.inverse_dynamics(q, qd, qdd), expected) < ROUNDING
    wrench = rng.normal(size=6)
    J, R = model.tip_jacobian(q), model.tip_pose(q)[:3, :3]
    in_root = np.concatenate([R @ wrench[:3], R @ wrench[3:]])
    effort = J[3:].T @ in_root[:3] + J[:3].T @ in_root[3:]
    assert model.external_effort(q, wrench) == pytest.approx(effort, abs=1e-12)
    pushed = model.inverse_dynamics(q, qd, qdd, wrench=wrench)
    assert pushed == pytest.approx(model.inverse_dynamics(q, qd, qdd) - effort, abs=1e-10)


def test_a_hanging_mass_pulls_down(tmp_path):
    """A bob 0.5 m below an axis along x: at angle s the actuator holds m g l sin(s)."""
    bob = Inertia(2.0, (0.0, 0.0, -0.5), (ZERO, ZERO, ZERO))
    swing = ChainJoint("swing", "revolute", IDENTITY, ZERO, (1.0, 0.0, 0.0), "bob", bob, 0, -1)
    model = model_of(Chain("pendulum", "base", "bob", (swing,), ("swing",), 0), tmp_path)
    for angle in (-1.0, 0.0, 0.4, 2.5):
        assert model.gravity([angle]) == pytest.approx([2.0 * 9.81 * 0.5 * np.sin(angle)], abs=1e-13)
