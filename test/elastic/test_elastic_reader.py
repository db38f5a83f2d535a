"""Elastic links from URDF and YAML: what is read, and every way to say it wrongly."""

from dataclasses import replace

import numpy as np
import pytest
from elastic_arms import PENDULUM

from kane_dynamics_ros.description import load_robot, parse_robot, serial_chain
from kane_dynamics_ros.description.load import urdf_content
from kane_dynamics_ros.elastic.arm_model import arm_model
from kane_dynamics_ros.elastic.link import (
    ElasticLink,
    Material,
    Section,
    rectangle,
    tube,
)
from kane_dynamics_ros.elastic.reader import (
    elastic_links_from_text,
    elastic_links_from_yaml,
)
from kane_dynamics_ros.errors import KaneDynamicsError, PathError

ATTRIBUTES = 'E="7e10" G="2.6e10" density="2700" tube="0.016 0.008" elements="3" damping="0.02"'
EXPECTED = ElasticLink("rod", Material(7e10, 2.6e10, 2700.0), tube(0.016, 0.008), 3, 0.02)


def urdf(attributes):
    return PENDULUM.replace('<link name="rod">', f'<link name="rod"><elastic {attributes}/>')


def test_urdf_and_yaml_say_the_same(tmp_path):
    yaml = tmp_path / "arm.elastic.yaml"
    yaml.write_text(
        "rod: {E: 7.0e+10, G: 2.6e10, density: 2700, tube: [0.016, 0.008], elements: 3, damping: 0.02}"
    )
    assert elastic_links_from_text(urdf(ATTRIBUTES)) == (EXPECTED,)
    prefixed = urdf(ATTRIBUTES).replace("</", "</u:").replace("<", "<u:").replace("<u:/u:", "</u:")
    assert elastic_links_from_text(prefixed) == (EXPECTED,)
    assert elastic_links_from_yaml(yaml) == (EXPECTED,)


def test_xacro_and_urdf_files_are_read(tmp_path):
    (tmp_path / "arm.urdf").write_text(urdf(ATTRIBUTES))
    xacro = urdf(ATTRIBUTES.replace('"7e10"', '"${7 * 10**10}"')).replace(
        '<robot name="pendulum">', '<robot name="pendulum" xmlns:xacro="http://www.ros.org/wiki/xacro">'
    )
    (tmp_path / "arm.urdf.xacro").write_text(xacro)
    (tmp_path / "tags.urdf").write_text(xacro.replace("<link", "<xacro:if value='true'/><link", 1))
    for name in ("arm.urdf", "arm.urdf.xacro", "tags.urdf"):
        (link,) = elastic_links_from_text(urdf_content(tmp_path / name))
        assert replace(link, material=EXPECTED.material) == EXPECTED
        modulus = link.material.E
        assert modulus == pytest.approx(7e10)
        assert serial_chain(load_robot(tmp_path / name)).coordinates == ("hinge",)  # others skip the element


def test_the_rigid_reader_says_that_it_takes_the_link_as_rigid():
    notes = [finding for finding in parse_robot(urdf(ATTRIBUTES)).findings if "elastic" in finding.message]
    assert [(note.code, note.severity, note.message) for note in notes] == [
        (
            "KD212",
            "info",
            "<elastic> bends the simulated arm, where asked for; the model takes the link as rigid",
        )
    ]


def test_every_option_is_read():
    text = urdf(
        'E="1" G="2" density="3" area="4" Iy="5" Iz="6" J="7" start="0.1 0 0" end="1 0 0" z_axis="0 1 0" '
        'rotary_inertia="true" stiffened="True"'
    )
    (link,) = elastic_links_from_text(text)
    expected = ElasticLink(
        "rod",
        Material(1.0, 2.0, 3.0),
        Section(4.0, 5.0, 6.0, 7.0),
        start=(0.1, 0.0, 0.0),
        end=(1.0, 0.0, 0.0),
        z_axis=(0.0, 1.0, 0.0),
        rotary_inertia=True,
        stiffened=True,
    )
    assert link == expected


