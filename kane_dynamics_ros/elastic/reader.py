"""Elastic links from a URDF's ``<elastic>`` elements or from YAML, and the arm that they make.

    <link name="forearm">
      <elastic E="7.0e10" G="2.6e10" density="2700" tube="0.05 0.046" elements="4" damping="0.01"/>
    </link>

and in YAML, with the same keys:

    forearm: {E: 7.0e10, G: 2.6e10, density: 2700, tube: [0.05, 0.046], elements: 4, damping: 0.01}

The section is one of ``tube`` (outer and inner diameter), ``rectangle`` (width along y, height along z), or
``area``, ``Iy``, ``Iz`` and ``J`` together. ``start``, ``end``, ``z_axis``, ``rotary_inertia`` and
``stiffened`` as in ``ElasticLink``. All in SI units.
"""

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from kane_dynamics_ros.description import Chain, Inertia, check_origin, parse_robot
from kane_dynamics_ros.description.load import urdf_content
from kane_dynamics_ros.description.xml_tree import parse_xml
from kane_dynamics_ros.elastic.arm_model import ArmModel, arm_model
from kane_dynamics_ros.elastic.link import (
    ElasticLink,
    ElasticValueError,
    Material,
    NoElasticLinkError,
    OtherRobotError,
    Section,
    rectangle,
    tube,
)
from kane_dynamics_ros.errors import path_error
from kane_dynamics_ros.runtime import DynamicsModel
from kane_dynamics_ros.text import counted

COUNTS = {
    **dict.fromkeys(("E", "G", "density", "damping", "area", "Iy", "Iz", "J", "elements"), 1),
    **dict.fromkeys(("tube", "rectangle"), 2),
    **dict.fromkeys(("start", "end", "z_axis"), 3),
}
FLAGS = ("rotary_inertia", "stiffened")
SECTIONS = (("tube",), ("rectangle",), ("area", "Iy", "Iz", "J"))


def elastic_links_from_urdf(
    path: str | os.PathLike[str], *, xacro_arguments: Mapping[str, str] | None = None
) -> tuple[ElasticLink, ...]:
    """The ``<elastic>`` elements of a URDF or xacro file.

    Raises ``DescriptionError``, ``ElasticValueError``.
    """
    return elastic_links_from_text(urdf_content(path, xacro_arguments), os.fspath(path))


def elastic_links_from_text(text: str | bytes, source: str = "<text>") -> tuple[ElasticLink, ...]:
    """The ``<elastic>`` elements of a URDF's text; ``source`` is the file name for messages.

    Raises ``DescriptionError``, ``ElasticValueError``.
    """
    links = []
    for link in parse_xml(text, source).all("link"):
        for element in link.all("elastic"):
            where = f"{source}:{element.line}: <elastic> of link {link.attributes.get('name')!r}"
            links.append(_link(where, link.attributes.get("name", ""), element.attributes))
    return tuple(links)


def elastic_links_from_yaml(path: str | os.PathLike[str]) -> tuple[ElasticLink, ...]:
    """A YAML file: a mapping from link names to properties. Raises ``ElasticValueError``, ``PathError``."""
    source = os.fspath(path)
    try:
        content = yaml.safe_load(Path(source).read_text(encoding="utf-8"))
    except OSError as error:
        raise path_error(error) from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ElasticValueError(source, "file", type(error).__name__, f"cannot be read: {error}") from None
    if not isinstance(content, Mapping):
        raise ElasticValueError(source, "content", type(content).__name__, "must be a mapping of link names")
    links = []
    for name, properties in content.items():
        if not isinstance(properties, Mapping):
            raise ElasticValueError(source, str(name), properties, "must be a mapping of properties")
        links.append(_link(f"{source}: elastic link {name!r}", str(name), properties))
    return tuple(links)


