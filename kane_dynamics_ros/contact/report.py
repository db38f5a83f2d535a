"""What was found in a recording, as lines for a terminal, as JSON and as a page with one figure."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from markupsafe import Markup
from matplotlib.figure import Figure

from kane_dynamics_ros.contact.calibration import Calibration
from kane_dynamics_ros.contact.changes import STEADY
from kane_dynamics_ros.contact.events import Contacts, TipForce
from kane_dynamics_ros.contact.residual import FLOOR, Residual
from kane_dynamics_ros.contact.signals import Fault
from kane_dynamics_ros.control.observer import SHARE_OF_LIMIT, Collision, felt_coulomb
from kane_dynamics_ros.files import refuse_foreign, whole_results, write_file
from kane_dynamics_ros.pages import rendered, svg
from kane_dynamics_ros.runtime import DynamicsModel
from kane_dynamics_ros.text import counted, json_text

FORMAT = 2  # of the JSON; rises when a field changes its name or meaning
SHOWN = 4000  # samples in a figure
LABEL = 24  # characters of a joint's name in a figure
TOO_SHORT = "pushes that come and go are not looked for: the recording, free of contact, is too short"
NO_STICTION = (
    "the dry friction of standing joints is not known: what it takes of a force is not in the force's error; "
    "give it by --parameters or --urdf-friction"
)
NOISY = 4.0  # times the noise that is usual for the arm, of which is warned


class Bound(NamedTuple):
    """What a joint's external effort must exceed to be a contact [N m or N], and where that comes from."""

    joint: str
    unit: str
    raw: float  # RMS of the unexplained effort with the model as it is
    left: float  # after the model's errors were fitted, without contact
    least: float
    greatest: float
    origin: str
    warning: str  # or ""
    push: float  # the change that comes and goes, in this joint alone, that is found; inf: none is

    @property
    def range(self) -> str:
        """The threshold, from its least to its greatest value over the motion."""
        if np.isinf(self.least):
            return "not looked for"
        changes = self.greatest > 1.05 * self.least
        return f"{self.least:.3g} to {self.greatest:.3g}" if changes else f"{self.least:.3g}"


def bounds(residual: Residual, contacts: Contacts, model: DynamicsModel) -> list[Bound]:
    """The threshold in force for each joint."""
    raw, left = (
        np.sqrt(np.mean(np.square(values[residual.free]), axis=0))
        for values in (residual.uncorrected, residual.external)
    )
    share = FLOOR * left / residual.floor  # of the effort limit, or the largest effort
    thresholds = residual.bound(contacts.threshold)[residual.free]
    usual = float(np.median(share))
    found = []
    for j, joint in enumerate(model.joints):
        noise, floor = contacts.threshold * residual.spread[residual.free, j], float(residual.floor[j])
        origin = f"{contacts.threshold:.3g} times its usual residual"
        limit = f"effort limit of {joint.effort:g} {joint.effort_unit}" if joint.effort else "largest effort"
        if (noise < floor).any():
            least = f"{100 * FLOOR:g} % of its {limit}"
            origin = least if (noise < floor).all() else f"{origin}, at least {least}"
        if residual.standing:
            thresholds[:, j] = max(contacts.pushes[j], floor)
            origin = (
                f"of a standing arm, {100 * SHARE_OF_LIMIT:g} % of its {limit}, or {STEADY:g} times its noise"
            )
        elif residual.at_rest[:, j].any():
            origin += ", and the friction that the model may hold at rest"
        warning, above = "", np.mean(thresholds[:, j] >= (joint.effort or np.inf))
        if above:
            warning = (
                f"for {100 * above:.0f} % of the time taken as free of contact its threshold is above its "
                f"{limit}: no contact is found in it then; a lasting contact there, or friction that the "
                "model lacks, raises it"
            )
        elif share[j] > NOISY * usual and share[j] > FLOOR:
            warning = (
                f"without contact, effort of {left[j]:.3g} {joint.effort_unit} RMS is unexplained, "
                f"{share[j] / usual:.0f} times what is usual for this arm beside its limits: contacts may "
                "hide in it"
            )
        found.append(
            Bound(
                joint=joint.name,
                unit=joint.effort_unit,
                raw=float(raw[j]),
                left=float(left[j]),
                least=float(thresholds[:, j].min()),
                greatest=float(thresholds[:, j].max()),
                origin=origin,
                warning=warning,
                push=contacts.pushes[j],
            )
        )
    return found


def fault_text(fault: Fault, model: DynamicsModel) -> str:
    """What a signal does that is no contact, and when."""
    span = f"from {fault.start:.3f} s to {fault.end:.3f} s"
    level = f"{fault.level:.3g}" + f" {model.joints[fault.joint].effort_unit}" * (fault.signal == "effort")
    said = {
        "noisy": f"is noisy {span}: {fault.ratio:.0f} times its usual noise",
        "spike": f"is off by {level} in one sample, at {fault.start:.3f} s, which is left out",
        "frozen": f"stays at {level} {span}: contacts at this joint are not reported there",
        "silent": "is mostly one value, as within a dead zone: contacts at this joint are not reported",
    }
    return f"{fault.signal} of {model.joint_names[fault.joint]!r} {said[fault.kind]}"


