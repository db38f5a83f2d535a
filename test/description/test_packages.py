"""Packages that a xacro file names: found without a ROS workspace, or named with what would find them."""

import os

import pytest
from small_urdf import two_joints

from kane_dynamics_ros.cli.main import main
from kane_dynamics_ros.description import DescriptionError, load_robot
from kane_dynamics_ros.description.xacro_process import find_package

HEAD = "<robot name='arm' xmlns:xacro='http://www.ros.org/wiki/xacro'>"
PARTS = two_joints()[two_joints().index(">") + 1 :]


@pytest.fixture(autouse=True)
def no_workspace(monkeypatch):
    monkeypatch.delenv("AMENT_PREFIX_PATH", raising=False)
    monkeypatch.delenv("ROS_PACKAGE_PATH", raising=False)


def package(folder, name):
    """A package whose file parts.xacro holds two joints."""
    folder.mkdir(parents=True)
    (folder / "package.xml").write_text(f"<package><name> {name} </name></package>")
    (folder / "parts.xacro").write_text(HEAD + PARTS)
    return folder


@pytest.fixture
def arm(tmp_path):
    """A xacro file in package ``arm_description`` that includes one of package ``parts``."""
    file = package(tmp_path / "ws" / "src" / "arm", "arm_description") / "urdf" / "arm.xacro"
    file.parent.mkdir()
    file.write_text(f"{HEAD}<xacro:include filename='$(find parts)/parts.xacro'/></robot>")
    return file


@pytest.mark.parametrize("place", ["ws/src/parts", "ws/src/another_name", "ws/parts", "ws/src/arm/parts"])
def test_a_package_beside_the_file_or_above_is_found(tmp_path, arm, place):
    package(tmp_path / place, "parts")
    assert len(load_robot(arm).joints) == 2


@pytest.mark.parametrize("given", ["far", "far/deep", "far/deep/deeper/parts"])
def test_a_package_is_found_in_a_folder_that_is_given(tmp_path, arm, given, capsys):
    package(tmp_path / "far" / "deep" / "deeper" / "parts", "parts")
    assert len(load_robot(arm, packages=[tmp_path / "elsewhere", tmp_path / given]).joints) == 2
    assert main(["inspect", str(arm), "--packages", str(tmp_path / given)]) == 0


@pytest.mark.parametrize(
    ("variable", "folder", "place"),
    [("AMENT_PREFIX_PATH", "prefix", "prefix/share/parts"), ("ROS_PACKAGE_PATH", "paths", "paths/x/parts")],
)
def test_a_package_of_a_sourced_ros_is_found(tmp_path, arm, monkeypatch, variable, folder, place):
    package(tmp_path / place, "parts")
    monkeypatch.setenv(variable, f"{tmp_path / 'none'}{os.pathsep}{tmp_path / folder}")
    assert len(load_robot(arm).joints) == 2


def test_what_is_given_comes_first_and_the_files_own_package_next(tmp_path, arm):
    given = package(tmp_path / "given", "arm_description")
    package(arm.parents[2] / "other", "arm_description")
    assert find_package("arm_description", arm, [given]) == given
    assert find_package("arm_description", arm) == arm.parents[1]


@pytest.mark.parametrize("given", ["far", "far/parts"])
def test_a_given_folder_counts_by_its_own_name_where_no_package_xml_has_it(tmp_path, arm, given):
    """As example-robot-data, whose package.xml says example_robot_descriptions."""
    folder = package(tmp_path / "far" / "parts", "parts_descriptions")
    assert find_package("parts", arm, [tmp_path / given]) == folder
    assert find_package("parts", arm) is None
    named = package(tmp_path / "far" / "another", "parts")
    assert find_package("parts", arm, [tmp_path / "far"]) == named


def test_a_package_that_is_not_found_is_named_with_the_option_and_the_places(tmp_path, arm):
    (tmp_path / "ws" / "src" / "parts").mkdir()  # no package.xml
    with pytest.raises(DescriptionError) as caught:
        load_robot(arm, packages=[tmp_path / "given"])
    assert (caught.value.code, caught.value.package) == ("KD119", "parts")
    assert "--packages DIR" in caught.value.remedy
    assert str(tmp_path / "given") in caught.value.found
    assert str(arm.parent) in caught.value.found


def test_a_package_that_another_user_put_beside_the_file_is_not_taken(tmp_path, arm, monkeypatch):
    """As in a shared folder: what xacro includes is a program."""
    planted = package(tmp_path / "ws" / "src" / "parts", "parts")
    own = os.stat

    def stat(path, *arguments, **options):
        status = own(path, *arguments, **options)
        if os.fspath(path) != os.fspath(planted):
            return status
        return os.stat_result((*status[:4], status.st_uid + 4711, *status[5:]))

    monkeypatch.setattr(os, "stat", stat)
    assert find_package("parts", arm) is None


# What else a stranger's xacro file lacks


def refusal(folder, content, **options):
    path = folder / "arm.xacro"
    path.write_text(f"{HEAD}{content}</robot>")
    with pytest.raises(DescriptionError) as caught:
        load_robot(path, **options)
    return caught.value


DECLARED = "<xacro:arg name='type' default='ur5'/><xacro:arg name='side' default=''/>"


def test_an_argument_that_is_missing_is_named_with_the_option_and_what_the_file_declares(tmp_path):
    error = refusal(tmp_path, f"{DECLARED}<link name='$(arg kind)'/>")
    assert (error.code, error.argument) == ("KD118", "kind")
    assert "--xacro kind:=VALUE" in error.remedy
    assert "type (default 'ur5'), side (default '')" in error.remedy


def test_whatever_fails_the_arguments_are_listed(tmp_path):
    """As where the default names a file that is not there."""
    error = refusal(tmp_path, f"{DECLARED}<xacro:include filename='$(arg type).xacro'/>")
    assert error.code == "KD105"
    assert "type (default 'ur5')" in error.remedy


def test_a_file_of_macros_alone_is_named_so(tmp_path):
    error = refusal(tmp_path, "<xacro:macro name='ur_robot'><link name='base'/></xacro:macro>")
    assert error.code == "KD120"
    assert "'ur_robot'" in error.found


@pytest.mark.parametrize("version", ["2.0", "1", ""])
def test_a_version_that_other_tools_refuse_is_warned_of(tmp_path, version):
    path = tmp_path / "arm.urdf"
    path.write_text(two_joints().replace('name="arm"', f'name="arm" version="{version}"'))
    assert [f.severity for f in load_robot(path).findings if f.code == "KD116"] == ["warning"]
    path.write_text(two_joints().replace('name="arm"', 'name="arm" version="1.1"'))
    assert not [f for f in load_robot(path).findings if f.code == "KD116"]
