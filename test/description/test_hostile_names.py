"""Names that want to be code stay data in the generated module, in Python and in C."""

import subprocess
from html import escape

import pytest
from chain_torques import generated_model
from compilers import C_COMPILER
from small_urdf import joint, link, robot

from kane_dynamics_ros.description import parse_robot, serial_chain

NAMES = [
    "'''\nimport os; os.abort()\n'''",
    '"); import os; os.abort() #',
    "*/ int main(void) { abort(); } /*",
    '\\"; system("true"); //',
    "// \\",
    "%n%s{}{0.__class__}\\N{DASH}\\x00",
    "\u202eevil\u2066",
    "../../../tmp/evil",
    "lambda",
    "double",
    "-1",
    "γ₁ 机械臂 \U0001f9be",
    "<script>alert(1)</script>&amp;",
    "!!python/object/apply:os.abort []",
]


@pytest.fixture(scope="module")
def hostile_robot():
    """A chain of joints and links with all the names, also as the robot's name, root and tip."""
    names = [escape(name).replace("\n", "&#10;") for name in NAMES]
    links = [link(name) for name in names]
    joints = [joint(names[k], names[k - 1], names[k]) for k in range(1, len(names))]
    return parse_robot(robot(*links, *joints, attributes=f'name="{names[0]}"'))


def test_module_holds_the_names_as_they_are(hostile_robot, tmp_path):
    chain = serial_chain(hostile_robot, NAMES[5])
    model = generated_model(chain, tmp_path)
    assert model.joint_names == tuple(NAMES[1:6])
    assert (model.root, model.tip) == (NAMES[0], NAMES[5])


@pytest.mark.skipif(C_COMPILER is None, reason="no C compiler on this machine")
@pytest.mark.parametrize("last", [5, 9, 13])
def test_c_source_with_hostile_names_is_plain_c(hostile_robot, tmp_path, last):
    locked = dict.fromkeys(NAMES[1 : max(1, last - 3)], 0.0)
    generated_model(serial_chain(hostile_robot, NAMES[last], lock=locked), tmp_path)
    command = [str(C_COMPILER), "-std=c99", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "robot.c"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