def unlooked(contacts: Contacts) -> bool:
    """Whether no stretch was long enough for a window in which a push comes and goes."""
    return bool(np.isinf(contacts.pushes).any())


def contact_lines(bag: Path, residual: Residual, contacts: Contacts, model: DynamicsModel) -> list[str]:
    """One line for what was judged and how, one for each joint, and a few for each contact."""
    seconds = len(residual.time) / residual.rate
    lines = [
        f"{bag}: {seconds:.3g} s, {counted(len(contacts.found), 'contact')}; "
        f"false alarms allowed for: {contacts.rate:g} an hour, if the model errs as it usually does here"
    ]
    for each in bounds(residual, contacts, model):
        known = np.isfinite(each.least)
        above = f"above {each.range} {each.unit} ({each.origin})" if known else each.range
        lines.append(
            f"  joint {each.joint!r}: contact {above}; unexplained {each.raw:.3g} {each.unit} RMS with the "
            f"model as it is, {each.left:.3g} after its errors were fitted"
        )
        if np.isfinite(each.push):
            lines.append(f"    a push felt by this joint alone is found from {each.push:.3g} {each.unit}")
        if each.warning:
            lines.append(f"  warning: joint {each.joint!r}: {each.warning}")
    lines += [f"  warning: {fault_text(each, model)}" for each in residual.faults]
    lines += [f"  {TOO_SHORT}"] * unlooked(contacts)
    if residual.standing and contacts.found and not felt_coulomb(model).all():
        lines.append(f"  warning: {NO_STICTION}")
    for number, contact in enumerate(contacts.found, 1):
        efforts = []
        for name in contact.joints:
            j = model.joint_names.index(name)
            effort = f"{contact.efforts[j]:+.3g} {model.joints[j].effort_unit}"
            efforts.append(f"{name!r} {effort} ({contact.ratios[j]:.1f} x)")
        lines += [
            "",
            f"contact {number}: {contact.start:.3f} s to {contact.end:.3f} s, "
            f"strongest at {contact.peak:.3f} s",
            f"  joints: {', '.join(efforts)}",
        ]
        for force in contact.forces:
            share = f"; it explains {100 * force.explained:.0f} % of the efforts"
            lines.append(
                f"  as a force at {force.tip!r}, if that is where it acts: {force_text(force)}"
                f"{share * (len(contact.forces) > 1)}"
            )
    return lines


def force_text(force: TipForce) -> str:
    """The force at a tip that would explain a contact, by axis, with standard errors."""
    determined = np.isfinite(force.errors)
    if not determined.any():
        return "not determined: of its direction the joint efforts tell too little, or it acts elsewhere"
    parts = [
        f"{axis} {value:+.3g} \u00b1 {error:.2g} N" if known else f"{axis} not determined in this posture"
        for axis, value, error, known in zip("xyz", force.value, force.errors, determined, strict=True)
    ]
    size = f"{np.linalg.norm(force.value):.3g} N, " * bool(determined.all())
    return f"{size}{', '.join(parts)} (tip axes)"


def collision_lines(bag: Path, collisions: Sequence[Collision]) -> list[str]:
    """What the node would have reported with these thresholds."""
    lines = [f"{bag}: {counted(len(collisions), 'collision')} by the thresholds given"]
    for found in collisions:
        lines.append(
            f"  {found.time:.3f} s, joint {found.joint!r}: external effort "
            f"{found.residual:+.3g} {found.unit}, threshold {found.threshold:.3g} {found.unit}"
        )
    return lines


def calibration_lines(calibration: Calibration, model: DynamicsModel) -> list[str]:
    """The thresholds, how sure they are, and the force that they amount to."""
    thresholds = calibration.thresholds
    lines = [
        f"{calibration.hours * 60.0:.3g} min without contact, thresholds for "
        f"{counted(calibration.rate, 'false alarm')} an hour"
    ]
    longer = 1.0 / (calibration.hours * calibration.rate)
    if longer > 1.0:
        lines.append(
            f"  one such alarm takes {longer:.3g} times as long as was recorded: "
            "the thresholds are extrapolated; record for longer to narrow their ranges"
        )
    limits = np.array([joint.effort or np.nan for joint in model.joints])
    share = (thresholds.constant + thresholds.rest) / limits
    usual = float(np.nanmedian(share)) if np.isfinite(share).any() else np.inf
    for j, (name, unit) in enumerate((joint.name, joint.effort_unit) for joint in model.joints):
        low, high = calibration.intervals[j]
        lines.append(
            f"  joint {name!r}: {thresholds.constant[j]:.3g} {unit} + {thresholds.rest[j]:.3g} at "
            f"rest + {thresholds.speed[j]:.3g} |q'| + {thresholds.acceleration[j]:.3g} |q''|; "
            f"right within {low:.2f} to {high:.2f} times that"
        )
        if share[j] >= 1.0:
            lines.append(
                f"  warning: joint {name!r}: at rest that is above its effort limit of {limits[j]:.3g} "
                f"{unit}: no contact is reported there; record for longer, at best "
                f"{1.0 / calibration.rate:.3g} h, or allow more --false-alarms"
            )
        elif share[j] > NOISY * usual:
            lines.append(
                f"  warning: joint {name!r}: at rest that is {100 * share[j]:.0f} % of its effort limit, "
                f"{share[j] / usual:.0f} times what is usual for this arm: contact in a recording, or effort "
                "that the model does not explain; contacts will hide in it"
            )
    return lines + [
        f"  at rest that finds a force at {tip!r} of {best:.3g} N in the best direction and posture, "
        f"{middle:.3g} N in the middle, {most:.3g} N in nine of ten"
        for tip, (best, middle, most) in calibration.least_force.items()
    ]


