"""Arguments of a xacro file: what nothing in it asks for is refused, whatever asks for one takes it."""

import pytest
from small_urdf import two_joints

from kane_dynamics_ros.description import DescriptionError, load_robot
from kane_dynamics_ros.description.load import urdf_content, urdf_text

HEAD = "<robot name='arm' xmlns:xacro='http://www.ros.org/wiki/xacro'>"
INCLUDED = f"{HEAD}<xacro:arg name='deep' default='1'/></robot>"


def written(folder, content, name="arm.urdf.xacro"):
    """A xacro file of two joints with ``content`` before them."""
    body = two_joints()
    path = folder / name
    path.write_text(HEAD + content + body[body.index(">") + 1 :])
    return path


def refusal(path, **arguments):
    with pytest.raises(DescriptionError) as caught:
        load_robot(path, xacro_arguments=arguments)
    return caught.value


def test_argument_that_is_not_declared_is_refused_with_those_that_are(tmp_path):
    path = written(tmp_path, "<xacro:arg name='length' default='1'/><xacro:arg name='mass' default='2'/>")
    error = refusal(path, lenght="3", mass="1")
    assert error.code == "KD115"
    assert "'lenght'" in error.found
    assert "'mass'" not in error.found
    assert error.remedy == "did you mean 'length'? those that are: 'length', 'mass'"


def test_every_reader_refuses_it(tmp_path):
    path = written(tmp_path, "<xacro:arg name='length' default='1'/>")
    for read in (urdf_content, urdf_text):
        with pytest.raises(DescriptionError) as caught:
            read(path, {"lenght": "1"})
        assert caught.value.code == "KD115"


def test_argument_for_a_file_without_arguments_or_without_xacro_is_refused(tmp_path):
    assert refusal(written(tmp_path, ""), length="3").remedy == "the file takes none"
    path = tmp_path / "arm.urdf"
    path.write_text(two_joints())
    assert refusal(path, length="3").code == "KD115"
    with pytest.raises(DescriptionError):
        urdf_content(path, {"length": "3"})


def test_property_is_no_argument(tmp_path):
    content = "<xacro:property name='length' value='1'/><!-- ${length} --><link name='l${length}'/>"
    content += "<joint name='f' type='fixed'><parent link='base'/><child link='l1'/></joint>"
    assert "'length'" in refusal(written(tmp_path, content), length="3").found


CONDITION = "<xacro:if value='false'>{}</xacro:if>"


@pytest.mark.parametrize(
    "content",
    [
        "<xacro:arg name='given' default='1'/>",
        "<xacro:property name='p' value='$(arg given)'/>",
        "<xacro:property name='p' value='${xacro.arg(\"given\")}'/>",
        "<xacro:property name='p' value='$(eval given == 3)'/><xacro:if value='${p}'/>",
        CONDITION.format("<xacro:arg name='given' default='1'/>"),
        CONDITION.format("<link name='$(arg given)'/>"),
        CONDITION.format("<link name='$(eval given + 1)'/>"),
        "<xacro:macro name='m'><xacro:arg name='given' default='1'/></xacro:macro>",
    ],
)
def test_argument_counts_however_it_is_asked_for(tmp_path, content):
    path = written(tmp_path, content)
    assert len(load_robot(path, xacro_arguments={"given": "3"}).joints) == 2
    assert "'other'" in refusal(path, given="3", other="1").found


@pytest.mark.parametrize("condition", ["true", "false"])
@pytest.mark.parametrize("place", ["", "parts/", "{folder}/parts/"])
def test_argument_of_an_included_file_counts_whether_or_not_it_is_included(
    tmp_path, condition, place, monkeypatch
):
    """Also where that file includes another, and the path to the file is relative."""
    place = place.format(folder=tmp_path)
    (tmp_path / "parts").mkdir()
    folder = tmp_path / place if place else tmp_path
    (folder / "outer.xacro").write_text(f"{HEAD}<xacro:include filename='inner.xacro'/></robot>")
    (folder / "inner.xacro").write_text(INCLUDED)
    content = f"<xacro:if value='{condition}'><xacro:include filename='{place}outer.xacro'/></xacro:if>"
    path = written(tmp_path, content)
    monkeypatch.chdir(tmp_path.parent)
    for given in (path, path.relative_to(tmp_path.parent)):
        assert load_robot(given, xacro_arguments={"deep": "3"}).joints
        assert "'dep'" in refusal(given, dep="3").found


def test_nothing_is_refused_where_nobody_knows_what_an_include_declares(tmp_path):
    content = CONDITION.format("<xacro:include filename='$(find no_such_package)/hand.xacro'/>")
    assert load_robot(written(tmp_path, content), xacro_arguments={"finger": "3"}).joints


SEARCHER = """
from importlib.util import find_spec
import sys
sys.modules["xacro.substitution_args"] = type("Module", (), {"_eval_dict": {}})
parse = get_include_files = None
def process_file(*_, **__):
    raise ValueError(f"reader is {find_spec('reader')}")
"""


@pytest.mark.parametrize("safe_path", ["", "1"])
def test_xacro_runs_with_no_module_of_the_working_directory_or_of_this_package(
    tmp_path, monkeypatch, safe_path
):
    """``reader.py`` and ``model.py`` lie beside the program that runs xacro."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONSAFEPATH", safe_path)
    for name in ("json", "xacro", "xml"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('a module of the working directory')\n")
    path = written(tmp_path, "<xacro:arg name='length' default='1'/>")
    assert load_robot(path, xacro_arguments={"length": "2"}).joints
    module = tmp_path / "elsewhere" / "xacro.py"
    module.parent.mkdir()
    module.write_text(SEARCHER)
    monkeypatch.setenv("PYTHONPATH", str(module.parent))
    assert refusal(path).found == "xacro failed: reader is None"
