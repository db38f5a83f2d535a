"""Print NAME.py: what the robot is, and every function in pure Python."""

import pprint
from collections.abc import Sequence
from typing import Any, cast

from kane_dynamics_ros.checksum import FORMAT, with_checksum
from kane_dynamics_ros.codegen.derive import Derived
from kane_dynamics_ros.codegen.functions import Function
from kane_dynamics_ros.codegen.graph import CALL, Expression
from kane_dynamics_ros.codegen.parameters import default_parameters
from kane_dynamics_ros.codegen.passes import Listing
from kane_dynamics_ros.description.model import Chain
from kane_dynamics_ros.formulation.kane.segments import body_inertia

DEEPEST = 12  # nested operations in one statement: fewer names to store, still readable
CALLS = ("sin", "cos", "tanh")
UNPACKED = ("q", "qd", "qdd", "tau", "wrench")  # arguments whose elements become local names


# One function. It runs on floats and, given the sin and cos of another library, on what that library takes:
# NumPy's columns, CasADi's and SymPy's symbols, JAX's and PyTorch's arrays.

_NUMBERS = """\
def _numbers(values, function):
    # math.sin makes a float, often NaN, of a symbol or a tensor, and says nothing.
    if function in (sin, cos, tanh) and not all(isinstance(value, Real) for value in values):
        raise TypeError(
            "math's functions take numbers; for others give their own, as in inverse_dynamics(q, qd, qdd, "
            "sin=casadi.sin, cos=casadi.cos)"
        )
"""


def python_function(
    name: str, arguments: Sequence[str], n: int, listing: Listing, summary: str, tips: int = 1
) -> str:
    """One function: unpacks its arrays, computes, returns a flat list.

    Args:
        name: a Python identifier.
        arguments: ``prepared`` or ``parameters`` first where used, then inputs among q, qd, qdd, tau, wrench.
        n: length of each input but the wrench, which has six a tip.
        listing: its statements.
        summary: one line, ours: never text from a URDF.
        tips: how many.
    """
    calls = [call for call in CALLS if any(listing.node(i).label == call for i in listing.statements)]
    signature = ", ".join([*arguments, *(f"{call}={call}" for call in calls)])
    lines = [f"def {name}({signature}):", f'    """{summary}."""']
    for argument in arguments:
        if argument in UNPACKED:
            length = 6 * tips if argument == "wrench" else n
            lines.append(f"    ({', '.join(f'{argument}{i}' for i in range(length))},) = {argument}")
    array = next((name for name in ("q", "qd") if name in arguments), "")  # of sines, or of friction's tanh
    if calls and array:
        total = " + ".join(f"{array}{i}" for i in range(n))
        lines += [f"    if type({total}) is not float:", f"        _numbers({array}, {calls[0]})"]
    printer = _Printer(listing)
    lines += [f"    {line}" for line in printer.statements()]
    outputs = [printer.signed(output) for output in listing.outputs]
    lines.append("    return [")
    lines += [f"        {text}," for text in outputs]
    lines.append("    ]")
    return "\n".join(lines) + "\n"


class _Printer:
    """Texts of values: a name where a value is used more than once, the expression itself otherwise."""

    def __init__(self, listing: Listing) -> None:
        self.listing = listing
        self.text: dict[int, str] = {i: _local(name) for i, name in listing.names.items()}
        self.depth: dict[int, int] = dict.fromkeys(listing.names, 0)
        self.stored = 0

    def statements(self) -> list[str]:
        """Assignments of the shared values, operands first."""
        lines = []
        for index in self.listing.statements:
            kind, a, b, label, _ = self.listing.graph.nodes[index]
            if kind == CALL:
                text, depth = f"{label}({self.text[a]})", 1 + self.depth[a]
            else:
                text, depth = f"({self.text[a]} {kind} {self.text[b]})", 1 + max(self.depth[a], self.depth[b])
            if self.listing.uses[index] > 1 or depth >= DEEPEST:
                lines.append(f"t{self.stored} = {text[1:-1] if text.startswith('(') else text}")
                text, depth = f"t{self.stored}", 0
                self.stored += 1
            self.text[index], self.depth[index] = text, depth
        return lines

    def signed(self, output: Expression) -> str:
        """An output, with its sign; a difference used once is turned around instead."""
        text = self.text[output.index]
        bare = text[1:-1] if text.startswith("(") else text
        return f"-{text}" if output.negative else bare


