"""The command ``generate``: what it says of a doubtful URDF."""

import pytest
from small_urdf import LIMIT, joint, link, robot, two_joints

from kane_dynamics_ros.cli.main import main
from kane_dynamics_ros.formulation.kane import frames


def test_each_warning_names_its_element_as_inspect_does(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "doubtful.urdf").write_text(two_joints(inside=f'<axis xyz="0 0 2"/>{LIMIT}'))
    assert main(["generate", "doubtful.urdf", "--tip", "two", "--no-compile"]) == 0
    assert capsys.readouterr().out.splitlines()[:2] == [
        "doubtful.urdf:5: warning: joint 'a' <axis>: the axis has length 2: made 1 [KD305]",
        "joints (root to tip): a, b",
    ]


def test_sound_urdf_gives_no_warning(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "arm.urdf").write_text(two_joints())
    assert main(["generate", "arm.urdf", "--tip", "two", "--no-compile"]) == 0
    assert capsys.readouterr().out.startswith("joints (root to tip): a, b\n")


@pytest.mark.parametrize("error", [1e-13, 1e-8])
def test_a_module_that_disagrees_with_the_unfactored_equations_is_not_written(
    tmp_path, monkeypatch, capsys, error
):
    """A frame that is stretched on purpose, its own check switched off: seen by the module's torques."""
    right = frames.orthonormal

    def stretched(x, z):
        a, b, c = right(x, z)
        return (tuple((1 + error) * entry for entry in a), b, c)

    monkeypatch.setattr(frames, "orthonormal", stretched)
    monkeypatch.setattr(frames, "ORTHONORMAL", 1.0)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "arm.urdf").write_text(two_joints())
    outcome = main(["generate", "arm.urdf", "--tip", "two", "--no-compile"])
    written = sorted(path.name for path in tmp_path.iterdir())
    if error > 1e-10:
        assert outcome == 2
        assert "unfactored equations" in capsys.readouterr().err
        assert written == ["arm.urdf"]
    else:
        assert outcome == 0
        assert written == ["arm.c", "arm.h", "arm.py", "arm.urdf"]


def test_rounding_where_every_effort_vanishes_is_no_disagreement(tmp_path, monkeypatch):
    """A point mass on the only axis: efforts are 0 but for the rounding of a quarter turn in six digits."""
    monkeypatch.chdir(tmp_path)
    point = '<inertial><origin xyz="0 0 0.3"/><mass value="2"/><inertia ixx="1e-3" ixy="0" ixz="0" '
    (tmp_path / "arm.urdf").write_text(
        robot(
            link("base", ""),
            link("one", f'{point}iyy="1e-3" iyz="0" izz="1e-9"/></inertial>'),
            joint("a", "base", "one", rpy="1.5708 0.3 0.1"),
        )
    )
    assert main(["generate", "arm.urdf", "--no-compile"]) == 0


def test_an_empty_name_is_refused_and_does_not_mean_the_default(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "arm.urdf").write_text(two_joints())
    assert main(["generate", "arm.urdf", "--name", "", "--no-compile"]) == 2
    assert "--name ''" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["arm.urdf"]
