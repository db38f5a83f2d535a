"""What was found in a recording, as lines for a terminal, as JSON and as a page with one figure."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from markupsafe import Markup
from matplotlib.figure import Figure

from kane_dynamics_ros.contact.calibration import Calibration
from kane_dynamics_ros.contact.events import Contact, Contacts
from kane_dynamics_ros.contact.residual import Residual
from kane_dynamics_ros.control.observer import Collision
from kane_dynamics_ros.files import claim_files, write_file
from kane_dynamics_ros.pages import rendered, svg
from kane_dynamics_ros.runtime import DynamicsModel
from kane_dynamics_ros.text import counted, json_text

FORMAT = 2  # of the JSON; rises when a field changes its name or meaning
SHOWN = 4000  # samples in a figure
AXES = ("x", "y", "z")


def unit(model: DynamicsModel, joint: int) -> str:
    """The unit of a joint's effort."""
    return "N" if model.joints[joint].kind == "prismatic" else "N m"


def contact_lines(bag: Path, residual: Residual, contacts: Contacts, model: DynamicsModel) -> list[str]:
    """One line for what was judged and how, and a few for each contact."""
    seconds = len(residual.time) / residual.rate
    left = np.sqrt(np.mean(np.square(residual.external), axis=0))
    raw = np.sqrt(np.mean(np.square(residual.uncorrected), axis=0))
    lines = [
        f"{bag}: {seconds:.3g} s, {counted(len(contacts.found), 'contact')} above "
        f"{contacts.threshold:.3g} times the usual residual, where "
        f"{counted(contacts.rate, 'false alarm')} an hour must be expected"
    ]
    lines += [
        f"  joint {name!r}: unexplained effort {raw[j]:.3g} {unit(model, j)} RMS with the model as it is, "
        f"{left[j]:.3g} after its errors were fitted"
        for j, name in enumerate(model.joint_names)
    ]
    for number, contact in enumerate(contacts.found, 1):
        lines += ["", *_lines(number, contact, model)]
    return lines


def _lines(number: int, contact: Contact, model: DynamicsModel) -> list[str]:
    efforts = [
        f"{name!r} {contact.efforts[j]:+.3g} {unit(model, j)} ({contact.ratios[j]:.1f} x)"
        for name in contact.joints
        for j in (model.joint_names.index(name),)
    ]
    determined = contact.wrench.determined
    force = ", ".join(
        f"{axis} {value:+.3g}" if determined[k] else f"{axis} not determined in this posture"
        for k, (axis, value) in enumerate(zip(AXES, contact.wrench.value, strict=False))
    )
    return [
        f"contact {number}: {contact.start:.3f} s to {contact.end:.3f} s, strongest at {contact.peak:.3f} s",
        f"  joints: {', '.join(efforts)}",
        f"  as a force at {model.tip!r}, if that is where it acts: {contact.force:.3g} N ({force}; tip axes)",
    ]


def collision_lines(bag: Path, collisions: Sequence[Collision], model: DynamicsModel) -> list[str]:
    """What the node would have reported with these thresholds."""
    lines = [f"{bag}: {len(collisions)} collisions by the thresholds given"]
    for found in collisions:
        effort = unit(model, model.joint_names.index(found.joint))
        lines.append(
            f"  {found.time:.3f} s, joint {found.joint!r}: external effort {found.residual:+.3g} {effort}, "
            f"threshold {found.threshold:.3g} {effort}"
        )
    return lines


def calibration_lines(calibration: Calibration, model: DynamicsModel) -> list[str]:
    """The thresholds, how sure they are, and the force that they amount to."""
    thresholds = calibration.thresholds
    best, middle, most = calibration.least_force
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
    for j, name in enumerate(model.joint_names):
        low, high = calibration.intervals[j]
        lines.append(
            f"  joint {name!r}: {thresholds.constant[j]:.3g} {unit(model, j)} + {thresholds.rest[j]:.3g} at "
            f"rest + {thresholds.speed[j]:.3g} |q'| + {thresholds.acceleration[j]:.3g} |q''|; "
            f"right within {low:.2f} to {high:.2f} times that"
        )
    lines.append(
        f"  at rest that finds a force at {model.tip!r} of {best:.3g} N in the best direction and posture, "
        f"{middle:.3g} N in the middle, {most:.3g} N in nine of ten"
    )
    return lines


def write_report(
    folder: Path, bag: Path, residual: Residual, contacts: Contacts, model: DynamicsModel
) -> None:
    """``contacts.json`` and ``contacts.html`` into the folder, which is made where it is absent."""
    claim_files(folder, ("contacts.json", "contacts.html"), "observe")
    lines = contact_lines(bag, residual, contacts, model)
    data = {
        "format": FORMAT,
        "bag": str(bag),
        "model": model.name,
        "joints": list(model.joint_names),
        "threshold": contacts.threshold,
        "false_alarms_per_hour": contacts.rate,
        "contacts": [
            {
                "start": each.start,
                "end": each.end,
                "peak": each.peak,
                "joints": list(each.joints),
                "efforts": list(each.efforts),
                "ratios": list(each.ratios),
                "tip_force": each.wrench.value[:3].tolist(),
                "tip_force_determined": each.wrench.determined[:3].tolist(),
            }
            for each in contacts.found
        ],
    }
    write_file(folder / "contacts.json", json_text(data))
    page = rendered(
        "kane_dynamics_ros.contact",
        "report.html.j2",
        bag=bag,
        lines=lines,
        figure=Markup(contacts_figure(residual, contacts, model)),
    )
    write_file(folder / "contacts.html", page)


def contacts_figure(residual: Residual, contacts: Contacts, model: DynamicsModel) -> str:
    """SVG: each joint's external effort within its threshold, the contacts shaded."""
    n = len(model.joint_names)
    figure = Figure(figsize=(11, 1.9 * n))
    figure.subplots_adjust(left=0.08, right=0.995, bottom=0.4 / (1.9 * n), top=1.0 - 0.1 / n, hspace=0.3)
    every = max(1, len(residual.time) // SHOWN)
    time = residual.time[::every]
    for j, name in enumerate(model.joint_names):
        axes = figure.add_subplot(n, 1, j + 1)
        bound = np.maximum(contacts.threshold * residual.spread[::every, j], residual.floor[j])
        axes.fill_between(time, -bound, bound, color="#c9d6e2", label="threshold", linewidth=0)
        axes.plot(
            time, residual.external[::every, j], color="#c0392b", linewidth=0.9, label="external effort"
        )
        for contact in contacts.found:
            axes.axvspan(contact.start, contact.end, color="#f4d03f", alpha=0.4)
        axes.set_ylabel(f"{name}\n[{unit(model, j)}]", parse_math=False)
        axes.margins(x=0)
        axes.grid(alpha=0.25)
        if j == n - 1:
            axes.set_xlabel("time since the first stamp [s]")
    figure.axes[0].legend(loc="upper right", fontsize="small", ncols=2)
    return svg(figure)
