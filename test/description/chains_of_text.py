"""Chains and their findings straight from URDF text."""

from kane_dynamics_ros.description import Chain, parse_robot, serial_chain


def chain_of(text, **options) -> Chain:
    return serial_chain(parse_robot(text, "arm.urdf"), **options)


def codes(text) -> list[str]:
    """The codes of the warnings about a URDF."""
    return [finding.code for finding in chain_of(text).findings if finding.severity != "info"]


def notes(text, code, **options) -> list[str]:
    """Messages of one code."""
    return [finding.message for finding in chain_of(text, **options).findings if finding.code == code]