def _link(where: str, name: str, properties: Mapping[str, Any]) -> ElasticLink:
    for key in properties:
        if key not in COUNTS and key not in FLAGS:
            raise ElasticValueError(
                where, str(key), properties[key], f"allowed are {', '.join((*COUNTS, *FLAGS))}"
            )
    values = {key: _numbers(where, key, properties[key]) for key in properties if key not in FLAGS}
    for key in ("E", "G", "density"):
        if key not in values:
            raise ElasticValueError(where, key, None, "must be given")
    options: dict[str, Any] = {key: values[key] for key in ("start", "end", "z_axis") if key in values}
    if "damping" in values:
        options["damping"] = values["damping"][0]
    if "elements" in values:
        options["elements"] = _whole(where, values["elements"][0])
    options |= {key: _flag(where, key, properties[key]) for key in FLAGS if key in properties}
    material = Material(*(values[key][0] for key in ("E", "G", "density")))
    return ElasticLink(name, material, _section(where, values), **options)


def _section(where: str, values: Mapping[str, tuple[float, ...]]) -> Section:
    given = [keys for keys in SECTIONS if any(key in values for key in keys)]
    if len(given) != 1 or any(key not in values for key in given[0]):
        found = ", ".join(key for keys in given for key in keys if key in values) or None
        raise ElasticValueError(
            where, "section", found, "must be one of: tube; rectangle; area, Iy, Iz and J"
        )
    if given[0] == ("tube",):
        return tube(*values["tube"])
    if given[0] == ("rectangle",):
        return rectangle(*values["rectangle"])
    return Section(*(values[key][0] for key in given[0]))


def _numbers(where: str, key: str, found: object) -> tuple[float, ...]:
    """A number, a list of numbers, or their text as in XML."""
    words: list[Any] = (
        found.split() if isinstance(found, str) else found if isinstance(found, list) else [found]
    )
    try:
        numbers = tuple(float(word) for word in words if not isinstance(word, bool))
    except (TypeError, ValueError):
        numbers = ()
    if len(numbers) != COUNTS[key]:
        raise ElasticValueError(where, key, found, f"must be {counted(COUNTS[key], 'number')}")
    return numbers


def _whole(where: str, found: float) -> int:
    if not found.is_integer():
        raise ElasticValueError(where, "elements", found, "must be a whole number from 1 to 100")
    return int(found)


def _flag(where: str, key: str, found: object) -> bool:
    truth = {"true": True, "false": False}.get(str(found).lower())
    if truth is None:
        raise ElasticValueError(where, key, found, "must be true or false")
    return truth


def elastic_arm(
    urdf: str,
    model: DynamicsModel,
    links: str | os.PathLike[str] | None = None,
    factors: Mapping[str, float] | None = None,
) -> ArmModel:
    """The robot of ``urdf`` with the links that bend.

    Payload and rotor inertia are left to the caller.

    Args:
        urdf: the URDF's text.
        model: generated from it.
        links: a YAML file, or None for the URDF's own ``<elastic>`` elements.
        factors: of the mass and inertia of bodies, by name.

    Raises:
        DescriptionError: the text is no URDF of a robot.
        ElasticValueError: a property of a link.
        NoElasticLinkError: no link bends.
        OtherRobotError: ``model`` was generated from another robot.
    """
    origin = check_origin(model, parse_robot(urdf))
    chain = origin.chain
    if not origin.matches:
        raise OtherRobotError(model.name, model.urdf_hash, origin.hash)
    found = elastic_links_from_text(urdf) if links is None else elastic_links_from_yaml(links)
    if not found:
        raise NoElasticLinkError(chain.robot, None if links is None else os.fspath(links))
    given = factors or {}
    return arm_model(_heavier(chain, given), [_denser(link, given.get(link.link, 1.0)) for link in found])


def _heavier(chain: Chain, factors: Mapping[str, float]) -> Chain:
    joints = (
        replace(joint, inertia=_scaled(joint.inertia, factors.get(joint.body, 1.0))) for joint in chain.joints
    )
    return replace(chain, joints=tuple(joints))


def _scaled(inertia: Inertia, factor: float) -> Inertia:
    (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = (factor * np.array(inertia.tensor)).tolist()
    return replace(inertia, mass=factor * inertia.mass, tensor=((xx, xy, xz), (yx, yy, yz), (zx, zy, zz)))


def _denser(link: ElasticLink, factor: float) -> ElasticLink:
    return replace(link, material=replace(link.material, density=factor * link.material.density))
