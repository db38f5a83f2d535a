"""Joint states by name: orders, subsets, lengths, stamps, NaN, several publishers."""

from array import array
from types import SimpleNamespace

import numpy as np
import pytest

from kane_dynamics_ros.nodes.feedforward.parameters import TABLE
from kane_dynamics_ros.nodes.joint_states import MOST_ORDERS, JointStateReader

JOINTS = ("shoulder", "elbow", "wrist")
NOW = 1_000_000_000_000
SECOND = 1_000_000_000
NAN = float("nan")
ALLOWED = "allowed: 3 positions, 0 or 3 of the others"


def state(names=JOINTS, position=(1.0, 2.0, 3.0), velocity=(0.1, 0.2, 0.3), effort=(), stamp=NOW):
    seconds, nanoseconds = divmod(stamp, SECOND)
    return SimpleNamespace(
        header=SimpleNamespace(stamp=SimpleNamespace(sec=seconds, nanosec=nanoseconds)),
        name=list(names),
        position=array("d", position),
        velocity=array("d", velocity),
        effort=array("d", effort),
    )


def reader_with(kinds=("revolute",) * 3, **changes):
    """A reader of joints of these kinds; ``changes`` are to the node's default parameters."""
    model = SimpleNamespace(joint_names=JOINTS, joints=[SimpleNamespace(kind=kind) for kind in kinds])
    defaults = {each.name: each.default for each in TABLE}
    return JointStateReader(model, defaults | {name.replace("__", "."): x for name, x in changes.items()})


@pytest.fixture
def reader():
    return reader_with()


def test_names_count_and_not_the_order(reader):  # field report 77
    orders = [("wrist", "shoulder", "elbow"), JOINTS, ("elbow", "wrist", "shoulder")]
    value = dict(zip(JOINTS, (1.0, 2.0, 3.0), strict=True))
    for names in orders * 2:
        positions = [value[name] for name in names]
        assert reader.take(state(names, positions, [p / 10 for p in positions]), NOW, 1.0)
        np.testing.assert_array_equal(reader.q, [1.0, 2.0, 3.0])
        np.testing.assert_array_equal(reader.qd, np.array([1.0, 2.0, 3.0]) / 10)


def test_joints_of_others_are_left_out_also_when_they_are_nan(reader):
    names = ("gripper", "wrist", "base", "shoulder", "elbow")
    assert reader.take(state(names, (NAN, 3.0, NAN, 1.0, 2.0), (NAN, 0.3, 9.0, 0.1, 0.2)), NOW, 1.0)
    np.testing.assert_array_equal(reader.q, [1.0, 2.0, 3.0])


def test_a_message_about_another_robot_is_no_state_and_no_fault(reader):
    assert not reader.take(state(("left", "right"), (0.0, 0.0), ()), NOW, 1.0)
    assert not reader.refusals
    assert reader.other_joints == ["left", "right"]
    assert [name for name in ("left", "right", *JOINTS) if name not in reader.no_state_reason()] == []
    assert reader.take(state(), NOW, 1.0)
    assert reader.other_joints == []


def test_a_joint_whose_states_do_not_come_is_named_beside_those_of_a_gripper(reader):
    assert not reader.take(state(JOINTS[:2], (1.0, 2.0), (0.1, 0.2)), NOW, 1.0)
    assert not reader.take(state(("left", "right"), (0.0, 0.0), ()), NOW, 1.0)
    assert [name for name in (*JOINTS, "left") if repr(name) in reader.no_state_reason()] == [JOINTS[2]]


def test_a_stamp_of_simulated_time_on_the_systems_clock_is_told(reader):
    now = 1_795_973_776 * SECOND
    assert not reader.take(state(stamp=12 * SECOND), now, 1.0)
    assert "use_sim_time" in reader.no_state_reason()
    assert not reader.take(state(stamp=now - SECOND), now, 1.0)
    assert "use_sim_time" not in reader.no_state_reason()


def test_a_reader_that_starts_anew_gives_no_reasons_of_before(reader):
    fresh = reader.no_state_reason()
    assert not reader.take(state(position=(1.0, 2.0)), NOW, 1.0)
    assert not reader.take(state(("left", "right"), (0.0, 0.0), ()), NOW, 1.0)
    assert reader.no_state_reason() != fresh
    reader.forget()
    assert reader.no_state_reason() == fresh


def test_a_message_about_another_robot_does_not_answer_our_state_again(reader):
    assert reader.take(state(), NOW, 1.0)
    assert not reader.take(state(("left", "right"), (0.0, 0.0), ()), NOW, 1.01)


