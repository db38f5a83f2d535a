"""HTML pages out of Jinja templates, the one way in which this package writes them."""

from jinja2 import Environment, PackageLoader, StrictUndefined


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
