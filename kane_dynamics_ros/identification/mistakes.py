"""Mistakes in a recording: efforts with the wrong sign, exchanged joints, an arm on a wall, other units.

Each would make a verdict lie, for such recordings fit badly, but fit. So a few hundred states are explained
with the URDF's bodies, by each joint's own scale, rotor, friction and offset, none of which may be negative,
as they are recorded and with each mistake undone.
"""

from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment, nnls

from kane_dynamics_ros.algebra import Array
from kane_dynamics_ros.friction import smooth_sign
from kane_dynamics_ros.identification.recordings import MotionStore
from kane_dynamics_ros.runtime import DynamicsModel
from kane_dynamics_ros.text import named

STATES = 400  # of the recording, with which mistakes are looked for
UNEXPLAINED = 0.3  # of a joint's effort: less is no mistake
WEIGHTLESS = 0.1  # of the free fall: efforts that ask for less have no gravity in them
TILTED = 0.17  # of the free fall, 10 degrees: what differs by less is a base that is not level (misplaced)
UNDONE = 0.5  # of it that may be left where a mistake is undone,
AS_WELL = 2.0  # times what identified bodies leave there: where those explain it better, it is theirs
PLAINER = 0.8  # of what a simpler mistake leaves, that another may
HARDLY = 0.05  # of a joint's effort: another order must explain that much more of it
# signs of positions and of efforts, and quarter turns, with which a joint may be recorded
WAYS = ((1, 1, 1), (1, 1, 2), (1, 1, -1), (-1, -1, 0), (-1, -1, 1), (-1, -1, 2), (-1, -1, -1), (-1, 1, 0))
EXCHANGED = 0.4  # of what two joints leave: so much less where they are exchanged is no chance
UNIT_RATIO = 2.5  # scale between the URDF's efforts and the recorded ones beyond which a unit is doubted
ODD = 5.0  # times the others' scale: one joint's own unit or gear, where no bodies explain it as well
FELT = 0.3  # of a joint's effort that its bodies must make up for its scale to count
APART, AGREE = 1.5, 1 / 3  # between scales of joints; of that, in powers, between those in another unit


class Sentence(NamedTuple):
    """A ``code`` that programs compare, and what it means here."""

    code: str
    text: str


States = tuple[Array, Array, Array, Array]  # position, velocity, acceleration, effort: (N, n) each
Fit = tuple[float, float, float]  # see ``_explained``


class Ordered(NamedTuple):
    """``states`` with joints in another ``order``: the place of each; what the URDF then leaves of all."""

    order: list[int]
    left: float
    states: States


def mistake(store: MotionStore, model: DynamicsModel, scaled: bool, identified: Array) -> Sentence | None:
    """Mounting, conventions, signs, order or units of the recording that contradict the URDF.

    ``scaled``: the unit of efforts was given, or sought. ``identified`` (n,): the part of each joint's effort
    that what was identified leaves, such as an arm with a tool that the URDF lacks.
    """
    states = _some_states(store)
    fits = _all_explained(states, model)
    found = _recorded_otherwise(states, model, np.array([left for left, *_ in fits]), identified)
    return found if found or scaled else _in_another_unit(fits, model, identified)


