"""Kane's method step by step on a chain in symbols, as [Hussain2016] section V walks through it.

Direction cosines; angular velocities and accelerations; velocities and accelerations of the mass centres;
partial velocities; generalized active and inertia forces body by body; torques:

    F_r = sum_k v_r^k . m_k g + T_r                                        eq. (1)
    F_r* = sum_k [v_r^k . (-m_k a^k) - omega_r^k . (J_k alpha^k + omega^k x J_k omega^k)]      eqs. (2) to (4)
    F_r + F_r* = 0, solved for T_r                                         eq. (5)

Vectors of body k are in its own axes. Here everything is written out to be read; the engine factors the same
sums.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import sympy

from kane_dynamics_ros.algebra import Matrix, Vector, add, apply, cross, dot, multiply, scale, transpose
from kane_dynamics_ros.description.model import Chain, Inertia
from kane_dynamics_ros.formulation.dual import sine_cosine
from kane_dynamics_ros.formulation.kane.kinematics import Placement, body_poses, motion, placements_at
from kane_dynamics_ros.formulation.kane.partial_velocities import partial_velocities
from kane_dynamics_ros.formulation.kane.segments import segments_of
from kane_dynamics_ros.formulation.symbolic.equations import coordinate_symbols, equation_lines
from kane_dynamics_ros.formulation.symbolic.trigonometry import Groups, compact, parallel_groups


@dataclass(frozen=True)
class DerivationStep:
    """One step of the method: what it finds, each entry with its name.

    An entry is an expression, a vector of three in the body's axes, or a 3 x 3 table of direction cosines.
    """

    title: str
    entries: tuple[tuple[str, Any], ...]


@dataclass(frozen=True)
class _Body:
    """What the steps need of one body, in its own axes."""

    name: str
    R_NB: Matrix
    inertia: Inertia
    omega: Vector
    alpha: Vector
    v: Vector  # of the mass centre
    a: Vector  # of the mass centre
    partials: tuple[tuple[Vector, Vector], ...]  # (omega_r, v_r) for each speed


def kane_procedure(
    chain: Chain,
    *,
    bodies: Sequence[str] = (),
    gravity: Any = None,
    groups: Groups | None = None,
    every_pair: bool = False,
) -> tuple[DerivationStep, ...]:
    """Every step for ``chain``, whose numbers are symbols (``symbolic_chain``) or exact.

    ``bodies`` names them, root to tip, by default 1, 2, ...; ``gravity`` is the free-fall acceleration in the
    root frame N, by default (0, 0, -g). ``groups`` says which joints are parallel, by default as the chain
    tells: give it for a chain whose directions are symbols. ``every_pair``: direction cosines of every two
    frames, not of neighbours and with N alone.

    Example:
        >>> from kane_dynamics_ros.description import load_robot, serial_chain
        >>> from kane_dynamics_ros.share import share_directory
        >>> robot = load_robot(share_directory() / "urdf" / "three_link_chain.urdf")
        >>> from kane_dynamics_ros.formulation.symbolic.equations import symbolic_chain
        >>> velocities = kane_procedure(symbolic_chain(serial_chain(robot)))[1]
        >>> velocities.title, velocities.entries[1]
        ('Angular velocities', ('omega_2', (0, 0, u_1 + u_2)))
    """
    n = len(chain.coordinates)
    names = tuple(bodies) or tuple(str(k + 1) for k in range(len(chain.joints)))
    q, u, du = coordinate_symbols(n)
    groups = parallel_groups(chain) if groups is None else groups
    gravity = (0, 0, -sympy.Symbol("g")) if gravity is None else gravity
    placements = placements_at(segments_of(chain), q, sine_cosine)
    found = list(_bodies(chain, placements, names, u, du))

    def short(value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(short(each) for each in value)
        return compact(value, q, (*u, *du), groups)

    def step(title: str, entries: Iterator[tuple[str, Any]]) -> DerivationStep:
        return DerivationStep(title, tuple((name, short(value)) for name, value in entries))

    def by_body(title: str, letter: str, terms: Sequence[Sequence[Any]], sums: bool) -> DerivationStep:
        """The bodies' parts of F_r or F_r*, those that are not zero; with ``sums``, then F_r with T_r."""
        entries = []
        for r, row in enumerate(terms, 1):
            parts = (
                (f"{letter}_{r}({body.name})", short(term)) for body, term in zip(found, row, strict=True)
            )
            entries += [(name, term) for name, term in parts if term != 0]
            if sums:
                entries.append((f"{letter}_{r}", short(sympy.Symbol(f"T_{r}") + sum(row))))
        return DerivationStep(title, tuple(entries))

    active = [[_active(body, r, gravity) for body in found] for r in range(n)]
    inertia = [[_inertia(body, r) for body in found] for r in range(n)]
    return (
        step(
            "Direction cosines, columns are the axes of the second frame",
            _cosines(placements, found, every_pair),
        ),
        step("Angular velocities", ((f"omega_{b.name}", b.omega) for b in found)),
        step("Angular accelerations", ((f"alpha_{b.name}", b.alpha) for b in found)),
        step("Velocities of the mass centres", ((f"v_{b.name}*", b.v) for b in found)),
        step("Accelerations of the mass centres", ((f"a_{b.name}*", b.a) for b in found)),
        step("Partial velocities, those that are not zero", _partials(found)),
        by_body(
            "Generalized active forces: weights body by body, and with the torque T_r", "F", active, True
        ),
        by_body("Generalized inertia forces, body by body", "F*", inertia, False),
        step(
            "Torques, from F_r + F_r* = 0",
            ((f"T_{r + 1}", -sum(active[r]) - sum(inertia[r])) for r in range(n)),
        ),
    )


