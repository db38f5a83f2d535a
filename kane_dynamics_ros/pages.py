"""HTML pages out of Jinja templates, and the figures in them: the one way to write them here."""

import io
from typing import TYPE_CHECKING

from jinja2 import Environment, PackageLoader, StrictUndefined

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def rendered(package: str, template: str, **values: object) -> str:
    """The text of a template of a package, with ``values`` under their names in it.

    Every value is escaped, for names come from bags and URDFs, but what ``markupsafe.Markup`` marks as HTML.
    A name that the template uses and ``values`` lacks raises ``jinja2.UndefinedError``.
    """
    environment = Environment(
        loader=PackageLoader(package, ""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.get_template(template).render(**values)


def svg(figure: "Figure") -> str:
    """The figure as an <svg> element; text stays text, and equal input gives equal bytes."""
    import matplotlib as mpl  # takes longer than all else that pages need

    buffer = io.StringIO()
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "kane_dynamics_ros"}):
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    text = buffer.getvalue()
    return text[text.index("<svg") :]
