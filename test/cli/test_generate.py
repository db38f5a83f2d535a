"""The command ``generate``: what it says of a doubtful URDF."""

from small_urdf import LIMIT, two_joints

from kane_dynamics_ros.cli.main import main


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
