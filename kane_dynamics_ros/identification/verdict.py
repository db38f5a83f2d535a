"""What to think of an identification: one sentence for the whole, one for each joint, and whether to use it.

What would make a verdict lie is looked for first: mistakes in the recording, see ``mistakes``. Then come the
data that were not fitted, how much motion there was, and how far the URDF was off.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from kane_dynamics_ros.algebra import Array
from kane_dynamics_ros.friction import smooth_sign
from kane_dynamics_ros.identification.identify import Identified
from kane_dynamics_ros.identification.misplaced import Misplaced
from kane_dynamics_ros.identification.mistakes import UNDONE, Sentence, mistake, units_of
from kane_dynamics_ros.identification.recordings import MotionStore
from kane_dynamics_ros.identification.regression import FAMILIES, LEAVES
from kane_dynamics_ros.replay.coupled import STANDS, Left, likely_pairs
from kane_dynamics_ros.runtime import DynamicsModel
from kane_dynamics_ros.text import named

WORSE = 1.1  # times the URDF's residual,
ALONE = 1.5  # and of the identified URDF without the node's parameters, which has no place for an offset
BETTER = 0.98
POOR = 0.25  # of the effort that nothing explains, over all joints;
IN_VAIN = 0.1  # where that is no less than what the URDF leaves
FEWEST = 7.0  # independent samples for each unknown that the data decide: errors then add 38 % of the noise
LEAST = 2.0  # independent residuals for each, where the condition is ill, too
ILL = 300.0  # condition of the base regressor that is worth a word
FOREIGN = 0.45  # of the rigid bodies' effort by which a URDF of the same arm may be off
VAGUE, ROUGH = 0.3, 0.05  # error of a drive's gain, of the gain: not to be used, worth a word
LIMITING = 0.3  # share of a residual that is worth a word
LATE = 2.0  # recorded samples by which efforts lag
BINS = 10  # of the joint's own speed
RIPPLES = np.arange(3, 201)  # times a turn that efforts may repeat: fewer are gravity's
SEEN = 4  # times, at least, that they must do so on the way of the joint
OVERFITTED = 1.5  # residual on other data over that on the fitted
MOSTLY, EXCEEDS = 0.5, 1.5  # of a residual's power while a joint stands; over that while it moves
PART_OF_BAND = 0.1  # of stiction, below which a residual at rest is something else


@dataclass(frozen=True)
class Verdict:
    """``whole``: "use" or "do_not_use"; one sentence for each joint; ``doubts``: why not to use it."""

    whole: Sentence
    joints: tuple[Sentence, ...]
    doubts: tuple[Sentence, ...]

    @property
    def usable(self) -> bool:
        return self.whole.code == "use"


def verdict_on(
    result: Identified, store: MotionStore, model: DynamicsModel, scaled: bool, scale: Array
) -> Verdict:
    """The verdict; ``scaled``: the unit of the efforts was given, or sought; ``scale`` (n,): the given."""
    joints = [_joint(result, store, model, j) for j in range(len(model.joint_names))]
    held = result.judged.held
    identified = (held.identified / np.maximum(held.effort, 1e-300)) ** 2
    if result.judged.changed > FOREIGN:  # to bodies that are hardly this arm's
        identified += np.inf
    found = mistake(store, model, scaled, identified)
    meaningful = found is None or found.code == "units"  # beside others nothing is misplaced by a little
    looks = _misplaced(result.misplaced, model, scale) if result.misplaced and meaningful else None
    doubts = [] if found is None else [found]
    doubts += [looks] if looks and looks.code == "scale" else []
    doubts += _doubts(result, store, model, joints)
    left, before = (100 * held.relative(each) for each in (result.found.written.node_errors, held.nominal))
    cutoff = max(track.cutoff for track in store.tracks)
    figures = (
        f"{left:.3g} % of the effort below {cutoff:.3g} Hz remain on data that were not fitted "
        f"(with the URDF {before:.3g} %)"
    )
    at_rest = float(held.identified**2 @ (result.judged.standing.at_rest * mostly_at_rest(result)))
    if at_rest > MOSTLY * float((held.identified**2).sum()):
        figures += f", mostly at rest: {100 * result.judged.standing.moving:.3g} % while the joints move"
    elif moving(result) > max(POOR, left / 100):
        figures += f", {100 * moving(result):.3g} % while the joints move"
    if result.judged.creep.any() and held.relative(held.identified) < left / 100:
        figures += f", {100 * held.relative(held.identified):.3g} % with friction after creeping"
    if (whole := held.relative(held.identified)) > OVERFITTED * left / 100:
        figures += (
            f", {100 * whole:.3g} % with every term found: do signs, load and offsets of the data agree?"
        )
    told = {each.code for each in doubts}
    if alone := [name for name, each in zip(model.joint_names, joints, strict=True) if each.code == "alone"]:
        figures += (
            f"; without parameters.yaml {named('joint', alone)} would be worse than with the given URDF"
        )
    figures = "; ".join([figures, *_coupled(result, model), *_limits(result, store, told)])
    if looks and looks not in doubts:
        what = "recording" if looks.code == "drift" else "robot's description"
        figures += f"; limited by the {what}: {looks.text}"
    if doubts:
        return Verdict(Sentence("do_not_use", f"do not use this: {figures}"), tuple(joints), tuple(doubts))
    return Verdict(Sentence("use", f"usable: {figures}"), tuple(joints), ())


def _doubts(
    result: Identified, store: MotionStore, model: DynamicsModel, joints: Sequence[Sentence]
) -> Iterator[Sentence]:
    """What the estimate itself says against it."""
    held, certainty = result.judged.held, result.certainty
    worse = [name for name, each in zip(model.joint_names, joints, strict=True) if each.code == "worse"]
    if worse:
        yield Sentence(
            "worse",
            f"efforts of {named('joint', worse)} that were not fitted are explained worse than by the URDF",
        )
    vague = certainty.gain > VAGUE * np.abs(result.found.gain)
    if vague.any():
        joints_vague = [name for name, each in zip(model.joint_names, vague, strict=True) if each]
        yield Sentence(
            "gain",
            f"the drive gains of {named('joint', joints_vague)} are not determined by this load; record a "
            "heavier one, or give them with --effort-scale",
        )
    hardly = certainty.condition > ILL and certainty.independent < LEAST * certainty.decided
    if hardly or certainty.samples < FEWEST * certainty.decided:
        yield Sentence(
            "too_little",
            f"too little motion: {certainty.samples:.0f} independent samples below the cut-off, "
            f"{certainty.independent:.0f} independent residuals for {certainty.decided:.0f} unknowns; "
            "record a longer motion of excite",
        )
    written, before = (held.relative(each) for each in (result.found.written.node_errors, held.nominal))
    left = max(written, moving(result))
    if left > POOR:
        yield Sentence(
            "poor",
            f"{100 * left:.3g} % of the effort stay unexplained: no model of rigid bodies and friction fits; "
            "are names, signs and units of the recording those of the URDF?",
        )
    elif written > max(IN_VAIN, BETTER * before) and not worse:
        yield Sentence(
            "worse",
            "efforts that were not fitted are explained no better than by the URDF, and badly by both: did "
            "the load, an offset or the mounting change after those that were fitted?",
        )
    late, left_then = result.judged.nominal_lag
    if left_then < 1.0 and abs(late) > LATE / max(track.sampled for track in store.tracks):
        yield Sentence(
            "late",
            f"efforts {lagging(late)} about {1e3 * abs(late):.0f} ms; "
            f"but for that the URDF explains them better than this does: add {late:.2g} to --effort-delay",
        )
    _, errors = steps_of(store, result)  # 0 where the effort never changes
    known = (errors > 0.0) & (held.effort > 0.0)
    left, hidden = (np.sum((each[known] / held.effort[known]) ** 2) for each in (held.nominal, errors))
    if left < hidden:
        text = "efforts come in steps that hide all that the URDF leaves: nothing better can be found"
        yield Sentence("coarse", text)
    if result.judged.changed > FOREIGN:
        yield Sentence(
            "foreign",
            f"the bodies' efforts had to change by {100 * result.judged.changed:.0f} % from the URDF's: is "
            f"it this arm's URDF, and are the efforts in {units_of(model)}, with gravity?",
        )


def _coupled(result: Identified, model: DynamicsModel) -> Iterator[str]:
    """The drives that turn with another joint, too."""
    joints = model.joints
    C = np.eye(len(joints)) if result.found.coupling is None else result.found.coupling
    for j, i in np.argwhere(C - np.eye(len(joints))).tolist():
        unit, per = joints[j].unit, joints[i].unit
        yield f"the drive of {joints[j].name} turns with {joints[i].name}, too: {C[j, i]:.4g} {unit} a {per}"


def _limits(result: Identified, store: MotionStore, told: set[str]) -> Iterator[str]:
    """What limits a result, and is no reason not to use it: data that were not fitted agree with it.

    ``told``: the codes of doubts, with which a lag has another number.
    """
    certainty, (lag, share) = result.certainty, result.judged.lag
    rough = float((certainty.gain / np.abs(result.found.gain)).max())
    if ROUGH < rough <= VAGUE:
        yield (
            f"limited by the load: gains are known to {100 * rough:.0f} % only: other friction or half of "
            "the data give others; record a heavier one"
        )
    if (
        "late" not in told
        and share > LIMITING
        and abs(lag) > LATE / max(track.sampled for track in store.tracks)
    ):
        yield (
            f"limited by time: efforts {lagging(lag)} at least {1e3 * abs(lag):.0f} ms, which makes "
            f"{100 * share:.0f} % of what remains; add {lag:.2g} or a little more to --effort-delay"
        )
    if certainty.condition > ILL:
        yield (
            f"limited by the motion: condition {certainty.condition:.3g} (60 is good), and what it cannot "
            "tell apart stays near the URDF"
        )
    if certainty.independent < FEWEST * certainty.decided and "too_little" not in told:
        yield (
            f"limited by the model: residuals follow each other for {certainty.memory:.2g} s, longer than "
            "noise would"
        )


def _misplaced(found: Misplaced, model: DynamicsModel, scale: Array) -> Sentence:
    """What seems to differ from the URDF; with code "scale" it speaks against the result."""
    value, error, code = np.degrees(found.value), float(np.degrees(found.error)), found.what
    if found.joint is None:
        gravity = np.array(model.parameters.gravity)
        down = gravity + np.cross(gravity, found.value)
        down *= np.linalg.norm(gravity) / np.linalg.norm(down)
        turned, give = (",".join(f"{each:.2f}" for each in values) for values in (value, down))
        what = f"the base were tilted by {turned} degrees about x,y,z, which --gravity {give} takes out"
    elif found.what == "zero":
        what = f"the zero of {found.joint} were off: at 0 it stands at {value[0]:+.1f} degrees"
    elif found.what == "drift":
        unit, error = model.joints[model.joint_names.index(found.joint)].effort_unit, found.error
        what = f"efforts of {found.joint} drifted by {found.value[0]:+.3g} {unit} a minute"
    else:
        own, error = float(scale[model.joint_names.index(found.joint)]), found.error
        what = (
            f"efforts of {found.joint} were recorded {1.0 / found.value[0]:.3g} times as large as they are: "
            f"give --effort-scale {found.joint}={own * found.value[0]:.3g}"
        )
        error *= abs(own)
        if found.left > UNDONE:
            code = "slight"
    would = f"{100 * found.share:.0f} % of what remains at {found.at} would go"
    return Sentence(code, f"it looks as if {what} (±{error:.1g}); {would}")


# One joint


def _joint(result: Identified, store: MotionStore, model: DynamicsModel, j: int) -> Sentence:
    name, unit, held = model.joint_names[j], model.joints[j].effort_unit, result.judged.held
    effort, nominal, identified = (float(x[j]) for x in (held.effort, held.nominal, held.identified))
    if not np.isfinite(result.found.sigma[j]):
        return Sentence("unmeasured", f"{name}: its effort never changes; it stays as the URDF says")
    written = result.found.written
    urdf, node = float(written.urdf_errors[j]), float(written.node_errors[j])
    figures = f"{identified:.3g} of {effort:.3g} {unit} remain, with the URDF {nominal:.3g}"
    if node < BETTER * identified:  # fewer terms are written than were found
        figures += f", with what is written for the node {node:.3g}"
    limit = limited_by(result, store, model, j)
    reason = "".join(f"; {each}" for each in (limit, *unknown_friction(result, model, j)) if each)
    if result.extent.speeds[j] < STANDS:
        return Sentence("still", f"{name} hardly moved: {figures}; its own terms stay as the URDF says")
    if node > WORSE * nominal:
        return Sentence("worse", f"{name} is worse than with the URDF: {figures}{reason}")
    if urdf > WORSE * nominal:
        alone = f"{name}: the identified URDF alone leaves {urdf:.3g} {unit}, more than the given one"
        return Sentence("worse" if urdf > ALONE * nominal else "alone", f"{alone}: {figures}{reason}")
    if identified > WORSE * nominal:
        worse = f"{name}: its terms are worse than the URDF's, and not written"
        return Sentence("not_written", f"{worse}: {figures}{reason}")
    if min(identified, node) > BETTER * nominal:
        return Sentence("no_better", f"{name} is no better than with the URDF: {figures}{reason}")
    return Sentence("better", f"{name}: {figures}{reason}")


def unknown_friction(result: Identified, model: DynamicsModel, j: int) -> Iterator[str]:
    """The friction of a joint that its motion tells too vaguely for its greatest speed."""
    joint, unit = model.joints[j], model.joints[j].effort_unit
    for family, most, per in (("viscous", joint.velocity or 0.0, f" s/{joint.unit}"), ("coulomb", 1.0, "")):
        error = float(result.certainty.terms[j, FAMILIES.index(family)])
        value = result.found.written.node[j, FAMILIES.index(family)]
        if error * most > VAGUE * result.judged.held.effort[j]:
            yield f"its {family} friction, {value:.3g} {unit}{per}, is known to ±{error:.2g} only"


def limited_by(result: Identified, store: MotionStore, model: DynamicsModel, j: int) -> str:
    """What most of a joint's residual is, in words; nothing where no one thing stands out."""
    curves, held, fitted = result.judged.curves, result.judged.held, result.judged.fitted
    left = (curves.measured - curves.identified)[curves.held, j]
    speed, unit = curves.qd[curves.held], model.joints[j].effort_unit
    power, (lag, _), lags = float(held.identified[j] ** 2), result.judged.lag, result.judged.lag_shares
    if mostly_at_rest(result)[j]:
        standing = result.judged.standing
        return (
            f"mostly at rest: {100 * standing.at_rest[j]:.0f} % of it while the joint stands, where stiction "
            f"may be anywhere within ±{stiction(result)[j]:.3g} {unit}; {standing.residual[1, j]:.3g} {unit} "
            "while it moves"
        )
    if not power > 0.0 or len(left) < 20 * BINS:
        return ""
    noise = max(float(track.effort_noise[j]) for track in store.tracks) * abs(float(result.found.gain[j]))
    step, error = steps_of(store, result)[:, j].tolist()
    edges = np.quantile(speed[:, j], np.linspace(0.0, 1.0, BINS + 1)[1:-1])
    own = np.eye(BINS)[np.searchsorted(edges, speed[:, j])]
    level = float(left.mean())  # which any other explanation would take for its own
    varying, rest = left - level, 1.0 - level**2 / float((left**2).mean())
    drift = _share(np.vander(np.arange(float(len(left))), 2), left)
    q, slides = curves.q[curves.held, j], model.joints[j].kind == "prismatic"
    way = max(float(np.ptp(q)), 1e-12)
    ripples = np.pi / way * RIPPLES if slides else RIPPLES  # per rad or m
    ripples = np.append(ripples[ripples * way >= 2 * np.pi * SEEN], 0.0)
    waves = np.exp(1j * np.outer(q, ripples))
    k = int(np.argmax(np.abs(varying @ waves)))
    pitch = 2e3 * np.pi / max(float(ripples[k]), 1e-12)
    often = f"every {pitch:.3g} mm" if slides else f"about {ripples[k]:.0f} times a turn"
    shares = {
        f"an offset of {level:+.3g} {unit} beside the fitted data's is most of it: does it drift?": drift,
        f"what repeats {often} of the joint is most of it": rest * _share(waves[:, [k]].view(float), varying),
        "noise of the measured effort is most of it": min(1.0, noise**2 / power),
        f"the steps of the measured effort, {step:.3g}, are most of it": min(1.0, error**2 / power),
        "friction that the terms do not carry is most of it": rest * _share(own, varying),
        f"efforts that {lagging(lag)} about {1e3 * abs(lag):.3g} ms are most of it": float(lags[j]),
    }
    if result.misplaced and result.misplaced.at == model.joint_names[j]:
        what = {"zero": "a zero that is off", "base": "a tilted base", "scale": "a wrong scale of efforts"}
        cause = what.get(result.misplaced.what, "a drift of efforts")
        shares[f"{cause} is most of it"] = result.misplaced.share
    width, partners = result.found.coulomb_velocity, turn_together(result, model, j)
    for i, other in enumerate(model.joint_names):
        if i != j:
            columns = np.column_stack([speed[:, i], smooth_sign(speed[:, i], width), np.ones(len(left))])
            question = ": are the two coupled (--couple)?" if other in partners else ""
            shares[f"most of it follows {other}{question}"] = rest * _share(columns, varying)
    words, share = max(shares.items(), key=lambda each: each[1])
    if share > LIMITING:
        return words
    if held.identified[j] > OVERFITTED * fitted.identified[j]:
        return f"{fitted.identified[j]:.3g} on the fitted data: too little motion"
    return ""


