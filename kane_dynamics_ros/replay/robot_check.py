"""Whether the recorded robot is the one that the model was generated from."""

from pathlib import Path

from kane_dynamics_ros.description import (
    DescriptionError,
    Robot,
    check_origin,
    load_robot,
    parse_robot,
)
from kane_dynamics_ros.runtime.interface import DynamicsModel


def robot_note(description: str | None, urdf: Path | None, model: DynamicsModel) -> str:
    """One sentence about the model's origin against the bag's ``robot_description``, or else ``urdf``.

    A bag that was started late, or cut, has lost the latched description; the file stands in for it.
    """
    if description is None and urdf is None:
        return "the bag holds no robot_description; give --urdf FILE to check the model's origin"
    place = "the bag's robot_description" if description is not None else str(urdf)
    try:
        origin = check_origin(model, _robot(description, urdf))
    except (DescriptionError, OSError) as error:
        return f"{place} could not be compared with the model: {error}"
    if origin.matches:
        return f"the model was generated from {place}"
    return (
        f"the model was NOT generated from {place}: physics hash {model.urdf_hash[:16]} against "
        f"{origin.hash[:16]}; generate it again, or judge with that in mind"
    )


def _robot(description: str | None, urdf: Path | None) -> Robot:
    if description is not None:
        return parse_robot(description, "robot_description")
    return load_robot(str(urdf))
