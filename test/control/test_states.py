"""What the loop is doing: each transition in one line."""

import importlib.resources

import numpy as np
import pytest
import yaml

from kane_dynamics_ros.control.plan import hold_at
from kane_dynamics_ros.control.states import (
    FAULT_KINDS,
    Collided,
    Holding,
    Moving,
    Reacting,
    Safety,
    Starting,
    Suspended,
    after_good_state,
    collided,
    collision_in,
    raised,
    reset,
    suspended,
    untracked,
)

SAFETY = Safety(
    recovery_time=0.2,
    reactions=dict.fromkeys(FAULT_KINDS, "hold") | {"overrun": "ignore", "saturation": "stop"},
)
PLAN = hold_at(np.zeros(2), 0)
HOLDING, MOVING = Holding(PLAN, np.zeros(2)), Moving(PLAN, np.zeros(2))
COLLIDED = Collided("elbow", "comply")
SUSPENDED = Suspended("the hardware is inactive")
BOTH = Suspended("the hardware is inactive", then=COLLIDED)
JUMPED = Reacting("position_jump", "hold")

TRANSITIONS = {
    "a fault while holding": (raised(HOLDING, "position_jump", SAFETY), JUMPED),
    "a fault while moving": (raised(MOVING, "position_jump", SAFETY), JUMPED),
    "a fault before the first state": (raised(Starting(), "position_jump", SAFETY), JUMPED),
    "a fault in a collision": (
        raised(COLLIDED, "position_jump", SAFETY),
        Reacting("position_jump", "hold", then=COLLIDED),
    ),
    "a fault while suspended": (
        raised(BOTH, "position_jump", SAFETY),
        Reacting("position_jump", "hold", then=BOTH),
    ),
    "an ignored fault while holding": (raised(HOLDING, "overrun", SAFETY), HOLDING),
    "an ignored fault in a reaction": (raised(JUMPED, "overrun", SAFETY), JUMPED),
    "a stronger fault in a reaction": (
        raised(Reacting("position_jump", "hold", 3.0, then=BOTH), "saturation", SAFETY),
        Reacting("saturation", "stop", then=BOTH),
    ),
    "a weaker fault in a reaction": (
        raised(Reacting("saturation", "stop", 3.0), "position_jump", SAFETY),
        Reacting("saturation", "stop"),
    ),
    "an equal fault in a reaction": (
        raised(Reacting("stale_state", "hold", 3.0), "position_jump", SAFETY),
        JUMPED,
    ),
    "a fault that came back too often": (
        raised(HOLDING, "position_jump", SAFETY, lasting=True),
        Reacting("position_jump", "hold", lasting=True),
    ),
    "a fault in a lasting reaction": (
        raised(Reacting("position_jump", "hold", 3.0, lasting=True), "saturation", SAFETY),
        Reacting("position_jump", "hold", lasting=True),
    ),
    "the first good state": (
        after_good_state(JUMPED, 5.0, SAFETY),
        Reacting("position_jump", "hold", 5.0),
    ),
    "good states for too short a time": (
        after_good_state(Reacting("position_jump", "hold", 5.0), 5.19, SAFETY),
        Reacting("position_jump", "hold", 5.0),
    ),
    "good states for long enough": (
        after_good_state(Reacting("position_jump", "hold", 5.0), 5.21, SAFETY),
        Starting(),
    ),
    "recovery while suspended": (
        after_good_state(Reacting("position_jump", "hold", 5.0, then=BOTH), 5.21, SAFETY),
        BOTH,
    ),
    "no recovery of a lasting reaction": (
        after_good_state(Reacting("position_jump", "hold", 5.0, lasting=True), 50.0, SAFETY),
        Reacting("position_jump", "hold", 5.0, lasting=True),
    ),
    "commands lose their effect while moving": (suspended(MOVING, "off"), Suspended("off")),
    "commands lose their effect after a collision": (
        suspended(COLLIDED, "off"),
        Suspended("off", then=COLLIDED),
    ),
    "commands lose their effect for another reason": (
        suspended(BOTH, "off"),
        Suspended("off", then=COLLIDED),
    ),
    "commands lose their effect in a reaction": (
        suspended(Reacting("stale_state", "hold", 3.0, then=COLLIDED), "off"),
        Reacting("stale_state", "hold", 3.0, then=Suspended("off", then=COLLIDED)),
    ),
    "commands have effect again": (suspended(SUSPENDED, None), Starting()),
    "commands have effect again after a collision": (suspended(BOTH, None), COLLIDED),
    "commands have effect again in a reaction": (
        suspended(Reacting("stale_state", "hold", 3.0, then=BOTH), None),
        Reacting("stale_state", "hold", 3.0, then=COLLIDED),
    ),
    "commands had effect all the time": (suspended(MOVING, None), MOVING),
    "a collision while moving": (collided(MOVING, "elbow", "comply"), COLLIDED),
    "a second collision": (collided(COLLIDED, "wrist", "hold"), Collided("wrist", "hold")),
    "a collision while suspended": (collided(SUSPENDED, "elbow", "comply"), BOTH),
    "a collision in a reaction": (
        collided(JUMPED, "elbow", "comply"),
        Reacting("position_jump", "hold", then=COLLIDED),
    ),
    "a collision in a reaction while suspended": (
        collided(Reacting("stale_state", "hold", then=SUSPENDED), "elbow", "comply"),
        Reacting("stale_state", "hold", then=BOTH),
    ),
    "a collision is reset": (reset(COLLIDED), Starting()),
    "a collision is reset while suspended": (reset(BOTH), SUSPENDED),
    "a collision is reset in a reaction": (
        reset(Reacting("stale_state", "hold", then=BOTH)),
        Reacting("stale_state", "hold", then=SUSPENDED),
    ),
    "a reset without a collision": (reset(MOVING), MOVING),
    "a reset while suspended without a collision": (reset(SUSPENDED), SUSPENDED),
    "a motion is forgotten": (untracked(MOVING), Starting()),
    "a hold is forgotten": (untracked(HOLDING), Starting()),
    "a suspension is not forgotten": (untracked(BOTH), BOTH),
    "a collision is not forgotten": (untracked(COLLIDED), COLLIDED),
    "a reaction is forgotten": (untracked(Reacting("stale_state", "hold", 3.0, then=BOTH)), BOTH),
}


@pytest.mark.parametrize(("found", "expected"), TRANSITIONS.values(), ids=TRANSITIONS)
def test_transition(found, expected):
    assert found == expected


@pytest.mark.parametrize(
    ("state", "found"),
    [
        (HOLDING, None),
        (SUSPENDED, None),
        (JUMPED, None),
        (COLLIDED, COLLIDED),
        (BOTH, COLLIDED),
        (Reacting("stale_state", "hold", then=BOTH), COLLIDED),
    ],
)
def test_a_collision_is_found_below_other_pauses(state, found):
    assert collision_in(state) == found


def test_safety_begins_as_the_node_declares_it():
    """One default, wherever it is read: in the node's parameters, and in a loop without a node."""
    file = importlib.resources.files("kane_dynamics_ros.runtime") / "node_parameters.yaml"
    declared = {name: value["default"] for name, value in yaml.safe_load(file.read_text()).items()}
    safety = Safety()
    assert safety.reactions == {fault: declared[f"safety.on_{fault}"] for fault in FAULT_KINDS}
    times = ("state_timeout", "saturation_time", "overrun_period", "recovery_time", "no_effect_time")
    for name in (*times, "position_jump"):
        assert getattr(safety, name) == declared[f"safety.{name}"], name
