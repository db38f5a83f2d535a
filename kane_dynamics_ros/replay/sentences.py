"""The verdict in words."""

from collections.abc import Sequence

from kane_dynamics_ros.replay.attribution import Attribution, LinkError, TipBody
from kane_dynamics_ros.replay.comparison import Fit
from kane_dynamics_ros.replay.correlation import Delay
from kane_dynamics_ros.replay.motion import Motion
from kane_dynamics_ros.runtime import DynamicsModel
from kane_dynamics_ros.text import counted

TERM_NAMES = {
    "inertia": "inertia",
    "coriolis": "Coriolis and centrifugal effort",
    "gravity": "gravity",
    "viscous": "viscous friction",
    "Coulomb": "Coulomb friction",
    "offset": "constant offset",
}
UNEXPLAINED = 0.1  # of a joint's measured effort (RMS) that must have a cause, known or not
LEAST_EXPLAINED = 0.9  # R^2 below which a model does not explain an effort
SMALLEST_RESIDUAL = 1e-6  # [N m] or [N]; below, a residual is nothing but rounding


def joint_findings(model: DynamicsModel, joint: int, attributions: Sequence[Attribution]) -> tuple[str, ...]:
    """One sentence for each attributed term, the most weighty first."""
    return tuple(_sentence(model, joint, one) for one in attributions)


def unexplained(figures: Fit) -> tuple[str, ...]:
    """What is said of a joint that the model does not explain, though no term is at fault."""
    if figures.rmse < SMALLEST_RESIDUAL:
        return ()
    if figures.r_squared is None:
        return ("the measured effort never changes, the model's does: it may not be measured at all",)
    if figures.r_squared >= LEAST_EXPLAINED and figures.rmse <= UNEXPLAINED * figures.measured_rms:
        return ()
    part = f"{_percent(figures.r_squared)} %" if figures.r_squared > 0 else "nothing"
    rest = f"{_percent(figures.rmse / figures.measured_rms)} %" if figures.measured_rms else "all"
    if figures.r_squared >= LEAST_EXPLAINED:
        return (
            f"the model explains {part} of the measured effort's variance; its error is {rest} of the effort "
            "(RMS), of which no term is the cause: as friction leaves it where a joint reverses, or noise",
        )
    return (
        f"the model explains {part} of the measured effort's variance, and its error is {rest} of the effort "
        "(RMS); no single term is surely the cause: kane_dynamics identify fits all of them together",
    )


def _sentence(model: DynamicsModel, joint: int, one: Attribution) -> str:
    text = f"{TERM_NAMES[one.term]} {_amount(model, joint, one)}"
    if one.alike:
        others = " or ".join(TERM_NAMES[name] for name in one.alike)
        text += f" (or {others}: this motion cannot tell them apart)"
    return text


def _amount(model: DynamicsModel, joint: int, one: Attribution) -> str:
    """What the model has less, or more, than the arm: "8 % too small", "0.4 N m missing", ..."""
    size, sign = abs(one.coefficient), "too small" if one.coefficient > 0 else "too large"
    linear = model.joints[joint].kind == "prismatic"
    if one.term in ("inertia", "coriolis", "gravity"):
        return f"{_percent(size)} % {sign}"
    if one.term == "offset":
        return f"of {one.coefficient:+.3g} {'N' if linear else 'N m'} missing"
    modelled = model.parameters.viscous if one.term == "viscous" else model.parameters.coulomb
    unit = {
        ("viscous", True): "N s/m",
        ("viscous", False): "N m s/rad",
        ("Coulomb", True): "N",
        ("Coulomb", False): "N m",
    }[one.term, linear]
    if one.coefficient > 0 and not modelled[joint]:
        sign = "missing"
    elif one.coefficient < 0 and not modelled[joint]:
        sign = "negative: the effort helps the motion, which friction never does; check the effort's sign"
    return f"{size:.3g} {unit} {sign}"


def _percent(part: float) -> str:
    return f"{100 * part:.0f}" if part > 0.095 else f"{100 * part:.1f}"


def arm_findings(cause: TipBody | LinkError | None, tip: str) -> tuple[str, ...]:
    """What the residuals of all joints together say."""
    if cause is None:
        return ()
    share = f"that explains {100 * cause.share:.0f} % of what friction leaves of the residuals"
    if isinstance(cause, LinkError):
        more = "heavier" if cause.factor > 1 else "lighter"
        return (
            f"link {cause.link!r} is {_percent(abs(cause.factor - 1))} % {more} than in the model: {share}",
        )
    x, y, z = (round(each, 3) + 0.0 for each in cause.com)  # no minus before a zero
    more = "more" if cause.mass > 0 else "less"
    return (
        f"as if the tip carried {abs(cause.mass):.3g} kg {more} than the model knows of, centred at "
        f"({x:.3f}, {y:.3f}, {z:.3f}) m in the frame of {tip!r}: {share}",
    )


def notes(motion: Motion) -> tuple[str, ...]:
    """What was done to the samples, and what was odd about them."""
    found = ["times are header stamps; receive times serve only for the delay of the commands"]
    if motion.reordered:
        found.append(f"{motion.reordered} joint states were received after a later one and sorted by stamp")
    if motion.repeated:
        found.append(f"{motion.repeated} joint states repeat the stamp before; the first of each was used")
    if motion.passes > 1:
        found.append(
            f"stamps jump back {counted(motion.passes - 1, 'time')}: a looped bag; "
            "the passes are shown one by one"
        )
    if motion.gaps:
        found.append(
            f"{counted(len(motion.gaps), 'gap')}, the longest {max(motion.gaps):.3g} s: "
            "nothing is filtered across them"
        )
    if motion.derived:
        found.append(f"no velocity of {', '.join(map(repr, motion.derived))}: derived from the position")
    return tuple(found)


def delay_sentence(delay: Delay | None) -> str:
    """By how much the measured effort lags behind the command; empty where it is uncertain."""
    if delay is None or abs(delay.seconds) <= delay.uncertainty:
        return ""
    lags = "lags behind" if delay.seconds > 0.0 else "leads"
    return (
        f"measured effort {lags} the command by {1e3 * abs(delay.seconds):.2f} ms "
        f"(+- {1e3 * delay.uncertainty:.2g} ms, correlation {delay.correlation:.2f})"
    )
