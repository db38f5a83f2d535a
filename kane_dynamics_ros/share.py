"""The package's own installed data: config, launch, urdf and package.xml, wherever they went.

The data stands beside the code in a source checkout, and in ``share/kane_dynamics_ros`` of the prefix
that holds the code in every installation: colcon, a distribution's, pip's (also ``--user``). So the
search goes up from this file, and cannot end at the data of another installation.
"""

from contextlib import suppress
from importlib import metadata
from pathlib import Path
from xml.etree import ElementTree

from kane_dynamics_ros.errors import KaneDynamicsError

NAME = "kane_dynamics_ros"
HERE = Path(__file__).resolve().parent


class ShareNotFoundError(KaneDynamicsError):
    """The code was copied without its data; ``start``: where it lies."""


def share_directory(start: Path = HERE) -> Path:
    """The directory with ``package.xml``, ``config``, ``launch`` and ``urdf``, for code in ``start``."""
    for candidate in (start.parent, *(parent / "share" / NAME for parent in start.parents)):
        if (candidate / "package.xml").is_file():
            return candidate
    raise ShareNotFoundError(
        f"{start}: found no package.xml beside it nor share/{NAME}/package.xml in any directory above; "
        "install the package with colcon or pip, or run it from a source checkout",
        start=start,
    )


def package_version() -> str:
    """The installed version; in a checkout that is not installed, the one that ``package.xml`` states.

    ``package.xml`` is the only source: the build takes it from there.
    """
    with suppress(metadata.PackageNotFoundError):
        return metadata.version(NAME)
    return str(ElementTree.parse(share_directory() / "package.xml").findtext("version"))
