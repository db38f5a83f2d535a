"""``kane_dynamics inspect``: text, JSON, colour, exit codes."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from example_robots import ROBOTS
from small_urdf import LIMIT, joint, link, two_joints

from kane_dynamics_ros.cli import arguments
from kane_dynamics_ros.cli.inspect import vector
from kane_dynamics_ros.cli.main import main


@pytest.fixture
def arm(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "arm.urdf").write_text(two_joints())
    (tmp_path / "doubtful.urdf").write_text(two_joints(inside=f'<axis xyz="0 0 2"/>{LIMIT}'))
    return tmp_path


def test_prints_the_chain_its_bodies_and_every_finding(arm, capsys):
    assert main(["inspect", "doubtful.urdf"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "'arm': from root 'base' to tip 'two'",
        "2 moving joints, 2 coordinates, 2 kg in motion, physics hash 2cdf4f9f7b5d676c",
        "",
        "Joints",
        "joint  coordinate  kind      axis   position [m]  range    velocity  effort  damping  friction  "
        "rotor inertia",
        "'a'    q1          revolute  0 0 1  0.3 0 0       -1 .. 1  1         100     0        0         0",
        "'b'    q2          revolute  0 0 1  0.3 0 0       -1 .. 1  1         100     0        0         0",
        "Torques hold rotor inertia always, damping and friction only where they are switched on.",
        "Gravity is 9.81 m/s^2 along -z of 'base', unless the model's parameter says otherwise.",
        "",
        "Bodies (each with what is fixed to it; in the frame of its first link)",
        "body   mass [kg]  centre of mass [m]  principal moments [kg m^2]  lumped into it",
        "'one'  1          0.1 0 0             0.01 0.01 0.01              -",
        "'two'  1          0.1 0 0             0.01 0.01 0.01              -",
        "",
        "Partial velocities at q = 0 (in the body's axes; those that are not zero)",
        "body   speed  partial angular velocity  partial velocity of the centre of mass",
        "'one'  'a'    0 0 1                     0 0.1 0",
        "'two'  'a'    0 0 1                     0 0.4 0",
        "'two'  'b'    0 0 1                     0 0.1 0",
        "",
        "Findings",
        "doubtful.urdf:5: warning: joint 'a' <axis>: the axis has length 2: made 1 [KD305]",
        "doubtful.urdf: info: link 'two': no tip was asked for: 'two' was chosen, to which 2 moving "
        "joints lead "
        "[KD602]",
        "doubtful.urdf: info: left out, since they do not move with the chain: 'base' [KD606]",
        "1 warning, 2 info (docs/diagnostics.md explains the codes)",
    ]


def test_json_holds_the_same(arm, capsys):
    assert main(["inspect", "arm.urdf", "--tip", "one", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert (data["tip"], data["coordinates"], data["moving_mass"]) == ("one", ["a"], 2.0)
    assert data["joints"][0]["lumped"] == ["two"]
    # The centre of mass of `one` and `two`, 1 kg each at 0.1 and 0.4 m.
    assert data["partial_velocities"] == [
        {"body": "one", "speed": "a", "omega": [0, 0, 1], "v_G": [0, 0.25, 0]}
    ]
    assert {"code", "severity", "message", "file", "line", "element"} == set(data["findings"][0])


def test_findings_that_differ_in_figures_only_are_one_line_and_all_in_the_json(arm, capsys):
    moments = 'ixx="{0}" ixy="0" ixz="0" iyy="{0}" iyz="0" izz="{0}"'
    heavy = f'<inertial><mass value="1"/><inertia {moments}/></inertial>'
    branches = [
        link(f"tool{i}", heavy.format(1 + i))
        + joint(f"swing{i}", "one", f"tool{i}", kind="prismatic" if i == 3 else "revolute")
        for i in range(4)
    ]
    (arm / "comb.urdf").write_text(two_joints().replace("</robot>", "".join(branches) + "</robot>"))
    words = ["inspect", "comb.urdf", "--tip", "two"]
    assert main(words) == 0
    lines = capsys.readouterr().out.splitlines()
    [sizes] = [line for line in lines if "[KD407]" in line]
    held, sliding = [line for line in lines if "[KD604]" in line]
    assert sizes.startswith("comb.urdf:7: warning: link 'tool0': ")
    assert sizes.endswith("likewise link 'tool1' (line 9), link 'tool2' (line 11), link 'tool3' (line 13)")
    assert held.endswith("likewise joint 'swing1' (line 10), joint 'swing2' (line 12)")
    assert sliding.startswith("comb.urdf:14: warning: joint 'swing3': ")
    assert main([*words, "--json"]) == 0
    findings = json.loads(capsys.readouterr().out)["findings"]
    for code, places in (("KD407", [7, 9, 11, 13]), ("KD604", [8, 10, 12, 14])):
        assert sorted(finding["line"] for finding in findings if finding["code"] == code) == places


def test_a_chain_that_ends_in_a_gripper_names_the_tip_that_leaves_it_out(capsys):
    panda = str(ROBOTS / "panda_description/urdf/panda.urdf")
    assert main(["inspect", panda]) == 0
    assert "--tip panda_hand " in capsys.readouterr().out.splitlines()[-1]
    assert main(["inspect", panda, "--tip", "panda_hand"]) == 0
    assert "--tip" not in capsys.readouterr().out


def test_lock_takes_a_joint_out_of_the_chain(arm, capsys):
    assert main(["inspect", "arm.urdf", "--lock", "a=0.5", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["coordinates"] == ["b"]


@pytest.mark.parametrize(("file", "code"), [("arm.urdf", 0), ("doubtful.urdf", 1)])
def test_warnings_can_be_made_errors(arm, capsys, file, code):
    assert main(["inspect", file, "--warnings-as-errors"]) == code


def test_an_error_is_one_line_and_exit_code_2(arm, capsys):
    assert main(["inspect", "none.urdf"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == (
        "error: none.urdf: cannot be read: No such file or directory; give the path of a URDF or xacro "
        "file [KD101]\n"
    )


def test_an_error_is_json_too_when_asked_for(arm, capsys):
    (arm / "loose.urdf").write_text("<robot name='x'>")
    assert main(["inspect", "loose.urdf", "--json"]) == 2
    data = json.loads(capsys.readouterr().out)
    error = {key: data["error"][key] for key in ("code", "severity", "file", "line", "element")}
    assert error == {"code": "KD102", "severity": "error", "file": "loose.urdf", "line": 1, "element": None}
    assert data["errors"] == [data["error"]]
    assert data["findings"] == []


def test_everything_that_is_wrong_is_said_in_one_run(arm, capsys):
    """Two faults of the chain as errors, and the warnings beside them."""
    text = two_joints(inside='<axis xyz="0 0 2"/><limit lower="1" upper="-1" effort="1" velocity="1"/>')
    (arm / "faulty.urdf").write_text(text.replace('mass value="1"', 'mass value="-1"', 1))
    assert main(["inspect", "faulty.urdf"]) == 2
    said = capsys.readouterr()
    assert [line.split("[")[-1] for line in said.err.splitlines()] == ["KD401]", "KD504]"]
    assert all(line.startswith("error: faulty.urdf:") for line in said.err.splitlines())
    assert "KD305" in said.out
    assert main(["inspect", "faulty.urdf", "--json"]) == 2
    data = json.loads(capsys.readouterr().out)
    assert [error["code"] for error in data["errors"]] == ["KD401", "KD504"]
    assert "KD305" in [finding["code"] for finding in data["findings"]]


def test_strict_refuses_what_is_a_serious_warning_otherwise(arm, capsys):
    (arm / "massless.urdf").write_text(two_joints(second=" "))
    for command in (["inspect"], ["generate", "--no-compile"]):
        assert main([*command, "massless.urdf"]) == 0
        assert "KD404" in capsys.readouterr().out
        assert main([*command, "massless.urdf", "--strict"]) == 2
        assert "KD404" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("is_terminal", "environment", "coloured"),
    [
        (True, {}, True),
        (False, {}, False),
        (True, {"NO_COLOR": "1"}, False),
        (True, {"NO_COLOR": ""}, True),  # no-color.org: only a value that is not empty counts
        (True, {"TERM": "dumb"}, False),
    ],
)
def test_colour_on_a_terminal_that_wants_it(monkeypatch, is_terminal, environment, coloured):
    for name in ("NO_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("sys.stdout.isatty", lambda: is_terminal)
    text = arguments.coloured("bad", "error")
    assert text == ("\x1b[1;31mbad\x1b[0m" if coloured else "bad")


def test_names_beyond_the_terminals_encoding_are_escaped(arm):
    """Field report 16: a plain ASCII output, a joint with a Greek name."""
    (arm / "greek.urdf").write_text(
        two_joints().replace('joint name="a"', 'joint name="\u03b3"'), encoding="utf-8"
    )
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONPATH": str(Path(__file__).parents[2])}
    command = [sys.executable, "-m", "kane_dynamics_ros", "inspect", "greek.urdf"]
    done = subprocess.run(command, env=environment, capture_output=True, check=True)
    assert b"'\\u03b3'" in done.stdout


def test_rounding_in_a_vector_is_shown_as_zero():
    assert vector((0.0, 0.02, 1.3878e-17)) == "0 0.02 0"
    assert vector((1e-17, -2e-17, -0.0)) == "1e-17 -2e-17 0"  # nothing larger beside it
