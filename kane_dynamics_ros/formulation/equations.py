"""The equations of motion of a chain in symbols, to be read: M(q) du/dt + V(q, u) + G(q) = tau."""

from collections.abc import Callable
from typing import Any, NamedTuple

import sympy

from kane_dynamics_ros.description.model import Chain
from kane_dynamics_ros.formulation.parallel_axes import parallel_groups
from kane_dynamics_ros.formulation.symbols import coordinate_symbols, symbolic_chain
from kane_dynamics_ros.formulation.trigonometry import compact, definitions

InverseDynamics = Callable[..., Any]  # (chain, q, qd, qdd, gravity) -> tau, generic over its scalars


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
