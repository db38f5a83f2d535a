"""Elastic links from URDF and YAML: what is read, and every way to say it wrongly."""

import re
from dataclasses import replace

import numpy as np
import pytest
from elastic_arms import PENDULUM

from kane_dynamics_ros.description import load_robot, parse_robot, serial_chain
from kane_dynamics_ros.elastic.arm_model import arm_model
from kane_dynamics_ros.elastic.link import (
    ElasticLink,
    ElasticValueError,
    Material,
    Section,
    UnknownElasticLinkError,
    rectangle,
    tube,
)
from kane_dynamics_ros.elastic.reader import (
    elastic_links_from_text,
    elastic_links_from_urdf,
    elastic_links_from_yaml,
)
from kane_dynamics_ros.errors import PathError

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
    assert elastic_links_from_yaml(yaml) == (EXPECTED,)


def test_xacro_and_urdf_files_are_read(tmp_path):
    (tmp_path / "arm.urdf").write_text(urdf(ATTRIBUTES))
    xacro = urdf(ATTRIBUTES.replace('"7e10"', '"${7 * 10**10}"')).replace(
        '<robot name="pendulum">', '<robot name="pendulum" xmlns:xacro="http://www.ros.org/wiki/xacro">'
    )
    (tmp_path / "arm.urdf.xacro").write_text(xacro)
    (tmp_path / "tags.urdf").write_text(xacro.replace("<link", "<xacro:if value='true'/><link", 1))
    for name in ("arm.urdf", "arm.urdf.xacro", "tags.urdf"):
        (link,) = elastic_links_from_urdf(tmp_path / name)
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
KEYS = (
    "E, G, density, damping, area, Iy, Iz, J, elements, tube, rectangle, start, end, z_axis, "
    "rotary_inertia, stiffened"
)
WRONG = {
    'G="1" density="1" tube="2 1"': f"{WHERE}: E: found None; must be given",
    ATTRIBUTES.replace("7e10", "stiff"): f"{WHERE}: E: found 'stiff'; must be 1 number",
    ATTRIBUTES.replace("7e10", "-1"): "material: E: found -1.0; must be a positive number",
    ATTRIBUTES.replace("0.016 0.008", "0.016"): f"{WHERE}: tube: found '0.016'; must be 2 numbers",
    ATTRIBUTES.replace("0.016 0.008", "0.01 0.02"): (
        "tube: outer, inner: found (0.01, 0.02); must satisfy 0 <= inner < outer"
    ),
    ATTRIBUTES + ' rectangle="1 1"': (
        f"{WHERE}: section: found 'tube, rectangle'; must be one of: tube; rectangle; area, Iy, Iz and J"
    ),
    'E="1" G="1" density="1" area="1"': (
        f"{WHERE}: section: found 'area'; must be one of: tube; rectangle; area, Iy, Iz and J"
    ),
    ATTRIBUTES.replace('"3"', '"2.5"'): (
        f"{WHERE}: elements: found 2.5; must be a whole number from 1 to 100"
    ),
    ATTRIBUTES.replace('"3"', '"0"'): (
        "elastic link 'rod': elements: found 0; must be a whole number from 1 to 100"
    ),
    ATTRIBUTES.replace('"0.02"', '"1"'): (
        "elastic link 'rod': damping: found 1.0; must be a ratio, at least 0 and under 1"
    ),
    ATTRIBUTES + ' stiffened="often"': f"{WHERE}: stiffened: found 'often'; must be true or false",
    ATTRIBUTES + ' colour="red"': f"{WHERE}: colour: found 'red'; allowed are {KEYS}",
    ATTRIBUTES + ' z_axis="0 0 0"': (
        "elastic link 'rod': z_axis: found (0.0, 0.0, 0.0); must not be the zero vector"
    ),
    ATTRIBUTES + ' end="nan 0 0"': (
        "elastic link 'rod': end: found (nan, 0.0, 0.0); must be three finite numbers"
    ),
}


@pytest.mark.parametrize(("attributes", "message"), WRONG.items())
def test_wrong_properties_say_where_and_what_is_allowed(attributes, message):
    with pytest.raises(ElasticValueError, match=f"^{re.escape(message)}$"):
        elastic_links_from_text(urdf(attributes))


CHAIN = serial_chain(parse_robot(PENDULUM))
HEAVY = replace(EXPECTED, material=Material(7e10, 2.6e10, 2e4))
UNBUILDABLE = [
    (
        replace(EXPECTED, link="end"),
        UnknownElasticLinkError,
        "robot 'pendulum': elastic link 'end': no moving body of the chain has this name; "
        "the bodies are 'rod'",
    ),
    (
        replace(EXPECTED, end=(0.0, 0.0, 0.0)),
        ElasticValueError,
        "elastic link 'rod': end: found (0.0, 0.0, 0.0); must be away from start: the beam has no length",
    ),
    (
        replace(EXPECTED, z_axis=(2.0, 0.0, 0.0)),
        ElasticValueError,
        "elastic link 'rod': z_axis: found (2.0, 0.0, 0.0); must not lie along the beam",
    ),
    (
        replace(EXPECTED, material=Material(7e10, 2.6e10, 3.0), start=(0.9, 0.0, 0.0), end=(50.0, 0.0, 0.0)),
        ElasticValueError,
        "elastic link 'rod': inertia that the beam leaves of the link's: found REST; must belong to some "
        "distribution of mass: correct the beam's density or the URDF's inertial",
    ),
    (
        HEAVY,
        ElasticValueError,
        "elastic link 'rod': mass of the beam [kg]: found 3.015929; must not exceed the link's mass in the "
        "URDF, 0.6 kg: lower the density, shorten the beam or correct the URDF",
    ),
]


@pytest.mark.parametrize(("link", "error", "message"), UNBUILDABLE)
def test_a_link_that_does_not_fit_the_robot_is_refused(link, error, message):
    pattern = re.escape(message).replace("REST", r"\[\[.*\]\]")  # numbers of the tensor
    with pytest.raises(error, match=f"^{pattern}$"):
        arm_model(CHAIN, [link])


def test_a_link_given_twice_is_refused():
    message = "elastic link 'rod': link: found 'rod'; must be given once"
    with pytest.raises(ElasticValueError, match=f"^{re.escape(message)}$"):
        arm_model(CHAIN, [EXPECTED, EXPECTED])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("- a", "{file}: content: found 'list'; must be a mapping of link names"),
        ("rod: 3", "{file}: rod: found 3; must be a mapping of properties"),
        ("rod: {E: true, G: 1, density: 1}", "{file}: elastic link 'rod': E: found True; must be 1 number"),
    ],
)
def test_wrong_yaml_is_refused(tmp_path, content, message):
    file = tmp_path / "links.yaml"
    file.write_text(content)
    with pytest.raises(ElasticValueError, match=f"^{re.escape(message.format(file=file))}$"):
        elastic_links_from_yaml(file)


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