@pytest.mark.parametrize(
    ("given", "kind", "why"),
    [
        (
            state(position=(1.0, 2.0)),
            "wrong_length",
            "3 names with 2 positions, 3 velocities and 0 efforts; " + ALLOWED,
        ),
        (
            state(velocity=(0.1,)),
            "wrong_length",
            "3 names with 3 positions, 1 velocities and 0 efforts; " + ALLOWED,
        ),
        (
            state(effort=(0.1, 0.2)),
            "wrong_length",
            "3 names with 3 positions, 3 velocities and 2 efforts; " + ALLOWED,
        ),
        (state(position=()), "no_position", "no positions of 3 names; the node needs them"),
        (
            state(position=(1.0, NAN, 3.0)),
            "not_finite",
            "a position or velocity is not finite: [1.0, nan, 3.0], [0.1, 0.2, 0.3]",
        ),
        (
            state(velocity=(0.1, float("inf"), 0.3)),
            "not_finite",
            "a position or velocity is not finite: [1.0, 2.0, 3.0], [0.1, inf, 0.3]",
        ),
        (
            state(stamp=NOW - SECOND),
            "old_stamp",
            "the state is 1.000 s old; allowed is 0.1 s (safety.state_timeout)",
        ),
        (
            state(stamp=NOW + 2 * SECOND),
            "future_stamp",
            "the state is 2.000 s in the future; allowed is 0.1 s (safety.state_timeout)",
        ),
        (
            state(("elbow", "elbow", "wrist")),
            "duplicate_name",
            "a joint is named twice in 'elbow', 'elbow', 'wrist'",
        ),
    ],
)
def test_a_bad_state_is_dropped_counted_and_explained(reader, given, kind, why):  # field reports 79, 82
    for count in (1, 2):
        assert not reader.take(given, NOW, 1.0)
        assert reader.refusals == {kind: count}
    assert reader.last_refusal == why
    assert reader.take(state(), NOW, 1.0)


def test_an_effort_of_nan_does_not_matter(reader):  # field report 81
    assert reader.take(state(effort=(NAN, NAN, NAN)), NOW, 1.0)


def test_a_stamp_of_zero_means_now(reader):  # field report 86
    assert reader.take(state(stamp=0), NOW, 1.0)
    assert not reader.refusals


def test_the_period_of_the_states_is_presumed_until_two_stamps_tell_it(reader):
    """A clock that jitters by less must not pass for one that jumped, from the first state on."""
    presumed = reader.period_ns
    assert presumed > 0
    assert reader.take(state(stamp=NOW), NOW, 1.0)
    assert reader.period_ns == presumed
    assert reader.take(state(stamp=NOW), NOW, 1.001)  # sent twice
    assert reader.period_ns == presumed
    assert reader.take(state(stamp=NOW + 2_000_000), NOW + 2_000_000, 1.002)
    assert reader.period_ns == 2_000_000


def test_a_state_that_comes_out_of_order_is_dropped(reader):
    assert reader.take(state(stamp=NOW), NOW, 1.0)
    assert not reader.take(state(stamp=NOW - 10_000_000), NOW, 1.0)
    assert reader.refusals == {"out_of_order": 1}


def test_one_late_state_of_a_bag_that_looped_does_no_harm(reader):  # field report 111
    assert reader.take(state(stamp=NOW), NOW, 1.0)
    reader.forget()  # the clock jumped back by ten minutes
    start = NOW - 600 * SECOND
    assert not reader.take(state(stamp=NOW), start, 2.0)
    assert reader.take(state(stamp=start + 1), start + 1, 2.0)


def test_two_publishers_with_a_part_each_make_a_whole(reader):
    assert not reader.take(state(("shoulder",), (1.0,), (0.1,)), NOW, 1.0)
    assert reader.missing(1.0) == ["elbow", "wrist"]
    assert reader.take(state(("wrist", "elbow"), (3.0, 2.0), (0.3, 0.2)), NOW, 1.0)
    np.testing.assert_array_equal(reader.q, [1.0, 2.0, 3.0])


def test_the_newest_part_does_not_hide_a_stale_one(reader):  # field report 84
    reader.take(state(("shoulder",), (1.0,), (0.1,)), NOW, 1.0)
    reader.take(state(("elbow", "wrist"), (2.0, 3.0), (0.2, 0.3)), NOW, 1.0)
    later = NOW + SECOND
    assert not reader.take(state(("shoulder",), (1.0,), (0.1,), stamp=later), later, 2.0)
    assert reader.missing(2.0) == ["elbow", "wrist"]


def test_velocity_is_differentiated_where_it_is_missing(reader):
    for i in range(1000):
        time_ns = NOW + i * 1_000_000
        reader.take(state(position=(0.5e-3 * i, 0.0, 0.0), velocity=(), stamp=time_ns), time_ns, i * 1e-3)
    # a ramp of 0.5 rad/s, after many time constants of the filter
    np.testing.assert_allclose(reader.qd, [0.5, 0.0, 0.0], atol=1e-9)