def _recorded_otherwise(
    states: States, model: DynamicsModel, left: Array, identified: Array
) -> Sentence | None:
    """The mistake with which, undone, the URDF's bodies explain the efforts best, but for their unit."""
    fitted = _fitted(states, model)
    identified = np.maximum(identified, fitted)  # no better than of these states

    def likely(undone: Array) -> bool:
        helped = undone < PLAINER * left
        return bool(undone[helped].sum() < AS_WELL * identified[helped].sum())

    turned = _left((*states[:3], -states[3]), model)
    wrong = (left > UNEXPLAINED) & (turned < np.minimum(UNDONE * left, AS_WELL * identified))
    ordered = _in_order(states, model, left)
    simplest = min(UNDONE * left.sum(), float(np.where(wrong, turned, left).sum()), ordered.left)
    xyz, elsewhere = _asked_for(states, model, left)
    ways, otherwise = _other_ways(states, model, left)
    if elsewhere.sum() < min(simplest, otherwise.sum()) and likely(elsewhere):
        return Sentence(
            "gravity",
            f"efforts ask for a free fall of {xyz} m/s^2 in the root link, with which the URDF leaves "
            f"{100 * elsewhere.mean():.3g} % of what they do instead of {100 * left.mean():.3g} %: "
            "is the arm mounted otherwise, or do a driver or springs take gravity out? Give --gravity "
            f"{xyz}, or turn the joint that fixes it to the world",
        )
    if ways and otherwise.sum() < PLAINER * simplest and likely(otherwise):
        return Sentence(
            "convention",
            f"joints seem to be recorded otherwise than the URDF counts them: {', '.join(ways)}; so it "
            f"leaves {100 * otherwise.mean():.3g} % of what efforts do instead of "
            f"{100 * left.mean():.3g} %. Correct the recording, or the joints' <axis> and <origin>",
        )
    if exchanged := _exchanged(ordered, model, left, fitted):
        return exchanged
    if wrong.any():
        if wrong.sum() > 1 and turned[~wrong].sum() <= PLAINER * left[~wrong].sum():
            wrong[:] = True  # the other joints' efforts say less, but the same
        opposite = [name for name, each in zip(model.joint_names, wrong, strict=True) if each]
        turn = "-1 turns all signs" if wrong.all() else f"{opposite[0]}=-1 turns a sign"
        return Sentence(
            "opposite",
            f"the efforts of {named('joint', opposite)} run against what the motion asks for: "
            f"--effort-scale {turn}",
        )
    return None


def _exchanged(ordered: Ordered, model: DynamicsModel, left: Array, fitted: Array) -> Sentence | None:
    """Joints in another order, where no bodies, of whatever masses, explain them as well as recorded.

    ``fitted`` (n,): what such bodies leave as recorded.
    """
    moved = [j for j, k in enumerate(ordered.order) if j != k]
    both = float(left[moved].sum())
    taken = left.sum() - ordered.left
    if not taken > EXCHANGED * both:
        return None
    if not fitted[moved].sum() > _fitted(ordered.states, model)[moved].sum():
        return None
    names = model.joint_names
    others = ", ".join(f"{names[k]} as {names[j]}" for j, k in enumerate(ordered.order) if j != k)
    return Sentence(
        "exchanged",
        f"joints look exchanged in the recording: of what their efforts do, the URDF leaves "
        f"{100 * max(both - taken, 0.0) / len(moved):.3g} % with {others}, and "
        f"{100 * both / len(moved):.3g} % as recorded; correct the names, or give --rename",
    )


def _in_another_unit(fits: Sequence[Fit], model: DynamicsModel, identified: Array) -> Sentence | None:
    """Efforts of most joints, or one's, that are many times the URDF's, or so with per cent of the limits."""
    counts = [j for j, (part, _, share) in enumerate(fits) if share > FELT and part < UNEXPLAINED]
    scales = np.array([fits[j][1] for j in counts])
    per_cent = np.array([(joint.effort or 0.0) / 100.0 for joint in model.joints])  # of the limit
    if agree_only_times(per_cent[counts], scales):
        scale_of = zip(model.joint_names, per_cent, strict=True)
        words = " ".join(f"--effort-scale {name}={x:g}" for name, x in scale_of)
        return Sentence(
            "units",
            "the recorded efforts look like per cent of each joint's limit: so all joints agree with the "
            f"URDF, as recorded they do not; give {words}",
        )
    factors = sorted(scales.tolist()) or [1.0]
    ratio, few = float(np.median(factors)), (len(factors) - 1) // 4  # wrists, say, whose tool the URDF lacks
    if factors[few] > UNIT_RATIO or factors[-1 - few] < 1 / UNIT_RATIO:
        return Sentence(
            "units",
            f"the recorded efforts are about {ratio:.3g} times the URDF's: are they in {units_of(model)}? "
            f"Give --effort-scale, {units_of(model)} a recorded unit",
        )
    for j in counts:
        times = fits[j][1] / ratio
        if len(counts) > 2 and not 1 / ODD < times < ODD and fits[j][0] < identified[j]:
            return Sentence(
                "units",
                f"efforts of {model.joint_names[j]} are about {times:.3g} times what the other joints' scale "
                "lets expect: another unit, or another gear's ratio? Give --effort-scale "
                f"{model.joint_names[j]}={1 / times:.3g}",
            )
    return None


