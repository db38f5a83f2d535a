"""Tiny URDFs for the tests, made of a few words."""

INERTIA = (
    '<inertial><origin xyz="0.1 0 0"/><mass value="1"/>'
    '<inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/></inertial>'
)
LIMIT = '<limit lower="-1" upper="1" velocity="1" effort="100"/>'


def link(name, inside=INERTIA):
    return f'<link name="{name}">{inside}</link>\n'


def joint(
    name, parent, child, kind="revolute", inside=f'<axis xyz="0 0 1"/>{LIMIT}', xyz="0.3 0 0", rpy="0 0 0"
):
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="{xyz}" rpy="{rpy}"/>{inside}</joint>\n'
    )


def fixed(name, parent, child, xyz="0.3 0 0", rpy="0 0 0"):
    return joint(name, parent, child, "fixed", "", xyz, rpy)


def robot(*parts, attributes='name="arm"'):
    return f"<robot {attributes}>\n" + "".join(parts) + "</robot>\n"


def two_joints(first="", second=INERTIA, inside=f'<axis xyz="0 0 1"/>{LIMIT}'):
    """base - a - one - b - two: lines 2 to 4 are the links, 5 and 6 the joints."""
    return robot(
        link("base", ""),
        link("one", first or INERTIA),
        link("two", second),
        joint("a", "base", "one", inside=inside),
        joint("b", "one", "two"),
    )
