"""The launch files themselves, built with a stand-in of launch's API; no ROS installation is needed."""

from types import SimpleNamespace

import pytest

pytest.importorskip("rclpy", reason="needs the ROS 2 wheels")

from launch_stand_in import SHARE, install, launched, node, of_kind, started

from kane_dynamics_ros.cli import replay
from kane_dynamics_ros.cli.main import main
from kane_dynamics_ros.errors import KaneDynamicsError

FILES = {"feedforward": 1, "simulation": 2}  # nodes of ours


@pytest.mark.parametrize("name", [*FILES, "replay", "ros2_control"])
def test_nothing_is_started_outside_the_function_that_checks_everything(monkeypatch, tmp_path, name):
    install(monkeypatch, tmp_path)
    declared, _ = launched(name)
    assert {type(each).__name__ for each in declared.values()} == {"DeclareLaunchArgument"}
    assert all(each.description for each in declared.values())


@pytest.mark.parametrize(("name", "count"), FILES.items())
def test_the_nodes_start_with_their_parameters(monkeypatch, tmp_path, name, count):
    install(monkeypatch, tmp_path, installed=("robot_state_publisher",))
    nodes = of_kind("Node", started(name, namespace="left", controller="effort"))
    assert [each.package for each in nodes] == ["kane_dynamics_ros"] * count + ["robot_state_publisher"]
    for each in nodes[:count]:
        assert each.namespace == "left"
        assert each.remappings == [("forward_effort_controller/commands", "effort/commands")]
    described = nodes[-1].parameters[0]["robot_description"]
    assert (described.value_type, described.arguments[0][:5]) == (str, "<?xml")


def test_what_is_not_installed_is_left_out_with_a_word(monkeypatch, tmp_path):
    install(monkeypatch, tmp_path)
    actions = started("feedforward", rviz="true")
    words = " ".join(each.msg for each in of_kind("LogInfo", actions))
    assert "robot_state_publisher" in words
    assert "rviz2" in words


def end_of(actions, executable):
    """What happens when a node ends: a function of exit code, last line and whether launch is ending."""
    target = node(actions, executable)
    handlers = [each.arguments[0] for each in of_kind("RegisterEventHandler", actions)]
    [listen] = [h.on_stderr for h in handlers if h.target_action is target and hasattr(h, "on_stderr")]
    [end] = [h.on_exit for h in handlers if h.target_action is target and hasattr(h, "on_exit")]

    def happen(code, line=b"", ending=False):
        listen(SimpleNamespace(text=b"error: the reason\n[INFO] [1.0] [n]: going\n" if line else b""))
        return end(SimpleNamespace(returncode=code), SimpleNamespace(is_shutdown=ending))

    return happen


@pytest.mark.parametrize("code", [0, 2, -9])
@pytest.mark.parametrize("executable", ["feedforward_node", "simulated_hardware_node"])
def test_a_node_that_ends_ends_the_launch_with_an_error(monkeypatch, tmp_path, code, executable):
    install(monkeypatch, tmp_path)
    [action] = end_of(started("simulation"), executable)(code, line=b"x")
    with pytest.raises(KaneDynamicsError) as caught:
        action.function(None)
    found = caught.value
    assert (found.code, found.name, found.exit_code) == ("node_ended", executable, code)
    assert str(caught.value).endswith(": error: the reason")


def test_nothing_more_is_said_of_nodes_that_end_with_the_launch(monkeypatch, tmp_path):
    install(monkeypatch, tmp_path)
    assert end_of(started("simulation"), "feedforward_node")(0, ending=True) == []


def test_rviz_may_be_closed(monkeypatch, tmp_path):
    install(monkeypatch, tmp_path, installed=("rviz2",))
    actions = started("feedforward", rviz="true", publish_description="false")
    [rviz] = [each for each in of_kind("Node", actions) if each.package == "rviz2"]
    targets = [each.arguments[0].target_action for each in of_kind("RegisterEventHandler", actions)]
    assert rviz not in targets


@pytest.mark.parametrize("code", [0, 1])
def test_the_end_of_the_replay_is_the_end_of_the_launch(monkeypatch, tmp_path, code):
    install(monkeypatch, tmp_path)
    actions = started("replay", bag=str(SHARE / "test" / "replay" / "data" / "regression.mcap"))
    [player] = of_kind("ExecuteProcess", actions)
    handlers = [each.arguments[0] for each in of_kind("RegisterEventHandler", actions)]
    [end] = [h.on_exit for h in handlers if h.target_action is player and hasattr(h, "on_exit")]
    [action] = end(SimpleNamespace(returncode=code), SimpleNamespace(is_shutdown=False))
    assert type(action).__name__ == ("OpaqueFunction" if code else "Shutdown")
    if code:
        with pytest.raises(KaneDynamicsError) as caught:
            action.function(None)
        assert (caught.value.name, caught.value.exit_code) == ("replay", 1)


