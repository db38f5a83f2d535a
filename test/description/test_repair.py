"""``--repair``: the nearest tensor that a body can have, and not one other byte changed."""

import errno
import itertools
import os

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.spatial.transform import Rotation
from small_urdf import INERTIA, link, two_joints

from kane_dynamics_ros.cli.main import main
from kane_dynamics_ros.description import DescriptionError, load_robot, parse_robot, serial_chain
from kane_dynamics_ros.description.geometry import failed_condition
from kane_dynamics_ros.description.text_edits import nearest_possible, repair_inertias

RANDOM = np.random.default_rng(6)


def random_tensor() -> np.ndarray:
    R = Rotation.random(random_state=int(RANDOM.integers(2**31))).as_matrix()
    return R @ np.diag(RANDOM.uniform(-1, 2, 3)) @ R.T


def as_rows(J: np.ndarray):
    return tuple(map(tuple, ((J + J.T) / 2).tolist()))


@pytest.mark.parametrize("case", range(20))
def test_no_possible_tensor_is_nearer(case):
    """Against a search over all that bodies can have: J = trace(S) 1 - S of second moments S = L L^T."""
    J = random_tensor()
    near = np.array(nearest_possible(as_rows(J)))
    a, b, c = np.linalg.eigvalsh(near)
    assert a >= -1e-14 * np.abs(J).max()
    assert c <= a + b + 1e-14 * np.abs(J).max()

    def distance(entries):
        L = entries.reshape(3, 3)
        S = L @ L.T
        return np.sum((np.trace(S) * np.eye(3) - S - J) ** 2)

    starts = [np.eye(3).ravel(), *RANDOM.normal(0, 1, (6, 9))]
    found = min(minimize(distance, start, tol=1e-14).fun for start in starts)
    assert np.sum((near - J) ** 2) == pytest.approx(found, rel=1e-6, abs=1e-9)


def test_a_possible_tensor_stays_to_the_bit():
    J = ((0.3, 0.01, 0.0), (0.01, 0.2, 0.0), (0.0, 0.0, 0.25))
    assert nearest_possible(J) == J


BROKEN = INERTIA.replace('ixx="0.01"', "ixx = '0.1'").replace('ixy="0"', 'ixy=" 0 "')


