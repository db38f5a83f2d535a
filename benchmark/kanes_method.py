"""SymPy's own way to the same equations: ``KanesMethod`` and common sub-expression elimination."""

import sympy as sm
import sympy.physics.mechanics as me

from kane_dynamics_ros.description.model import Chain, ChainJoint, Inertia

GRAVITY = 9.81  # [m/s^2], along -z of the root


def c_text(chain: Chain) -> str:
    """Inverse dynamics as C statements, as a user of SymPy would print it."""
    replacements, tau = inverse_dynamics(chain)
    time = me.dynamicsymbols._t
    plain = {
        function: sm.Symbol(function.func.__name__)
        for expression in [*tau, *(value for _, value in replacements)]
        for function in expression.atoms(sm.Function)
        if function.args == (time,)
    }
    rows = [f"const double {sm.ccode(value.xreplace(plain), assign_to=name)}" for name, value in replacements]
    rows += [sm.ccode(value.xreplace(plain), assign_to=f"tau[{i}]") for i, value in enumerate(tau)]
    return "\n".join(rows)


def inverse_dynamics(chain: Chain) -> tuple[list[tuple[sm.Symbol, sm.Expr]], list[sm.Expr]]:
    """The torques of a revolute chain as ``sympy.cse`` returns them: replacements and expressions."""
    n = len(chain.joints)
    q, u = me.dynamicsymbols(f"q:{n}"), me.dynamicsymbols(f"u:{n}")
    root = me.ReferenceFrame("N")
    origin = me.Point("O")
    origin.set_vel(root, 0)
    bodies, parent, point = [], root, origin
    for i, joint in enumerate(chain.joints):
        parent, point = _frame(joint, parent, point, root, q[i], u[i])
        bodies.append(_body(joint, parent, point, root))
    weights = [(body.masscenter, -body.mass * GRAVITY * root.z) for body in bodies]
    speeds = [u_i - q_i.diff() for u_i, q_i in zip(u, q, strict=True)]
    method = me.KanesMethod(root, q_ind=q, u_ind=u, kd_eqs=speeds)
    fr, frstar = method.kanes_equations(bodies, weights)
    plain = {symbol: sm.Symbol(f"a{i}") for i, symbol in enumerate(s.diff() for s in u)}
    replacements, (tau,) = sm.cse((-(fr + frstar)).subs(plain))
    return replacements, list(tau)


def _frame(
    joint: ChainJoint,
    parent: me.ReferenceFrame,
    point: me.Point,
    root: me.ReferenceFrame,
    q: sm.Expr,
    u: sm.Expr,
) -> tuple[me.ReferenceFrame, me.Point]:
    """The body frame that a joint turns and its origin; the angular velocity is written with u."""
    placed = parent.orientnew(f"{joint.name}_J", "DCM", sm.Matrix(joint.R_PJ).T)
    axis = sum((k * e for k, e in zip(joint.axis, (placed.x, placed.y, placed.z), strict=True)), me.Vector(0))
    body = placed.orientnew(joint.name, "Axis", (q, axis))
    body.set_ang_vel(parent, u * axis)
    step = zip(joint.p_PoJo_P, (parent.x, parent.y, parent.z), strict=True)
    origin = point.locatenew(f"{joint.name}_o", sum((k * e for k, e in step), me.Vector(0)))
    origin.v2pt_theory(point, root, parent)
    return body, origin


def _body(
    joint: ChainJoint, frame: me.ReferenceFrame, origin: me.Point, root: me.ReferenceFrame
) -> me.RigidBody:
    inertia: Inertia = joint.inertia
    offset = zip(inertia.com, (frame.x, frame.y, frame.z), strict=True)
    centre = origin.locatenew(f"{joint.name}_c", sum((k * e for k, e in offset), me.Vector(0)))
    centre.v2pt_theory(origin, root, frame)
    (ixx, ixy, izx), (_, iyy, iyz), (_, _, izz) = inertia.tensor
    tensor = me.inertia(frame, ixx, iyy, izz, ixy, iyz, izx)
    return me.RigidBody(joint.body, centre, frame, inertia.mass, (tensor, centre))