def test_the_replayed_node_starts_once_when_the_bag_has_been_read(monkeypatch, tmp_path, capsys):
    """A node on simulated time that waits for a bag to be read would complain that no /clock comes."""
    install(monkeypatch, tmp_path)
    actions = started("replay", bag=str(SHARE / "test" / "replay" / "data" / "regression.mcap"))
    assert of_kind("Node", actions) == []
    handlers = [each.arguments[0] for each in of_kind("RegisterEventHandler", actions)]
    [listen] = [h.on_stdout for h in handlers if hasattr(h, "on_stdout")]
    monkeypatch.setattr(replay, "write_playlist", lambda *_: 160)
    monkeypatch.setattr(replay, "play", lambda *_, **__: False)
    [player] = of_kind("ExecuteProcess", actions)
    words = player.cmd[player.cmd.index("replay") :]
    assert main([*words, "--report", str(tmp_path)]) == 2
    said = capsys.readouterr().out.encode()
    assert not listen(SimpleNamespace(text=said[:30]))
    [first, *_] = listen(SimpleNamespace(text=said[30:]))
    assert first.executable == "feedforward_node"
    assert not listen(SimpleNamespace(text=said))


ROS2_CONTROL = {
    "robot_state_publisher",
    "controller_manager",
    "joint_state_topic_hardware_interface",
    "joint_state_broadcaster",
    "joint_trajectory_controller",
}


def install_ros2_control(monkeypatch, folder, there):
    install(monkeypatch, folder, installed=there)
    for name in ("ros2_control_node", "spawner"):
        path = folder / "lib" / "controller_manager" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()


@pytest.mark.parametrize("missing", [*({each} for each in sorted(ROS2_CONTROL)), ROS2_CONTROL])
def test_all_packages_that_are_missing_are_named_before_anything_starts(monkeypatch, tmp_path, missing):
    install_ros2_control(monkeypatch, tmp_path, ROS2_CONTROL - missing)
    with pytest.raises(KaneDynamicsError) as caught:
        started("ros2_control")
    assert caught.value.code == "not_installed"
    assert {package for package, _ in caught.value.missing} == missing
    assert all(repr(package) in str(caught.value) for package in missing)


@pytest.mark.parametrize("code", [0, 1])
def test_a_spawner_that_fails_ends_the_launch_and_one_that_is_done_does_not(monkeypatch, tmp_path, code):
    install_ros2_control(monkeypatch, tmp_path, ROS2_CONTROL)
    following = end_of(started("ros2_control"), "spawner")(code)
    if code == 0:
        assert following == []
        return
    with pytest.raises(KaneDynamicsError) as caught:
        following[0].function(None)
    assert (caught.value.name, caught.value.exit_code) == ("spawner", 1)


def test_an_executable_that_is_missing_is_named_before_anything_starts(monkeypatch, tmp_path):
    install(monkeypatch, tmp_path)
    (tmp_path / "lib" / "kane_dynamics_ros" / "feedforward_node").unlink()
    with pytest.raises(KaneDynamicsError) as caught:
        started("simulation")
    assert caught.value.missing == (("kane_dynamics_ros", "feedforward_node"),)


@pytest.mark.parametrize(("name", "given"), [("simulation", "use_simtime"), ("ros2_control", "feedfoward")])
def test_a_misspelt_argument_is_refused_with_the_one_that_was_meant(monkeypatch, tmp_path, name, given):
    install(monkeypatch, tmp_path)
    with pytest.raises(KaneDynamicsError, match=r"did you mean (use_sim_time|feedforward)\?") as caught:
        started(name, **{given: "x"})
    assert (caught.value.code, caught.value.name) == ("argument", given)


def test_an_argument_of_the_launch_file_that_includes_ours_is_none_of_our_business(monkeypatch, tmp_path):
    install(monkeypatch, tmp_path)
    assert of_kind("Node", started("feedforward", table_height="0.7"))


def test_the_feedforward_node_commands_the_arm_through_ros2_control(monkeypatch, tmp_path):
    there = ROS2_CONTROL | {"forward_command_controller"} - {"joint_trajectory_controller"}
    install_ros2_control(monkeypatch, tmp_path, there)
    actions = started("ros2_control", feedforward="true", mode="feedforward")
    executables = [each.executable for each in of_kind("Node", actions)]
    assert executables[-2:] == ["spawner", "feedforward_node"]
    assert node(actions, "spawner").arguments[:2] == ["joint_state_broadcaster", "forward_effort_controller"]
    assert node(actions, "ros2_control_node").parameters[0] == str(SHARE / "config" / "controllers.yaml")
    [handler] = [
        each.arguments[0]
        for each in of_kind("RegisterEventHandler", actions)
        if each.arguments[0].target_action is node(actions, "feedforward_node")
        and hasattr(each.arguments[0], "on_exit")
    ]
    assert handler.on_exit(SimpleNamespace(returncode=0), SimpleNamespace(is_shutdown=False))
    with pytest.raises(KaneDynamicsError) as caught:
        started("ros2_control", feedforward="true", interface="position")
    assert caught.value.name == "interface"
