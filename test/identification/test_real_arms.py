"""Recordings of real arms, not part of the package: beside the repository, or where REAL_BAGS says.

They are those of the public repository unisa-acg/inverse-dynamics-solver: ur10_exciting_trajectory.db3
(125 Hz, motor side) and panda_exciting_trajectory.db3 (30 Hz, joint torques, joints called fer_joint1 ...).
Their folder's README forbids copies, extracts among them: where it is absent these tests are skipped.
"""

import json
import os
from pathlib import Path

import pytest
from example_robots import ROBOTS
from plain_least_squares import plain_residual

from kane_dynamics_ros.cli.main import main
from kane_dynamics_ros.description import load_robot
from kane_dynamics_ros.description.geometry import failed_condition

PAGE = Path(__file__).parents[2] / "docs" / "identification.md"
BESIDE = Path(__file__).parents[3] / "shared" / "cases" / "bags"  # beside the repository
FOLDER = Path(os.environ.get("REAL_BAGS", BESIDE))
pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason=f"REAL_BAGS names no folder; none is in {FOLDER}")


@pytest.mark.parametrize(
    ("arm", "bag", "urdf", "words", "most", "by_urdf"),
    [
        ("UR10", "ur10_exciting_trajectory.db3", "ur_description/urdf/ur10_robot.urdf", [], 0.0500, 0.45),
        (
            "Panda",
            "panda_exciting_trajectory.db3",
            "panda_description/urdf/panda.urdf",
            ["--rename", "fer_*=panda_*"],
            0.0187,
            0.12,
        ),
    ],
)
def test_the_last_third_is_explained_by_the_first_two(arm, bag, urdf, words, most, by_urdf, tmp_path):
    """The node gets what reaches 5.0 and 1.85 %; the page's table is right, plain least squares included."""
    command = [
        "identify",
        str(FOLDER / bag),
        "--urdf",
        str(ROBOTS / urdf),
        "-o",
        str(tmp_path),
        "--no-compile",
    ]
    assert main([*command, *words, "--max-residual", str(most)]) == 0
    data = json.loads((tmp_path / "identified.json").read_text())
    held = data["residual"]["held_out"]["relative"]
    assert held["urdf_and_node"] < most
    assert held["urdf"] == pytest.approx(by_urdf, rel=0.1)
    row = next(line for line in PAGE.read_text().splitlines() if line.startswith(f"| {arm} |"))
    said, least_squares, identified, node = (float(cell.strip(" %")) / 100 for cell in row.split("|")[3:7])
    told = {"urdf": said, "identified": identified, "urdf_and_node": node}
    # the page's table, as it is rounded
    assert {name: held[name] for name in told} == pytest.approx(told, abs=0.0006)
    old, new = words[1].split("=") if words else ("*", "*")
    plain = plain_residual(
        FOLDER / bag,
        ROBOTS / urdf,
        lambda joint: joint.replace(new.strip("*"), old.strip("*"), 1) if words else joint,
        data["bags"][0]["cutoff"],
    )
    assert plain == pytest.approx(least_squares, abs=0.0006)
    assert held["identified"] < 1.02 * plain
    robot = load_robot(str(next(tmp_path.glob("*.identified.urdf"))))
    bodies = [link.inertia for link in robot.links if link.inertia is not None and link.inertia.mass > 0]
    assert len(bodies) >= 7  # frames without mass stay such
    assert all(failed_condition(body.tensor) is None for body in bodies)
