"""The layouts for PlotJuggler and Foxglove show topics that there are, of the reference robot's joints."""

import json
import re
from pathlib import Path
from xml.etree import ElementTree

from kane_dynamics_ros.runtime import load_model

CONFIG = Path(__file__).parents[1] / "config"
JOINTS = load_model("manipulator_5dof", backend="python").joint_names
TERMS = ("inertia", "coriolis", "gravity", "friction", "feedback")
TOPICS = {
    "/joint_states",
    "/feedforward_node/feedforward",
    "/feedforward_node/external_torque",
    *(f"/feedforward_node/terms/{term}" for term in TERMS),
}


def test_plotjuggler_shows_every_joint_of_each_topic():
    root = ElementTree.parse(CONFIG / "plotjuggler.xml").getroot()
    curves = [curve.attrib["name"].rsplit("/", 2) for curve in root.iter("curve")]
    assert {topic for topic, _, _ in curves} == TOPICS
    assert {field for _, _, field in curves} == {"position", "effort"}
    for topic in TOPICS:
        assert {joint for place, joint, _ in curves if place == topic} == set(JOINTS)
    for splitter in root.iter("DockSplitter"):
        assert len(splitter.findall("DockArea")) == int(splitter.attrib["count"])


def test_foxglove_shows_every_joint_and_the_diagnostics():
    layout = json.loads((CONFIG / "foxglove.json").read_text())
    plots = [panel for name, panel in layout["configById"].items() if name.startswith("Plot!")]
    for path in (path for plot in plots for path in plot["paths"]):
        topic, index = re.fullmatch(r"(.+)\.(?:position|effort)\[(\d)\]", path["value"]).groups()
        assert topic in TOPICS
        assert path["label"].split()[0] == JOINTS[int(index)]

    def panels(part):
        return [part] if isinstance(part, str) else panels(part["first"]) + panels(part["second"])

    assert sorted(panels(layout["layout"])) == sorted(layout["configById"])