def agree_only_times(factors: Array, scales: Array) -> bool:
    """Whether scales (K,) of joints' efforts over the URDF's are alike, and near 1, only times factors (K,).

    Of less than three joints nothing is said: two may agree by chance.

    >>> agree_only_times(np.array([1.5, 1.5, 0.3]), np.array([0.6, 0.7, 3.3]))
    True
    """
    if len(scales) < 3 or not (factors > 0.0).all():
        return False
    told, then = (float(np.ptp(np.log(each))) for each in (scales, factors * scales))
    likely = 1 / UNIT_RATIO < float(np.median(factors * scales)) < UNIT_RATIO
    return likely and told > np.log(APART) and then < AGREE * told


def _some_states(store: MotionStore) -> States:
    """Up to ``STATES`` states, spread over all bags, where no effort was clipped."""
    parts: list[list[Array]] = []
    total = sum(samples for track in store.tracks for _, samples, _ in track.places)
    step = max(1, total // STATES)
    for track in store.tracks:
        for piece in store.pieces(track):
            inside = slice(piece.edge, -piece.edge, step)
            good = (piece.usable[inside] > 0).all(axis=1)
            arrays = (piece.q, piece.qd, piece.qdd, piece.effort)
            parts.append([each[inside][good] for each in arrays])
    q, qd, qdd, effort = (np.concatenate(each) for each in zip(*parts, strict=True))
    return q, qd, qdd, effort


def _all_explained(states: States, model: DynamicsModel) -> list[Fit]:
    """What is left of each joint's effort: see ``_explained``."""
    q, qd, qdd, effort = states
    rigid = model.inverse_dynamics(q, qd, qdd)
    return [_explained(*columns) for columns in zip(effort.T, rigid.T, qd.T, qdd.T, strict=True)]


def _left(states: States, model: DynamicsModel) -> Array:
    return np.array([left for left, *_ in _all_explained(states, model)])


def _asked_for(states: States, model: DynamicsModel, left: Array) -> tuple[str, Array]:
    """The free fall that the states ask for, as large as the model's or none, and what is left with it.

    Infinity where gravity explains too little of the efforts, or the model's own, or nearly, explains them.
    """
    own, fall, effort = np.array(model.parameters.gravity), free_fall(states, model), states[3]
    part = float(np.linalg.norm(fall) / max(np.linalg.norm(own), 1e-12))
    if part < WEIGHTLESS:  # then rotors alone may explain nearly all
        fall = np.zeros(3)
        left = model.gravity(states[0]).var(axis=0) / np.maximum(effort.var(axis=0), 1e-300)
    else:
        fall = fall / part + 0.0  # no -0
    rest = _left(states, model.with_parameters(gravity=tuple(fall.tolist())))
    other = left.max() > UNEXPLAINED and np.linalg.norm(fall - own) > TILTED * np.linalg.norm(own)
    return ",".join(f"{each:.2f}" for each in fall), rest if other else rest + np.inf


def free_fall(states: States, model: DynamicsModel) -> Array:
    """The free fall [m/s^2] with which the model's bodies explain the states best: (3,).

    Efforts are linear in it, beside a rotor, friction and an offset of each joint.
    """
    q, qd, qdd, effort = states
    span = np.maximum(np.ptp(effort, axis=0), 1e-12)
    weightless = effort - model.with_parameters(gravity=(0.0, 0.0, 0.0)).inverse_dynamics(q, qd, qdd)
    each = [model.with_parameters(gravity=tuple(axis)).gravity(q) for axis in np.eye(3)]
    rows = np.moveaxis(np.stack([*each, weightless]), 0, 2) / span[:, None]
    A = _without_own_terms(rows, qd, qdd).reshape(-1, 4)
    return np.asarray(np.linalg.lstsq(A[:, :3], A[:, 3], rcond=None)[0])


def _explained(effort: Array, rigid: Array, qd: Array, qdd: Array) -> Fit:
    """The part of an effort's changes (N,) that its bodies, a rotor, friction and an offset leave.

    Then the scale of the bodies' effort, and the part of the changes that it makes up; none of scale, rotor
    and friction is negative.
    """
    one = np.ones_like(effort)
    columns = np.column_stack([rigid, qdd, qd, smooth_sign(qd, 0.01), one, -one])
    size = np.maximum(np.abs(columns).max(axis=0, initial=0.0), 1e-12)
    x, left = nnls(columns / size, effort)
    power = float(((effort - effort.mean()) ** 2).sum()) if len(effort) else 0.0
    if not power > 0.0:
        return 0.0, 1.0, 0.0
    scale = float(x[0] / size[0])
    return float(left**2) / power, scale, scale**2 * float(((rigid - rigid.mean()) ** 2).sum()) / power


def _in_order(states: States, model: DynamicsModel, left: Array) -> Ordered:
    """The order that the URDF explains best: of two joints' values exchanged, or of efforts alone in any."""
    (q, qd, qdd, effort), n = states, len(left)
    rigid = model.inverse_dynamics(q, qd, qdd)
    alone = np.array(
        [[_explained(effort[:, k], rigid[:, j], qd[:, j], qdd[:, j])[0] for k in range(n)] for j in range(n)]
    )
    best = linear_sum_assignment(alone + HARDLY * (1.0 - np.eye(n)))[1].tolist()
    in_order: States = q, qd, qdd, effort[:, best]
    found = [Ordered(best, float(alone[np.arange(n), best].sum()), in_order)]
    for i, j in combinations(range(n), 2):
        order = list(range(n))
        order[i], order[j] = j, i
        in_order = q[:, order], qd[:, order], qdd[:, order], effort[:, order]
        found.append(Ordered(order, float(_left(in_order, model).sum()), in_order))
    return min(found, key=lambda each: each.left)


def _fitted(states: States, model: DynamicsModel) -> Array:
    """The part of each joint's effort (n,) that bodies of any parameters leave, by least squares.

    A rotor, friction and an offset of each joint are free, too.
    """
    q, qd, qdd, effort = states
    rows = np.concatenate([model.regressor(q, qd, qdd), effort[..., None]], axis=-1)
    rows = _without_own_terms(rows / np.maximum(effort.std(axis=0), 1e-12)[:, None], qd, qdd)
    A = rows.reshape(-1, rows.shape[-1])
    x = np.linalg.lstsq(A[:, :-1], A[:, -1], rcond=1e-8)[0]
    return np.asarray(((rows[..., -1] - rows[..., :-1] @ x) ** 2).mean(axis=0))


def _without_own_terms(rows: Array, qd: Array, qdd: Array) -> Array:
    """Rows (N, n, k) without what a rotor, friction and an offset of each joint explain."""
    left: Array = rows.copy()
    for j, speed in enumerate(qd.T):
        own = np.column_stack([qdd[:, j], speed, smooth_sign(speed, 0.01), np.ones_like(speed)])
        left[:, j] -= own @ np.linalg.lstsq(own, rows[:, j], rcond=None)[0]
    return left


def _other_ways(states: States, model: DynamicsModel, left: Array) -> tuple[list[str], Array]:
    """Joints recorded the other way round, or from a zero that is quarter turns off, in words; what is left.

    Efforts with the positions, or not. One joint after another, each the one that helps most.
    """
    found, rest = dict[str, str](), left
    if left.max() <= UNEXPLAINED:
        return [], rest
    while True:
        tries = []
        for j, joint in enumerate(model.joints):
            for sign, push, quarters in WAYS if joint.name not in found else ():
                if quarters and joint.kind == "prismatic":
                    continue
                q, qd, qdd, effort = (each.copy() for each in states)
                for column, factor in ((q, sign), (qd, sign), (qdd, sign), (effort, push)):
                    column[:, j] *= factor
                q[:, j] += quarters * np.pi / 2
                words = ["as -q" if sign < 0 else "as q", f"{90 * quarters:+d} degrees"][: 1 + bool(quarters)]
                words += ["with the efforts as they are"] * (sign < push)
                tries.append((_left((q, qd, qdd, effort), model), joint.name, words, (q, qd, qdd, effort)))
        helps = min(tries, key=lambda each: each[0].sum(), default=None)
        if helps is None or helps[0].sum() > rest.sum() - UNEXPLAINED:
            return [f"{name} {words}" for name, words in found.items()], rest
        rest, name, words, states = helps
        found[name] = " ".join(words)


def units_of(model: DynamicsModel) -> str:
    """The units of the joints' efforts."""
    return " and ".join(dict.fromkeys(joint.effort_unit for joint in model.joints))