def _bodies(
    chain: Chain, placements: Sequence[Placement], names: Sequence[str], u: Any, du: Any
) -> Iterator[_Body]:
    """Motion and partial velocities of every body's mass centre."""
    motions = motion(placements, u, du, (0, 0, 0))
    tables = partial_velocities(placements, len(u))
    for name, joint, pose, at, table in zip(
        names, chain.joints, body_poses(placements), motions, tables, strict=True
    ):
        c = joint.inertia.com
        partials = tuple((each.omega, add(each.v_Bo, cross(each.omega, c))) for each in table)
        v: Vector = (0, 0, 0)
        for speed, (_, v_r) in zip(u, partials, strict=True):
            v = add(v, scale(speed, v_r))
        a = add(at.a_Bo, add(cross(at.alpha, c), cross(at.omega, cross(at.omega, c))))  # eq. (17)
        yield _Body(name, pose.R_RB, joint.inertia, at.omega, at.alpha, v, a, partials)


def _active(body: _Body, r: int, gravity: Vector) -> Any:
    """v_r . m g: the part of F_r, eq. (1), that this body's weight has."""
    return body.inertia.mass * dot(body.partials[r][1], apply(transpose(body.R_NB), gravity))


def _inertia(body: _Body, r: int) -> Any:
    """The part of F_r*, eqs. (2) to (4) with the gyroscopic torque that (4) lacks, that this body has."""
    J = body.inertia.tensor
    torque = add(apply(J, body.alpha), cross(body.omega, apply(J, body.omega)))
    omega_r, v_r = body.partials[r]
    return -body.inertia.mass * dot(v_r, body.a) - dot(omega_r, torque)


def _cosines(
    placements: Sequence[Placement], bodies: Sequence[_Body], every_pair: bool
) -> Iterator[tuple[str, Matrix]]:
    for k, (placement, body) in enumerate(zip(placements, bodies, strict=True)):
        previous = bodies[placement.parent].name if placement.parent >= 0 else "N"
        columns = [placement.to_previous(axis) for axis in ((1, 0, 0), (0, 1, 0), (0, 0, 1))]
        yield f"{previous}_R_{body.name}", transpose((columns[0], columns[1], columns[2]))
        for other, earlier in enumerate(bodies[:k] if every_pair else ()):
            if other != placement.parent:
                yield f"{earlier.name}_R_{body.name}", multiply(transpose(earlier.R_NB), body.R_NB)
    yield from ((f"N_R_{b.name}", b.R_NB) for b, at in zip(bodies, placements, strict=True) if at.parent >= 0)


def _partials(bodies: Sequence[_Body]) -> Iterator[tuple[str, Vector]]:
    for body in bodies:
        for r, (omega, v) in enumerate(body.partials, 1):
            if any(omega):
                yield f"omega_{r}^{body.name}", omega
            if any(v):
                yield f"v_{r}^{body.name}*", v


def procedure_text(steps: Sequence[DerivationStep]) -> str:
    """The steps as plain text, an entry a line where it fits.

    Example:
        >>> print(procedure_text([DerivationStep("Angular velocities", (("omega_1", (0, 0, "u_1")),))]))
        1. Angular velocities
        <BLANKLINE>
           omega_1 = (0, 0, u_1)
    """
    lines: list[str] = []
    for number, step in enumerate(steps, 1):
        lines += ["", f"{number}. {step.title}", ""]
        for name, value in step.entries:
            lines += [f"   {line}" for line in _entry_lines(name, value)]
    return "\n".join(lines[1:])


def _entry_lines(name: str, value: Any) -> list[str]:
    if not isinstance(value, tuple):
        return equation_lines(name, value)
    if not isinstance(value[0], tuple):
        return [f"{name} = ({', '.join(map(str, value))})"]
    cells = [[str(entry) for entry in row] for row in value]
    widths = [max(len(row[column]) for row in cells) for column in range(len(cells))]
    rows = ["  ".join(c.rjust(w) for c, w in zip(row, widths, strict=True)) for row in cells]
    return [f"{name} = [{rows[0]}]", *(f"{' ' * len(name)}   [{row}]" for row in rows[1:])]
