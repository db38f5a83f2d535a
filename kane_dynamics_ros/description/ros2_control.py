"""Initial joint positions from ``<ros2_control>``."""

from kane_dynamics_ros.description.attributes import Reader
from kane_dynamics_ros.description.notes import Notes
from kane_dynamics_ros.description.xml_tree import Element


def read_initial_positions(root: Element, notes: Notes) -> dict[str, float]:
    """``initial_value`` of the position state interface of each joint that has one [rad] or [m]."""
    positions: dict[str, float] = {}
    for control in root.all("ros2_control"):
        for joint in control.all("joint"):
            for interface in joint.all("state_interface"):
                if interface.attributes.get("name") != "position":
                    continue
                for parameter in interface.all("param"):
                    if parameter.attributes.get("name") == "initial_value":
                        name = joint.attributes.get("name", "")
                        reader = Reader(parameter, f"<ros2_control> joint {name!r} <param>", notes)
                        positions[name] = reader.convert("initial_value", parameter.text.strip())
    return positions
