"""The simulated hardware node's parameter ``elastic``."""

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("rclpy", reason="needs the ROS 2 wheels")

from kane_dynamics_ros.codegen.module import write_module
from kane_dynamics_ros.description import parse_robot
from kane_dynamics_ros.errors import KaneDynamicsError
from kane_dynamics_ros.nodes.feedforward.parameters import TABLE as FEEDFORWARD_TABLE
from kane_dynamics_ros.nodes.hardware.parameters import TABLE, build_engine, parametrised
from kane_dynamics_ros.runtime import load_model
from kane_dynamics_ros.runtime.node_parameters import RosParameterError, configured_model
from kane_dynamics_ros.share import share_directory
from kane_dynamics_ros.simulation.elastic_plant import ElasticPlant
from kane_dynamics_ros.simulation.plant import Plant
from kane_dynamics_ros.systems.closed_chain import closed_chain
from kane_dynamics_ros.systems.closed_functions import derive_closed

LINKS = Path(__file__).parents[2] / "examples" / "elastic_forearm" / "forearm.yaml"
MODEL = load_model("manipulator_5dof")


def engine(model: Any = MODEL, **changes: Any) -> Any:
    values = {declaration.name: declaration.default for declaration in TABLE} | changes
    values = {name: [] if value == [""] else value for name, value in values.items()}
    return build_engine(parametrised(model, values), values)


def test_without_it_the_arm_is_rigid() -> None:
    assert isinstance(engine(), Plant)


def test_a_yaml_file_makes_its_links_bend() -> None:
    bent = engine(elastic=str(LINKS))
    assert isinstance(bent, ElasticPlant)
    assert bent.arm.size == 5 + 4 * 6  # joints, and four free nodes


def test_the_urdf_s_own_elements_are_read_and_the_payload_is_carried() -> None:
    text = (share_directory() / "urdf" / "manipulator_5dof.urdf").read_text(encoding="utf-8")
    element = '<elastic E="1e10" G="3e9" density="1815" tube="0.05 0.02"/>'
    urdf = text.replace('<link name="limb_3">', f'<link name="limb_3">{element}')
    light = engine(elastic="urdf", robot_description=urdf)
    heavy = engine(elastic="urdf", robot_description=urdf, **{"payload.mass": 2.0})
    assert heavy.tip.p[2] < light.tip.p[2] - 1e-3  # it sags more


def test_it_needs_the_own_engine_and_links(tmp_path: Path) -> None:
    with pytest.raises(RosParameterError) as refused:
        engine(elastic=str(LINKS), engine="mujoco")
    assert str(refused.value) == (
        f"parameter 'elastic': found {str(LINKS)!r}; allowed is empty with engine mujoco"
    )
    with pytest.raises(KaneDynamicsError) as caught:
        engine(elastic="urdf")
    assert caught.value.code == "no_elastic_link"


@pytest.fixture(scope="module")
def linkage(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The shipped four-bar, whose passive joints rub."""
    folder = LINKS.parents[1] / "four_bar"
    text = (folder / "four_bar.urdf").read_text(encoding="utf-8")
    rubbing = text.replace(
        '<joint name="elbow" type="revolute">',
        '<joint name="elbow" type="revolute"><dynamics damping="0.5"/>',
    )
    closed = closed_chain(parse_robot(rubbing), folder / "loops.yaml")
    module, *_ = write_module(derive_closed(closed), "linkage", tmp_path_factory.mktemp("linkage"))
    return load_model(module, backend="python")


def test_a_model_with_closed_loops_needs_the_own_rigid_engine(linkage: Any) -> None:
    for asked in ({"engine": "mujoco"}, {"elastic": str(LINKS)}):
        with pytest.raises(RosParameterError) as refused:
            engine(linkage, **asked)
        assert refused.value.name == "engine"


def test_both_nodes_take_the_friction_of_joints_that_follow_from_the_urdf(linkage: Any) -> None:
    plant = engine(linkage)
    assert plant._model.parameters.follower_viscous == (0.5, 0.0)
    assert engine(linkage, **{"plant.friction": False})._model.parameters.follower_viscous == (0.0, 0.0)
    values = {declaration.name: declaration.default for declaration in FEEDFORWARD_TABLE}
    assert configured_model(values, linkage).parameters.follower_viscous == (0.5, 0.0)
    off = values | {"friction.urdf_damping": False}
    assert configured_model(off, linkage).parameters.follower_viscous == (0.0, 0.0)