def turn_together(result: Identified, model: DynamicsModel, j: int) -> list[str]:
    """The joints with which joint ``j`` seems to share a drive: friction of one speed shows at both."""
    curves, C = result.judged.curves, result.found.coupling
    C = np.eye(len(model.joints)) if C is None else C
    left = (curves.measured - curves.identified)[curves.held]
    seen = Left(left, np.ones_like(left, bool), curves.qd[curves.held])
    pairs = likely_pairs(seen, model.joints, C, LIMITING)
    return [model.joint_names[i] for pair in pairs if j in pair[1:3] for i in pair[1:3] if i != j]


def lagging(seconds: float) -> str:
    """What efforts do that come so much later than the motion says."""
    return f"{'lag behind' if seconds > 0.0 else 'lead'} the motion by"


def mostly_at_rest(result: Identified) -> Array:
    """Whether most of a joint's residual is what stiction may be while it stands, and no lag: (n,)."""
    standing, band = result.judged.standing, stiction(result)
    still, moving = standing.residual
    of_stiction = (still > EXCEEDS * moving) & (still > PART_OF_BAND * band) & (band > 0.0)
    return np.asarray((standing.at_rest > MOSTLY) & of_stiction & (result.judged.lag_shares < LIMITING))


def moving(result: Identified) -> float:
    """What is left while joints move, over their effort then, with no more than what is written leaves."""
    held = result.judged.held
    whole, written = (held.relative(each) for each in (held.identified, result.found.written.node_errors))
    return result.judged.standing.moving * min(1.0, written / max(whole, 1e-300))


def stiction(result: Identified) -> Array:
    """What dry friction can hold at each joint, under its usual load: (n,)."""
    coulomb, stribeck, load = result.found.terms[:, LEAVES].T
    level = np.maximum(coulomb + stribeck, 0.0) + load * result.judged.held.effort
    return np.asarray(level if result.found.coupling is None else level @ np.abs(result.found.coupling))


def steps_of(store: MotionStore, result: Identified) -> Array:
    """The steps in which efforts were measured and what they hide below the cut-off: (2, n) [N m] or [N]."""
    return np.asarray(np.max([track.effort_step for track in store.tracks], axis=0) * abs(result.found.gain))


def _share(columns: Array, values: Array) -> float:
    """The part of the values' power (N,) that columns (N, k) explain."""
    x = np.linalg.lstsq(columns, values, rcond=None)[0]
    return float(1.0 - ((values - columns @ x) ** 2).sum() / (values**2).sum())
