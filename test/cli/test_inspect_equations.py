"""``kane_dynamics inspect --equations``."""

import pytest

from kane_dynamics_ros.cli.main import main
from kane_dynamics_ros.share import share_directory

URDF = share_directory() / "urdf"


def inspect(capsys, *words: str) -> tuple[list[str], str]:
    assert main(["inspect", *words]) == 0
    captured = capsys.readouterr()
    return captured.out.splitlines(), captured.err


def test_text_is_the_default_form(capsys):
    lines, error = inspect(capsys, str(URDF / "three_link_chain.urdf"), "--equations")
    assert lines[:6] == [
        *("q_1: joint 'q_1'", "q_2: joint 'q_2'", "q_3: joint 'q_3'"),
        *("body 1: 'A'", "body 2: 'B'", "body 3: 'C'"),
    ]
    assert "M_33 = J_z3 + m_3*r_x3**2" in lines
    assert "G_3 = c_123*g*m_3*r_x3" in lines
    assert lines[-1] == "s_3 = sin(q_3)"
    assert "many minutes" not in error  # as is said of long chains


def test_equations_as_latex_are_one_align_environment_with_indices(capsys):
    lines, _ = inspect(capsys, str(URDF / "three_link_chain.urdf"), "--equations", "latex")
    assert (lines[0], lines[-1]) == (r"\begin{align*}", r"\end{align*}")
    assert r"G_{3} &= c_{123} g m_{3} r_{x3} \\" in lines


def test_the_manipulator_with_its_wrist_locked_is_the_papers(capsys):
    locks = ("--lock", "beta_4=0", "--lock", "gamma_4=0")
    lines, _ = inspect(capsys, str(URDF / "manipulator_5dof.urdf"), *locks, "--equations")
    assert "M_23 = J_x3 + c_3*l_y2*m_3*r_y3 + m_3*r_y3**2" in lines
    assert "   v_1^3* = (-c_2*l_y2 - c_23*r_y3, 0, 0)" in lines


def test_longer_chains_say_first_that_it_may_take_long(capsys):
    _, error = inspect(capsys, str(URDF / "manipulator_5dof.urdf"), "--equations")
    first = error.splitlines()[0]  # its progress follows
    assert "5 coordinates" in first
    assert "many minutes in general" in first


def test_other_forms_are_refused(capsys):
    with pytest.raises(SystemExit):
        main(["inspect", str(URDF / "three_link_chain.urdf"), "--equations", "html"])
    assert "invalid choice: 'html'" in capsys.readouterr().err
