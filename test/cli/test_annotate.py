"""``kane_dynamics annotate`` as its user runs it."""

import json

import numpy as np
import pytest
import yaml

from kane_dynamics_ros.cli.main import main
from kane_dynamics_ros.runtime import load_model

MODEL = load_model("manipulator_5dof")
STILL = [0.0, 0.5, 0.2, 0.0, 0.0]
TRAJECTORY = {
    "joint_names": list(MODEL.joint_names),
    "points": [
        {"positions": STILL, "time_from_start": {"sec": 1, "nanosec": 0}},
        {"positions": STILL, "time_from_start": {"sec": 1, "nanosec": 500_000_000}},
    ],
}


@pytest.mark.parametrize("error", ["0", "-1", "nan", "inf"])
def test_an_error_that_cannot_be_kept_is_refused(capsys, error):
    assert main(["annotate", "manipulator_5dof", "any.yaml", f"--error={error}"]) == 2
    assert f"--error '{error}': found no positive number" in capsys.readouterr().err


@pytest.mark.parametrize("suffix", [".yaml", ".json"])
def test_every_point_of_the_written_file_has_its_effort(tmp_path, capsys, suffix):
    source, target = tmp_path / f"in{suffix}", tmp_path / f"out{suffix}"
    source.write_text(json.dumps(TRAJECTORY) if suffix == ".json" else yaml.safe_dump(TRAJECTORY))
    assert main(["annotate", "manipulator_5dof", str(source), "-o", str(target)]) == 0
    assert capsys.readouterr().out == f"{target}: 2 points with effort, from 2\n"
    found = (json.loads if suffix == ".json" else yaml.safe_load)(target.read_text())
    assert found["joint_names"] == TRAJECTORY["joint_names"]
    assert [point["time_from_start"] for point in found["points"]] == [
        point["time_from_start"] for point in TRAJECTORY["points"]
    ]
    for point in found["points"]:
        np.testing.assert_allclose(point["effort"], MODEL.gravity(STILL), atol=1e-9)  # rounding


def test_without_an_output_file_the_trajectory_is_printed(tmp_path, capsys):
    source = tmp_path / "in.yaml"
    source.write_text(yaml.safe_dump(TRAJECTORY))
    assert main(["annotate", "manipulator_5dof", str(source)]) == 0
    assert len(yaml.safe_load(capsys.readouterr().out)["points"]) == 2


def test_a_bad_file_is_refused_with_the_place(tmp_path, capsys):
    source = tmp_path / "in.yaml"
    point = {"positions": [0], "time_from_start": {"sec": 0.5}}
    source.write_text(yaml.safe_dump({"joint_names": ["a"], "points": [point]}))
    assert main(["annotate", "manipulator_5dof", str(source)]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"error: {source}: points[0].time_from_start: found {{'sec': 0.5}}; ")
    assert error.count("\n") == 1


def test_a_motion_beyond_the_effort_limits_is_refused_unless_told_otherwise(tmp_path, capsys):
    fast = json.loads(json.dumps(TRAJECTORY))
    for point, q in zip(fast["points"], ([0.0] * 5, [0.3, 0.0, 0.0, 0.0, 0.0]), strict=True):
        point.update(positions=q, velocities=[0.0] * 5)
    fast["points"][1]["time_from_start"] = {"sec": 1, "nanosec": 250_000_000}
    source = tmp_path / "in.yaml"
    source.write_text(yaml.safe_dump(fast))
    assert main(["annotate", "manipulator_5dof", str(source)]) == 2
    # a cubic over 0.25 s and 0.3 rad, 1.8 rad/s at most, begins with 28.8 rad/s^2
    effort = MODEL.inverse_dynamics([0.0] * 5, [0.0] * 5, [28.8, 0.0, 0.0, 0.0, 0.0])[0]
    assert capsys.readouterr().err == (
        f"error: joint 'gamma_1' needs {effort:g} N m at 1.000 s from the start; the limit is 250; "
        "move more slowly\n"
    )
    assert main(["annotate", "manipulator_5dof", str(source), "--no-limits"]) == 0


def test_positions_beyond_the_limits_are_refused_unless_told_otherwise(tmp_path, capsys):  # degrees
    degrees = json.loads(json.dumps(TRAJECTORY))
    for point in degrees["points"]:
        point.update(positions=[0.0, 76.8, 0.0, 0.0, 0.0], velocities=[0.0] * 5)
    source = tmp_path / "in.yaml"
    source.write_text(yaml.safe_dump(degrees))
    assert main(["annotate", "manipulator_5dof", str(source)]) == 2
    assert "position of joint 'alpha_2' reaches 76.8" in capsys.readouterr().err
    assert main(["annotate", "manipulator_5dof", str(source), "--no-limits"]) == 0