def _local(label: str) -> str:
    """q[3] is unpacked to q3; elements of prepared and parameters stay subscripts."""
    array, _, rest = label.partition("[")
    return f"{array}{rest[:-1]}" if array in UNPACKED else label


# The module: what the robot is, then the functions.


def python_source(name: str, derived: Derived, version: str, c_sha256: str) -> str:
    """The text of NAME.py."""
    equations = derived.equations
    facts = description(name, derived, version, c_sha256)
    parts = [
        f'"""Generated by kane_dynamics_ros {version} from a URDF; do not edit."""\n',
        "from math import cos, sin, tanh\nfrom numbers import Real\n",
        "# `kane_dynamics verify --record` writes here what it found:\nVERIFIED = None\n",
        f"MODEL = {pprint.pformat(facts, width=110, sort_dicts=False)}\n",
        _NUMBERS,
        python_function("prepare", ("parameters",), equations.n, derived.prepare, "What parameters imply"),
    ]
    n, tips = equations.n, equations.layout.tips
    for each in filter(written_in_python, equations.functions):
        listing = derived.listings[each.name]
        parts.append(python_function(each.name, each.arguments, n, listing, each.summary, tips))
    return with_checksum("\n\n".join(parts))


def written_in_python(function: Function) -> bool:
    """Whether the Python module has the function; ``runtime.python_kernel`` makes the rest."""
    return function.name == "inverse_dynamics" or not (function.nominal or function.composed)


def description(name: str, derived: Derived, version: str, c_sha256: str) -> dict[str, Any]:
    """What the module states about itself: plain literals, texts from the URDF as strings only."""
    chain, equations = derived.chain, derived.equations
    layout, counts = equations.layout, derived.operations()
    return {
        "name": name,
        "generator": version,
        "format": FORMAT,
        "robot": chain.robot,
        "urdf_hash": derived.urdf_hash,
        "c_sha256": c_sha256,
        "root": chain.root,
        "tips": chain.tips,
        "joint_names": chain.coordinates,
        "joints": joint_facts(chain),
        "bodies": tuple(joint.body for joint in chain.joints),
        "lumped": {joint.body: joint.lumped for joint in chain.joints if joint.lumped},
        "locked": dict(chain.locked),
        "findings": tuple((f.code, f.severity, f.line, f.message) for f in chain.findings),
        "units": "rad, m, s, kg, N m, N; efforts positive along the joint axis, motor side",
        "parameters": {key: (s.start, s.stop) for key, s in layout.slices().items()},
        "defaults": default_parameters(layout, chain),
        "inertial_parameters": inertial_parameters(chain),
        **({} if derived.loops is None else {"loops": derived.loops, "followers": derived.followers}),
        "tip_body": chain.tip_body,
        "tip_frames": tuple(tuple(frame) for frame in chain.tip_frames),
        "functions": {
            f.name: {
                "arguments": f.arguments,
                "shape": f.shape,
                "singular": f.pivots > 0,
                "operations": counts[f.name].total,
                "calls": counts[f.name].calls,
                "needs": f.needs,
                "side_by_side": derived.side_by_side(f),
            }
            for f in equations.functions
        },
    }


def joint_facts(chain: Chain) -> tuple[tuple[Any, ...], ...]:
    """Name, kind, lower, upper, velocity, effort, damping, friction, rotor inertia, initial position.

    Damping, friction and rotor inertia are those of the coordinate, followers' included.
    """
    return tuple(
        (
            joint.name,
            joint.kind,
            joint.limits.lower,
            joint.limits.upper,
            joint.limits.velocity,
            joint.limits.effort,
            damping,
            friction,
            rotor_inertia,
            joint.initial_position,
        )
        for joint, damping, friction, rotor_inertia in zip(
            chain.leaders, chain.damping, chain.friction, chain.rotor_inertia, strict=True
        )
    )


def inertial_parameters(chain: Chain) -> tuple[float, ...]:
    """m, h, J about the link frame's origin, ten a body, as the regressor takes them."""
    bodies = [body_inertia(joint.inertia) for joint in chain.joints]
    return tuple(cast(float, x) for body in bodies for x in body.inertial_parameters())
