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
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from kane_dynamics_ros.description import Inertia, check_origin, parse_robot
from kane_dynamics_ros.description.xml_tree import parse_urdf
from kane_dynamics_ros.elastic.arm_model import ArmModel, arm_model
from kane_dynamics_ros.elastic.link import ElasticLink, Material, Section, rectangle, tube, wrong_property
from kane_dynamics_ros.errors import KaneDynamicsError, path_error
from kane_dynamics_ros.runtime import DynamicsModel
from kane_dynamics_ros.text import counted
from kane_dynamics_ros.yaml_text import load_yaml

MATERIAL = ("E", "G", "density")
COUNTS = {
    **dict.fromkeys((*MATERIAL, "damping", "area", "Iy", "Iz", "J", "elements"), 1),
    **dict.fromkeys(("tube", "rectangle"), 2),
    **dict.fromkeys(("start", "end", "z_axis"), 3),
}
FLAGS = ("rotary_inertia", "stiffened")
SECTIONS: dict[tuple[str, ...], Callable[..., Section]] = {
    ("tube",): tube,
    ("rectangle",): rectangle,
    ("area", "Iy", "Iz", "J"): Section,
}


def elastic_links_from_text(text: str | bytes, source: str = "<text>") -> tuple[ElasticLink, ...]:
    """The ``<elastic>`` elements of a URDF's text; ``source`` is the file name for messages.

    Raises ``DescriptionError``, ``KaneDynamicsError`` (``elastic_value``).
    """
    links = []
    for link in parse_urdf(text, source).all("link"):
        for element in link.all("elastic"):
            where = f"{source}:{element.line}: <elastic> of link {link.attributes.get('name')!r}"
            links.append(_link(where, link.attributes.get("name", ""), element.attributes))
    return tuple(links)


def elastic_links_from_yaml(path: str | os.PathLike[str]) -> tuple[ElasticLink, ...]:
    """A YAML file: a mapping from link names to properties.

    Raises ``KaneDynamicsError`` (``elastic_value``), ``PathError``.
    """
    source = os.fspath(path)
    try:
        content = load_yaml(Path(source).read_text(encoding="utf-8"))
    except OSError as error:
        raise path_error(error) from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise wrong_property(source, "file", type(error).__name__, f"cannot be read: {error}") from None
    if not isinstance(content, Mapping):
        raise wrong_property(source, "content", type(content).__name__, "must be a mapping of link names")
    links = []
    for name, properties in content.items():
        if not isinstance(properties, Mapping):
            raise wrong_property(source, str(name), properties, "must be a mapping of properties")
        links.append(_link(f"{source}: elastic link {name!r}", str(name), properties))
    return tuple(links)


def _link(where: str, name: str, properties: Mapping[str, Any]) -> ElasticLink:
    values = {str(key): _value(where, str(key), found) for key, found in properties.items()}
    for key in MATERIAL:
        if key not in values:
            raise wrong_property(where, key, None, "must be given")
    material = Material(*(values.pop(key) for key in MATERIAL))
    section = _section(where, values)
    options = {key: value for key, value in values.items() if not any(key in keys for keys in SECTIONS)}
    return ElasticLink(name, material, section, **options)


def _section(where: str, values: Mapping[str, Any]) -> Section:
    given = [keys for keys in SECTIONS if any(key in values for key in keys)]
    if len(given) != 1 or any(key not in values for key in given[0]):
        found = ", ".join(key for keys in given for key in keys if key in values) or None
        raise wrong_property(where, "section", found, "must be one of: tube; rectangle; area, Iy, Iz and J")
    keys = given[0]
    numbers = values[keys[0]] if len(keys) == 1 else [values[key] for key in keys]
    return SECTIONS[keys](*numbers)


def _value(where: str, key: str, found: object) -> Any:
    """A flag, a number or a tuple of numbers; in XML as text."""
    if key in FLAGS:
        truth = {"true": True, "false": False}.get(str(found).lower())
        if truth is None:
            raise wrong_property(where, key, found, "must be true or false")
        return truth
    if key not in COUNTS:
        raise wrong_property(where, key, found, f"allowed are {', '.join((*COUNTS, *FLAGS))}")
    words: list[Any] = (
        found.split() if isinstance(found, str) else found if isinstance(found, list) else [found]
    )
    try:
        numbers = tuple(float(word) for word in words if not isinstance(word, bool))
    except (TypeError, ValueError):
        numbers = ()
    if len(numbers) != COUNTS[key]:
        raise wrong_property(where, key, found, f"must be {counted(COUNTS[key], 'number')}")
    if len(numbers) > 1:
        return numbers
    return int(numbers[0]) if key == "elements" and numbers[0].is_integer() else numbers[0]


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
        KaneDynamicsError: ``elastic_value``, a property of a link; ``no_elastic_link``, no link bends;
            ``other_robot``, ``model`` was generated from another robot.
    """
    origin = check_origin(model, parse_robot(urdf))
    chain = origin.chain
    if not origin.matches:
        raise KaneDynamicsError(
            f"the URDF is not the one that model {model.name!r} was generated from: found physics hash "
            f"{origin.hash}, the model's is {model.urdf_hash}; give that URDF, or generate the model again "
            "(locked joints are not supported with elastic links)",
            "other_robot",
            model=model.name,
            expected=model.urdf_hash,
            found=origin.hash,
        )
    found = elastic_links_from_text(urdf) if links is None else elastic_links_from_yaml(links)
    if not found:
        where = "the URDF has no <elastic> element" if links is None else f"{links} names no link"
        raise KaneDynamicsError(
            f"robot {chain.robot!r}: no elastic link: {where}; "
            "add <elastic> to a link, or name a YAML file of links",
            "no_elastic_link",
            robot=chain.robot,
            file=links,
        )
    given = factors or {}
    joints = tuple(
        replace(joint, inertia=_scaled(joint.inertia, given.get(joint.body, 1.0))) for joint in chain.joints
    )
    return arm_model(
        replace(chain, joints=joints), [_denser(link, given.get(link.link, 1.0)) for link in found]
    )


def _scaled(inertia: Inertia, factor: float) -> Inertia:
    (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = (factor * np.array(inertia.tensor)).tolist()
    return replace(inertia, mass=factor * inertia.mass, tensor=((xx, xy, xz), (yx, yy, yz), (zx, zy, zz)))


def _denser(link: ElasticLink, factor: float) -> ElasticLink:
    return replace(link, material=replace(link.material, density=factor * link.material.density))