@pytest.mark.parametrize("newline", [b"\n", b"\r\n"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_only_the_numbers_change(newline, mark):
    text = mark + two_joints(second=BROKEN).encode().replace(b"\n", newline)
    new, repairs = repair_inertias(text, "arm.urdf")
    assert [(repair.link, repair.line) for repair in repairs] == [("two", 4)]
    differing = [(a, b) for a, b in itertools.zip_longest(text.splitlines(), new.splitlines()) if a != b]
    assert len(differing) == 1
    # diag(0.1, 0.01, 0.01): onto the plane a = b + c along (1, -1, -1)/3 times 0.08.
    before, after = differing[0]
    assert after == before.replace(b"'0.1'", after.split(b"ixx = ")[1].split()[0]).replace(
        b'iyy="0.01"', b"iyy=" + after.split(b"iyy=")[1].split()[0]
    ).replace(b'izz="0.01"', b"izz=" + after.split(b"izz=")[1].split(b"/")[0])
    moments = np.diag(np.array(repairs[0].after))
    np.testing.assert_allclose(moments, (0.1 - 0.08 / 3, 0.01 + 0.08 / 3, 0.01 + 0.08 / 3), rtol=1e-14)
    assert not any(failed_condition(one.inertia.tensor) for one in parse_robot(new).links if one.inertia)


def test_products_that_were_left_out_are_written():
    J = random_tensor()
    left_out = f'<inertia ixx="1" iyy="{float(J[1, 1])!r}" izz="0.1" iyz="0.7"/>'
    text = two_joints(second=f'<inertial><mass value="1"/>{left_out}</inertial>').encode()
    new, repairs = repair_inertias(text)
    after = np.array(repairs[0].after)
    read = np.array(parse_robot(new).links[2].inertia.tensor)
    np.testing.assert_array_equal(read, after)


def test_the_torques_of_a_repaired_robot_are_those_of_its_new_tensor():
    from chain_torques import inverse_dynamics

    text = two_joints(second=BROKEN, inside='<axis xyz="0 1 0"/>').encode()
    chain = serial_chain(parse_robot(repair_inertias(text)[0]), strict=True)
    state = RANDOM.uniform(-1, 1, (3, 2))
    wrong = inverse_dynamics(serial_chain(parse_robot(text)), *state)
    assert not np.allclose(inverse_dynamics(chain, *state), wrong, rtol=1e-3)


def test_other_encodings_are_refused():
    text = ('<?xml version="1.0" encoding="utf-16"?>' + two_joints(second=BROKEN)).encode("utf-16")
    with pytest.raises(DescriptionError, match="KD117"):
        repair_inertias(text, "arm.urdf")


def test_the_command_writes_another_file_and_says_what_changed(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "arm.urdf").write_text(two_joints(second=BROKEN, first=BROKEN))
    assert main(["inspect", "arm.urdf", "--repair", "fixed.urdf"]) == 0
    said = capsys.readouterr().out
    assert all(name in said for name in ("'one'", "'two'", "ixx 0.1 -> 0.0733333", "fixed.urdf"))
    assert main(["inspect", "fixed.urdf", "--repair", "again.urdf"]) == 0
    assert "nothing to repair" in capsys.readouterr().out
    assert not (tmp_path / "again.urdf").exists()
    assert main(["inspect", "arm.urdf", "--repair", "arm.urdf"]) == 2
    assert (tmp_path / "arm.urdf").read_text() == two_joints(second=BROKEN, first=BROKEN)


@pytest.mark.parametrize("name", ["arm.urdf", "arm.urdf.xacro"])
def test_what_is_loaded_as_xacro_is_repaired_as_xacro(tmp_path, name):
    """Tags of xacro in a URDF are expanded by every command that reads it."""
    tag = "<xacro:property name='moment' value='0.1'/>"
    text = two_joints(second=BROKEN.replace("'0.1'", "'${moment}'"))
    head = f"<robot name='arm' xmlns:xacro='http://www.ros.org/wiki/xacro'>{tag}"
    (tmp_path / name).write_text(head + text[text.index(">") + 1 :])
    assert main(["inspect", str(tmp_path / name), "--repair", str(tmp_path / "fixed.urdf")]) == 0
    tensor = load_robot(tmp_path / "fixed.urdf").links[2].inertia.tensor
    assert tensor[0][0] == pytest.approx(0.1 - 0.08 / 3)


def test_a_repaired_urdf_is_written_whole_or_not_at_all(tmp_path, monkeypatch, capsys):
    """A full disk: what was there before stays, and one line says why."""
    (tmp_path / "arm.urdf").write_text(two_joints(second=BROKEN))
    (tmp_path / "fixed.urdf").write_text("of an earlier run")

    def full(descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    assert main(["inspect", str(tmp_path / "arm.urdf"), "--repair", str(tmp_path / "fixed.urdf")]) == 2
    assert "fixed.urdf: cannot be written: No space left" in capsys.readouterr().err
    assert (tmp_path / "fixed.urdf").read_text() == "of an earlier run"


def test_an_inertia_without_mass_becomes_none(tmp_path, capsys):
    """As the frame at the flange of a widely used Panda, which has moments of 0.1 and no mass."""
    text = two_joints(first=INERTIA.replace('value="1"', 'value="0"')).encode()
    assert parse_robot(text).links[1].defects[0].error.code == "KD402"
    new, repairs = repair_inertias(text)
    assert [repair.link for repair in repairs] == ["one"]
    assert parse_robot(new).links[1].inertia.tensor == ((0.0,) * 3,) * 3
    serial_chain(parse_robot(new), strict=True)


def test_what_has_no_nearest_right_value_is_refused_not_called_possible(tmp_path, capsys):
    path = tmp_path / "arm.urdf"
    path.write_text(two_joints(second=INERTIA.replace('value="1"', 'value="-1"')))
    assert main(["inspect", str(path), "--repair", str(tmp_path / "fixed.urdf")]) == 2
    assert "[KD401]" in capsys.readouterr().err
    assert not (tmp_path / "fixed.urdf").exists()


def test_a_link_that_is_given_two_inertias_keeps_the_second():
    text = two_joints(second=BROKEN + INERTIA).encode() + link("x").encode()[:0]
    new, repairs = repair_inertias(text)
    assert len(repairs) == 1
    assert new.count(INERTIA.encode()) == text.count(INERTIA.encode())
