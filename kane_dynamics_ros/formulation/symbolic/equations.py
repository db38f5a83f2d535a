"""The equations of motion of a chain in symbols, to be read: derived, and as text and LaTeX."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, NamedTuple

import sympy

from kane_dynamics_ros.algebra import add, cross
from kane_dynamics_ros.description.model import Chain, ChainJoint, Inertia
from kane_dynamics_ros.formulation.dual import sine_cosine
from kane_dynamics_ros.formulation.kane.kinematics import placements_at
from kane_dynamics_ros.formulation.kane.partial_velocities import partial_velocities
from kane_dynamics_ros.formulation.kane.segments import segments_of
from kane_dynamics_ros.formulation.symbolic.trigonometry import compact, definitions, parallel_groups

_AXES = "xyz"
_NEGLIGIBLE = 1e-9  # what a URDF's decimals of pi leave where a zero is meant; m, kg m^2 or 1
_WIDTH = 110  # characters
_LEGEND = (
    "m mass, r centre of mass, J central moment of inertia, l place of the next joint; the letter says along "
    "which axis of the body, the number which body, from the root"
)

InverseDynamics = Callable[..., Any]  # (chain, q, qd, qdd, gravity) -> tau, generic over its scalars


# A chain whose masses, lengths and inertias are symbols, and whose other numbers are exact
#
# Numbers carry the body's index, root to tip from 1 (0 is the root link). ``m_2``: mass. ``r_y2``: the centre
# of mass of body 2 along its y. ``l_y2``: the next joint's (or the tip's) place on body 2 along y
# (``l_y2_5``: that of body 5's joint where another one on body 2 comes first; ``l_y2_T``: the tip's where
# joints do). ``J_y2``: its central moment of inertia about y; ``J_xy2``: the entry off the diagonal. Zeros
# stay zeros, so that the chain keeps its structure.


def symbolic_chain(chain: Chain) -> Chain:
    """The chain with symbols for its physical numbers; angles are kept, exact where simple.

    Example:
        >>> from kane_dynamics_ros.description import load_robot, serial_chain
        >>> from kane_dynamics_ros.share import share_directory
        >>> robot = load_robot(share_directory() / "urdf" / "three_link_chain.urdf")
        >>> symbolic_chain(serial_chain(robot)).joints[1].inertia.mass
        m_2
    """
    carriers = [joint.parent + 1 for joint in chain.joints]  # bodies by their numbers
    joints = tuple(
        _symbolic_joint(joint, k + 1, f"_{k + 1}" if carriers[k] in carriers[:k] else "")
        for k, joint in enumerate(chain.joints)
    )
    tip = chain.tip_body + 1
    p_BoTo_B = _symbols("l", chain.p_BoTo_B, f"{tip}_T" if tip in carriers else tip)
    return replace(chain, joints=joints, R_BT=_exact_matrix(chain.R_BT), p_BoTo_B=p_BoTo_B)


def renamed(chain: Chain, names: Mapping[str, Any]) -> Chain:
    """The chain with the symbols of ``symbolic_chain`` replaced: of a name, by an expression."""
    symbols = {sympy.Symbol(name): symbol for name, symbol in names.items()}

    def vector(values: Any) -> Any:
        return tuple(sympy.sympify(value).subs(symbols) for value in values)

    def inertia(body: Inertia) -> Inertia:
        mass = sympy.sympify(body.mass).subs(symbols)
        rows = tuple(vector(row) for row in body.tensor)
        return Inertia(mass, vector(body.com), (rows[0], rows[1], rows[2]))

    joints = tuple(
        replace(joint, p_PoJo_P=vector(joint.p_PoJo_P), inertia=inertia(joint.inertia))
        for joint in chain.joints
    )
    return replace(chain, joints=joints, p_BoTo_B=vector(chain.p_BoTo_B))


def coordinate_symbols(n: int) -> tuple[tuple[Any, ...], tuple[Any, ...], tuple[Any, ...]]:
    """Symbols for positions q_i, speeds u_i = dq_i/dt and accelerations du_i/dt of ``n`` coordinates.

    Example:
        >>> coordinate_symbols(2)
        ((q_1, q_2), (u_1, u_2), (du_1, du_2))
    """
    q, u, du = (tuple(sympy.Symbol(f"{name}_{i + 1}") for i in range(n)) for name in ("q", "u", "du"))
    return q, u, du


def exact(value: float) -> Any:
    """``value`` as an exact number when it is a simple one (0, 1/2, sqrt(2)/2, ...), else as a decimal."""
    square = Fraction(value * value).limit_denominator(16)
    if abs(math.sqrt(square) - abs(value)) > _NEGLIGIBLE:
        return sympy.Rational(str(round(value, 12)))
    return (-1 if value < 0 else 1) * sympy.sqrt(sympy.Rational(square.numerator, square.denominator))


def _symbolic_joint(joint: ChainJoint, body: int, other: str) -> ChainJoint:
    """``other`` tells its place from that of a joint before it on the same body."""
    inertia = joint.inertia
    return replace(
        joint,
        R_PJ=_exact_matrix(joint.R_PJ),
        p_PoJo_P=_symbols("l", joint.p_PoJo_P, f"{joint.parent + 1}{other}"),
        axis=tuple(exact(value) for value in joint.axis),
        inertia=Inertia(
            _symbol("m", inertia.mass, body),
            _symbols("r", inertia.com, body),
            _symbolic_tensor(inertia.tensor, body),
        ),
        multiplier=exact(joint.multiplier),
        offset=_exact_angle(joint.offset),
    )


def _symbolic_tensor(tensor: Any, body: int) -> Any:
    def entry(i: int, j: int) -> Any:
        axes = _AXES[i] if i == j else _AXES[min(i, j)] + _AXES[max(i, j)]
        return _symbol(f"J_{axes}", tensor[i][j], body, separator="")

    return tuple(tuple(entry(i, j) for j in range(3)) for i in range(3))


def _symbols(name: str, vector: Any, body: int | str) -> Any:
    return tuple(
        _symbol(f"{name}_{axis}", value, body, separator="")
        for axis, value in zip(_AXES, vector, strict=True)
    )


def _symbol(name: str, value: float, body: int | str, separator: str = "_") -> Any:
    return sympy.Symbol(f"{name}{separator}{body}") if abs(value) > _NEGLIGIBLE else 0


def _exact_matrix(matrix: Any) -> Any:
    return tuple(tuple(exact(value) for value in row) for row in matrix)


def _exact_angle(angle: float) -> Any:
    return exact(angle / float(sympy.pi)) * sympy.pi


# The table of partial velocities that Kane's method is read from, in symbols


class PartialVelocities(NamedTuple):
    """The partial velocities of body k for speed u_r, each (3, 1), in body axes; k and r from 1."""

    k: int
    r: int
    omega: sympy.Matrix  # of the body
    v: sympy.Matrix  # of its centre of mass


def partial_velocity_table(chain: Chain) -> list[PartialVelocities]:
    """All partial velocities of ``chain`` that are not zero, with symbols for its numbers.

    Example:
        >>> from kane_dynamics_ros.description import load_robot, serial_chain
        >>> from kane_dynamics_ros.share import share_directory
        >>> robot = load_robot(share_directory() / "urdf" / "three_link_chain.urdf")
        >>> partial_velocity_table(serial_chain(robot))[1].v
        Matrix([
        [       l_x1*s_2],
        [c_2*l_x1 + r_x2],
        [              0]])
    """
    groups, chain = parallel_groups(chain), symbolic_chain(chain)
    n = len(chain.coordinates)
    q, _, _ = coordinate_symbols(n)
    table = []
    bodies = partial_velocities(placements_at(segments_of(chain), q, sine_cosine), n)
    for k, (joint, partials) in enumerate(zip(chain.joints, bodies, strict=True), 1):
        for r, partial in enumerate(partials, 1):
            v = add(partial.v_Bo, cross(partial.omega, joint.inertia.com))
            omega_r, v_r = (_compact(vector, q, groups) for vector in (partial.omega, v))
            row = PartialVelocities(k, r, omega_r, v_r)
            if any((*row.omega, *row.v)):
                table.append(row)
    return table


def _compact(vector: Any, q: Any, groups: Any) -> sympy.Matrix:
    return sympy.Matrix([compact(component, q, (), groups) for component in vector])


# The equations of motion: M(q) du/dt + V(q, u) + G(q) = tau, [Malvezzi2017] eqs. (4) to (7)


class Equations(NamedTuple):
    """Entries in compact form; the symbols are explained by ``definitions`` and ``coordinates``."""

    coordinates: tuple[tuple[Any, str], ...]  # (q_i, the joint's name)
    bodies: tuple[str, ...]  # names, in the order of the numbers in the symbols
    M: sympy.Matrix  # (n, n), eq. (6) of [Malvezzi2017]
    V: sympy.Matrix  # (n, 1), Coriolis and centrifugal efforts
    G: sympy.Matrix  # (n, 1), efforts that hold the chain against gravity
    definitions: dict[Any, Any]  # abbreviation to function: {c_23: cos(q_2 + q_3)}

    @property
    def efforts(self) -> sympy.Matrix:
        """tau = M du/dt + V + G, with abbreviations resolved."""
        du = sympy.Matrix(coordinate_symbols(len(self.coordinates))[2])
        return (self.M * du + self.V + self.G).subs(self.definitions)


def derive(chain: Chain, inverse_dynamics: InverseDynamics, gravity: Any = None) -> Equations:
    """Equations of ``chain`` with its masses, lengths and inertias as symbols.

    ``gravity`` is the free-fall acceleration in the root frame; by default (0, 0, -g). M and V come from
    ``inverse_dynamics`` at unit accelerations and at none, since it is linear in them.

    Example:
        >>> from kane_dynamics_ros.description import load_robot, serial_chain
        >>> from kane_dynamics_ros.share import share_directory
        >>> robot = load_robot(share_directory() / "urdf" / "three_link_chain.urdf")
        >>> from kane_dynamics_ros.formulation.kane import dynamics
        >>> derive(serial_chain(robot), dynamics.inverse_dynamics).M[2, 2]
        J_z3 + m_3*r_x3**2
    """
    groups, chain = parallel_groups(chain), symbolic_chain(chain)
    n = len(chain.coordinates)
    q, u, _ = coordinate_symbols(n)
    at_rest, no_gravity = (0,) * n, (0, 0, 0)
    gravity = (0, 0, -sympy.Symbol("g")) if gravity is None else gravity
    columns = [inverse_dynamics(chain, q, at_rest, tuple(row), no_gravity) for row in sympy.eye(n).tolist()]
    M = sympy.Matrix(n, n, lambda i, j: compact(columns[j][i], q, (), groups))
    V = sympy.Matrix([compact(v, q, u, groups) for v in inverse_dynamics(chain, q, u, at_rest, no_gravity)])
    G = sympy.Matrix(
        [compact(g, q, (), groups) for g in inverse_dynamics(chain, q, at_rest, at_rest, gravity)]
    )
    found = definitions(sympy.Matrix.hstack(M, V, G), q)
    names = tuple(joint.body for joint in chain.joints)
    return Equations(tuple(zip(q, chain.coordinates, strict=True)), names, M, V, G, found)


# As plain text and as LaTeX


def as_text(equations: Equations, derivation: str = "") -> str:
    """One entry a line; zeros are left out, and M is symmetric. ``derivation`` stands before them."""
    lines = [f"{q}: joint {name!r}" for q, name in equations.coordinates]
    lines += [f"body {k}: {name!r}" for k, name in enumerate(equations.bodies, 1)]
    lines += ["", f"Symbols: {_LEGEND}."]
    if derivation:
        lines += ["", "Kane's method, vectors of body k in its axes, k* its centre of mass:", "", derivation]
    lines += ["", "Equations of motion, tau = M du/dt + V + G with u_i = dq_i/dt:", ""]
    lines += [line for name, value in _entries(equations) for line in equation_lines(name, value)]
    lines += ["", *(f"{symbol} = {meaning}" for symbol, meaning in equations.definitions.items())]
    return "\n".join(lines)


def equation_lines(name: str, value: Any) -> list[str]:
    """``name = value``, a term a line where that would be too long for one."""
    whole = f"{name} = {value}"
    if len(whole) <= _WIDTH:
        return [whole]
    first, *others = map(str, value.as_ordered_terms())
    signed = (f"- {term[1:]}" if term.startswith("-") else f"+ {term}" for term in others)
    return [f"{name} = {first}", *(f"{' ' * (len(name) + 1)}{term}" for term in signed)]


def as_latex(equations: Equations, partials: Sequence[PartialVelocities] = ()) -> str:
    """One ``align*`` environment."""
    names = r"\omega_{{{r}}}^{{{k}}}", "v_{{{r}}}^{{{k}}}"
    rows = [f"{name} &= {sympy.latex(vector.T)}" for name, vector in _partial_entries(partials, *names)]
    rows += [
        f"{sympy.latex(sympy.Symbol(name))} &= {sympy.latex(value)}" for name, value in _entries(equations)
    ]
    rows += [f"{sympy.latex(s)} &= {sympy.latex(meaning)}" for s, meaning in equations.definitions.items()]
    return "\\begin{align*}\n" + " \\\\\n".join(rows) + "\n\\end{align*}"


def _partial_entries(
    partials: Sequence[PartialVelocities], omega: str, v: str
) -> Iterator[tuple[str, sympy.Matrix]]:
    for partial in partials:
        if any(partial.omega):
            yield omega.format(r=partial.r, k=partial.k), partial.omega
        if any(partial.v):
            yield v.format(r=partial.r, k=partial.k), partial.v


def _entries(equations: Equations) -> list[tuple[str, Any]]:
    """Names and values of the distinct entries that are not zero."""
    n = len(equations.coordinates)
    separator = "" if n < 10 else "_"
    pairs = [(i, j) for i in range(n) for j in range(i, n)]
    entries = [(f"M_{i + 1}{separator}{j + 1}", equations.M[i, j]) for i, j in pairs]
    entries += [(f"V_{i + 1}", equations.V[i]) for i in range(n)]
    entries += [(f"G_{i + 1}", equations.G[i]) for i in range(n)]
    return [(name, value) for name, value in entries if value != 0]
