"""Runs the ``xacro`` package on a file."""

from collections.abc import Mapping
from typing import Any

from kane_dynamics_ros.description.errors import Place, XacroError
from kane_dynamics_ros.description.xml_tree import parse_xml


def expand_xacro(source: str, data: bytes, arguments: Mapping[str, str]) -> str:
    """The URDF text that xacro makes of file ``source``, whose content is ``data``.

    The file passes the safe reader first, so that entity bombs never reach xacro's own parser.
    Raises ``XacroError`` whatever happens inside xacro.
    """
    parse_xml(data, source)
    try:
        import xacro
    except ImportError:
        raise XacroError(Place(source), "the Python package xacro is not installed") from None
    try:
        document: Any = xacro.process_file(source, mappings=dict(arguments))
        return str(document.toprettyxml(indent="  "))
    except (Exception, SystemExit) as error:  # xacro raises whatever its expressions raise
        raise XacroError(Place(source), str(error) or type(error).__name__) from None