@pytest.mark.parametrize("hostile", [NAN, float("inf"), 1e308])
def test_a_position_that_is_not_finite_does_not_stay_in_the_differentiation(reader, hostile):
    # 1e308 is finite, its difference quotient over a millisecond is not
    for i, position in enumerate([0.0, hostile, 0.0]):
        time_ns = NOW + i * 1_000_000
        given = state(position=(position, 0.0, 0.0), velocity=(), stamp=time_ns)
        taken = reader.take(given, time_ns, i * 1e-3)
        assert taken == (position == 0.0)
    np.testing.assert_array_equal(reader.qd, 0.0)


def test_without_a_timeout_a_stamp_from_the_future_does_not_hide_what_follows():
    reader = reader_with(safety__state_timeout=0.0)
    reader.take(state(stamp=NOW + 3600 * SECOND), NOW, 1.0)
    assert reader.take(state(stamp=NOW + 1), NOW + 1, 1.001)


def test_missing_velocity_is_refused_when_asked():
    reader = reader_with(velocity__missing="refuse")
    assert not reader.take(state(velocity=()), NOW, 1.0)
    assert reader.refusals == {"no_velocity": 1}


def test_arrays_of_one_message_are_not_changed_by_the_next(reader):
    reader.take(state(), NOW, 1.0)
    kept = reader.q
    reader.take(state(("elbow",), (9.0,), (0.0,)), NOW, 1.0)
    np.testing.assert_array_equal(kept, [1.0, 2.0, 3.0])


def test_ever_new_names_do_not_fill_the_memory(reader):
    for i in range(10 * MOST_ORDERS):
        reader.take(state((f"joint_{i}", "elbow"), (0.0, 0.0), ()), NOW, 1.0)
    assert reader._order_of.cache_info().currsize <= MOST_ORDERS


def test_velocities_of_nan_are_missing_joint_by_joint(reader):  # joint_state_broadcaster pads with NaN
    for i in range(1000):
        time_ns = NOW + i * 1_000_000
        given = state(
            position=(0.5e-3 * i, 0.0, -0.2e-3 * i),
            velocity=(NAN, 7.0, NAN),
            effort=(NAN,) * 3,
            stamp=time_ns,
        )
        assert reader.take(given, time_ns, i * 1e-3)
    np.testing.assert_allclose(reader.qd, [0.5, 7.0, -0.2], atol=1e-9)  # after many time constants
    assert not reader.refusals


def test_velocities_of_nan_are_refused_when_missing_ones_are():
    reader = reader_with(velocity__missing="refuse")
    assert not reader.take(state(velocity=(0.1, NAN, 0.3)), NOW, 1.0)
    assert reader.refusals == {"no_velocity": 1}


def test_one_velocity_of_nan_does_not_jump_to_rest(reader):
    assert reader.take(state(velocity=(0.1, 0.2, 0.3)), NOW, 1.0)
    assert reader.take(state(velocity=(0.1, NAN, 0.3), stamp=NOW + 1), NOW + 1, 1.001)
    np.testing.assert_array_equal(reader.qd, [0.1, 0.2, 0.3])


@pytest.mark.parametrize("velocity", [(), (NAN,) * 3])
def test_a_continuous_joint_may_wrap_where_velocities_are_missing(velocity):
    reader = reader_with(("continuous", "revolute", "revolute"))
    for i in range(1000):
        time_ns = NOW + i * 1_000_000
        turned = (3.0 + 0.5e-3 * i + np.pi) % (2 * np.pi) - np.pi
        names = ("elbow", "shoulder", "wrist")
        reader.take(state(names, (0.0, turned, 0.0), velocity, stamp=time_ns), time_ns, i * 1e-3)
    np.testing.assert_allclose(reader.qd, [0.5, 0.0, 0.0], atol=1e-9)


def test_of_messages_that_waited_the_newest_of_each_joint_counts(reader):
    parts = [("shoulder",), ("wrist", "elbow")]
    waiting = []
    for i in range(3):
        waiting += [state(parts[0], (1.0 + i,), (0.0,)), state(parts[1], (3.0 + i, 2.0 + i), (0.0, 0.0))]
    assert reader.take_all(waiting, NOW, 1.0)
    np.testing.assert_array_equal(reader.q, [3.0, 4.0, 5.0])
    assert reader.skipped == 4


def test_a_message_about_other_joints_is_not_judged(reader):
    wheels = state(("left", "right"), (0.0,), (NAN, NAN, NAN), stamp=NOW - 100 * SECOND)
    twice = state(("left", "left"), (0.0, 0.0), ())
    for other in (wheels, twice):
        assert not reader.take(other, NOW, 1.0)
    assert not reader.refusals


def test_another_joint_that_is_named_twice_does_no_harm(reader):
    names = ("wheel", "wheel", *JOINTS)
    assert reader.take(state(names, (0.0, 0.0, 1.0, 2.0, 3.0), ()), NOW, 1.0)