def write_report(
    folder: Path, bag: Path, residual: Residual, contacts: Contacts, model: DynamicsModel
) -> None:
    """``contacts.json`` and ``contacts.html`` into the folder, which is made where it is absent."""
    joints = bounds(residual, contacts, model)
    data = {
        "format": FORMAT,
        "bag": str(bag),
        "model": model.name,
        "joints": list(model.joint_names),
        "threshold": contacts.threshold,
        "false_alarms_per_hour": contacts.rate,
        "thresholds": [[each.least, each.greatest] for each in joints],
        "pushes": [each.push for each in joints],
        "faults": [{**each._asdict(), "joint": model.joint_names[each.joint]} for each in residual.faults],
        "contacts": [
            {
                **vars(each),
                "tip_force": each.forces[0].value.tolist(),
                "tip_force_error": each.forces[0].errors.tolist(),
                "tip_force_determined": np.isfinite(each.forces[0].errors).tolist(),
                "forces": [
                    {
                        "tip": force.tip,
                        "force": force.value.tolist(),
                        "error": force.errors.tolist(),
                        "determined": np.isfinite(force.errors).tolist(),
                        "explained": force.explained,
                    }
                    for force in each.forces
                ],
            }
            for each in contacts.found
        ],
    }
    page = rendered(
        "kane_dynamics_ros.contact",
        "report.html.j2",
        bag=bag,
        model=model,
        seconds=len(residual.time) / residual.rate,
        contacts=contacts,
        faults=[fault_text(each, model) for each in residual.faults],
        too_short=TOO_SHORT * unlooked(contacts),
        several=len(model.tips) > 1,
        rate=counted(contacts.rate, "false alarm"),
        joints=joints,
        units={each.joint: each.unit for each in joints},
        force_text=force_text,
        figure=Markup(contacts_figure(residual, contacts, model)),
    )
    names = ("contacts.json", "contacts.html")
    refuse_foreign(folder, names, "observe")
    with whole_results(folder, names, "observe") as part:
        write_file(part / "contacts.json", json_text(data))
        write_file(part / "contacts.html", page)


def contacts_figure(residual: Residual, contacts: Contacts, model: DynamicsModel) -> str:
    """SVG: each joint's external effort within its threshold, the contacts shaded."""
    n = len(model.joint_names)
    height = 1.9 * n + 0.6  # [in]
    figure = Figure(figsize=(11, height))
    figure.subplots_adjust(left=0.11, right=0.99, bottom=0.5 / height, top=1.0 - 0.35 / height, hspace=0.3)
    every = slice(None, None, max(1, len(residual.time) // SHOWN))
    time = residual.time[every]
    for j, name in enumerate(model.joint_names):
        axes = figure.add_subplot(n, 1, j + 1)
        bound = residual.bound(contacts.threshold)[every, j]
        if residual.standing:
            bound[:] = contacts.pushes[j]
        axes.fill_between(time, -bound, bound, color="#c9d6e2", label="threshold", linewidth=0)
        axes.plot(time, residual.external[every, j], color="#c0392b", linewidth=0.9, label="external effort")
        for contact in contacts.found:
            label = "contact" if contact is contacts.found[0] else None
            axes.axvspan(contact.start, contact.end, color="#f4d03f", alpha=0.4, label=label)
        shown = name if len(name) <= LABEL else f"{name[: LABEL - 3]}..."
        axes.set_ylabel(f"{shown}\n[{model.joints[j].effort_unit}]", parse_math=False, fontsize="small")
        axes.margins(x=0)
        axes.grid(alpha=0.25)
    axes.set_xlabel("time since the first stamp [s]")
    # above the axes, where it covers no data
    figure.axes[0].legend(
        loc="lower right", bbox_to_anchor=(1.0, 1.0), fontsize="small", ncols=3, frameon=False
    )
    return svg(figure)