WHERE = "<text>:4: <elastic> of link 'rod'"
LINK = "elastic link 'rod'"
WRONG = {  # attributes: where, which property and what was found
    'G="1" density="1" tube="2 1"': (WHERE, "E", None),
    ATTRIBUTES.replace("7e10", "stiff"): (WHERE, "E", "stiff"),
    ATTRIBUTES.replace("7e10", "-1"): ("material", "E", -1.0),
    ATTRIBUTES.replace("0.016 0.008", "0.016"): (WHERE, "tube", "0.016"),
    ATTRIBUTES.replace("0.016 0.008", "0.01 0.02"): ("tube", "outer, inner", (0.01, 0.02)),
    ATTRIBUTES + ' rectangle="1 1"': (WHERE, "section", "tube, rectangle"),
    'E="1" G="1" density="1" area="1"': (WHERE, "section", "area"),
    ATTRIBUTES.replace('"3"', '"2.5"'): (LINK, "elements", 2.5),
    ATTRIBUTES.replace('"3"', '"0"'): (LINK, "elements", 0),
    ATTRIBUTES.replace('"3"', '"101"'): (LINK, "elements", 101),
    ATTRIBUTES.replace('"0.02"', '"1"'): (LINK, "damping", 1.0),
    ATTRIBUTES + ' stiffened="often"': (WHERE, "stiffened", "often"),
    ATTRIBUTES + ' colour="red"': (WHERE, "colour", "red"),
    ATTRIBUTES + ' z_axis="0 0 0"': (LINK, "z_axis", (0.0, 0.0, 0.0)),
    ATTRIBUTES + ' end="inf 0 0"': (LINK, "end", (float("inf"), 0.0, 0.0)),
}


def refused(caught):
    error = caught.value
    assert error.code == "elastic_value"
    assert str(error).startswith(f"{error.where}: {error.name}: found {error.found!r}; {error.allowed}")
    return error.where, error.name, error.found


@pytest.mark.parametrize(("attributes", "wrong"), WRONG.items())
def test_wrong_properties_say_where_and_what_is_allowed(attributes, wrong):
    with pytest.raises(KaneDynamicsError) as caught:
        elastic_links_from_text(urdf(attributes))
    assert refused(caught) == wrong


CHAIN = serial_chain(parse_robot(PENDULUM))
HEAVY = replace(EXPECTED, material=Material(7e10, 2.6e10, 2e4))
UNBUILDABLE = [
    (replace(EXPECTED, end=(0.0, 0.0, 0.0)), "end", (0.0, 0.0, 0.0)),
    (replace(EXPECTED, z_axis=(2.0, 0.0, 0.0)), "z_axis", (2.0, 0.0, 0.0)),
    (HEAVY, "mass of the beam [kg]", 3.015929),
]


@pytest.mark.parametrize(("link", "name", "found"), UNBUILDABLE)
def test_a_link_that_does_not_fit_the_robot_is_refused(link, name, found):
    with pytest.raises(KaneDynamicsError) as caught:
        arm_model(CHAIN, [link])
    assert refused(caught) == (LINK, name, found)


def test_a_beam_that_leaves_an_inertia_of_no_body_is_refused():
    wide = replace(
        EXPECTED, material=Material(7e10, 2.6e10, 3.0), start=(0.9, 0.0, 0.0), end=(50.0, 0.0, 0.0)
    )
    with pytest.raises(KaneDynamicsError) as caught:
        arm_model(CHAIN, [wide])
    assert refused(caught)[:2] == (LINK, "inertia that the beam leaves of the link's")


def test_a_link_that_no_moving_body_has_is_refused():
    with pytest.raises(KaneDynamicsError) as caught:
        arm_model(CHAIN, [replace(EXPECTED, link="end")])
    error = caught.value
    assert (error.code, error.found, error.known) == ("unknown_elastic_link", "end", ("rod",))


def test_a_link_given_twice_is_refused():
    with pytest.raises(KaneDynamicsError) as caught:
        arm_model(CHAIN, [EXPECTED, EXPECTED])
    assert refused(caught) == (LINK, "link", "rod")


@pytest.mark.parametrize(
    ("content", "where", "name", "found"),
    [
        ("- a", "{file}", "content", "list"),
        ("rod: 3", "{file}", "rod", 3),
        ("rod: {E: true, G: 1, density: 1}", "{file}: elastic link 'rod'", "E", True),
    ],
)
def test_wrong_yaml_is_refused(tmp_path, content, where, name, found):
    file = tmp_path / "links.yaml"
    file.write_text(content)
    with pytest.raises(KaneDynamicsError) as caught:
        elastic_links_from_yaml(file)
    assert refused(caught) == (where.format(file=file), name, found)


def test_a_missing_yaml_file_is_named(tmp_path):
    with pytest.raises(PathError) as caught:
        elastic_links_from_yaml("no-such.yaml")
    assert str(caught.value) == (
        "no-such.yaml: No such file or directory; give another path, or fix this one"
    )


def test_rectangle_has_the_torsion_constant_of_the_textbook():
    """Timoshenko and Goodier: J = 0.141 a^4 for a square, 0.229 a b^3 for 2 : 1."""
    square, oblong = rectangle(1.0, 1.0), rectangle(2.0, 1.0)
    np.testing.assert_allclose([square.J, oblong.J], [0.1406, 2 * 0.2287], rtol=2e-3)
