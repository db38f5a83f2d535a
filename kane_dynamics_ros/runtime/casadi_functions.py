"""CasADi ``Function``s of a generated module: its compiled code, with its own Jacobians.

CasADi loads a shared library by its external interface: for a function F the library has F, its sparsities
and jac_F. ``casadi_source`` writes such a file around NAME.c. Nothing in it has a state: any number of
threads may evaluate at once, as ``Function.map(N, "thread")`` does.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kane_dynamics_ros.runtime.compilation import source_library
from kane_dynamics_ros.runtime.load import read_module
from kane_dynamics_ros.runtime.model import DynamicsModel, default_parameters
from kane_dynamics_ros.runtime.parameters import packed

if TYPE_CHECKING:
    import casadi


_CALL = "(const casadi_real **arg, casadi_real **res, casadi_int *iw, casadi_real *w, int mem)"

_SUPPORT = """\
/* Row by row to CasADi's column by column. */
static inline void kd_turned(const int rows, const double *by_rows, double *by_columns)
{
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < n; j++)
            by_columns[j * rows + i] = by_rows[i * n + j];
}

/* The inputs, zeros in w where CasADi passes none; returns what is left of w. */
static inline double *kd_inputs(const int count, const double **arg, const double **in, double *w)
{
    for (int k = 0; k < count; k++) {
        in[k] = arg[k] ? arg[k] : w;
        for (int i = 0; i < n && !arg[k]; i++)
            w[i] = 0.0;
        w += n;
    }
    return w;
}

static inline void kd_add_friction(const double *qd, double *effort, const double sign)
{
    for (int i = 0; i < n; i++)
        effort[i] += sign * (kd_viscous[i] * qd[i] + kd_coulomb[i] * tanh(qd[i] / VELOCITY));
}

static inline double kd_friction_slope(const double *qd, const int i)
{
    const double t = tanh(qd[i] / VELOCITY);
    return kd_viscous[i] + kd_coulomb[i] * (1.0 - t * t) / VELOCITY;
}

static inline void kd_add_friction_slope(const double *qd, double *by_qd)
{
    for (int i = 0; i < n; i++)
        by_qd[i * n + i] += kd_friction_slope(qd, i);
}

static inline void kd_less_friction(const double *qd, const double *inverse, double *by_qd)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            by_qd[i * n + j] -= inverse[i * n + j] * kd_friction_slope(qd, j);
}
"""

# Lines that several functions share
_REST = "const double rest[n] = {0.0};"
_BY_Q = "kd_turned(n, both, table[0]);"
_BY_QD = "kd_turned(n, both + n * n, table[1]);"
_FRICTION = "kd_add_friction(in[1], value, 1.0);"
_FRICTION_SLOPE = "kd_add_friction_slope(in[1], both + n * n);"
_DONE = "return 0;"


def casadi_functions(model: DynamicsModel) -> "dict[str, casadi.Function]":
    """CasADi's functions of a model, at the model's parameters, friction included where it is on.

    ``inverse_dynamics`` (q, qd, qdd) -> tau, ``forward_dynamics`` (q, qd, tau) -> qdd, ``bias`` (q, qd) -> V,
    ``gravity`` (q) -> g and ``tip_position`` (q) -> p, the tip's origin in the root frame [m]; vectors (n,).
    First derivatives are exact and compiled; second ones are not there: have Ipopt approximate the Hessian
    (``{"hessian_approximation": "limited-memory"}``).

    Raises:
        CompileError: no C compiler, or its words.
        ImportError: CasADi is not installed (``pip install '.[casadi]'`` in the checkout).
    """
    import casadi

    text = casadi_source(model)
    library = str(source_library(model._source.path.with_suffix(".c"), f"{model.name}_casadi", text))
    prefix = _prefix(model)
    return {f.name: casadi.external(prefix + f.name, library) for f in _externals(model)}


def casadi_source(model: DynamicsModel) -> str:
    """C text of the functions for CasADi; it is to be compiled with NAME.c, and NAME.h be found."""
    n = len(model.joint_names)
    p = model.parameters
    prepared = read_module(model._source.path).run().prepare(list(packed(p)))
    arrays = {"kd_prepared": prepared, "kd_viscous": p.viscous, "kd_coulomb": p.coulomb}
    lines = [
        f"/* {model.name} for CasADi's external(), at one set of parameters; goes with {model.name}.c. */",
        f'#include "{model.name}.h"',
        "",
        "#include <math.h>",
        "",
        "#ifndef casadi_real",
        "#define casadi_real double",
        "#endif",
        "#ifndef casadi_int",
        "#define casadi_int long long int",
        "#endif",
        f"enum {{ n = {n} }};",
        *(f"static const double {name}[] = {_braced(values)};" for name, values in arrays.items()),
        "",
        _SUPPORT.replace("VELOCITY", repr(float(p.coulomb_velocity))),
    ]
    for external in _externals(model):
        lines += _function(_prefix(model), external, n)
    return "\n".join(lines)


def _prefix(model: DynamicsModel) -> str:
    return f"{model.name}_casadi_"


@dataclass(frozen=True)
class _External:
    """One function: C lines that fill ``value``, and those that fill ``table``, a block for each input.

    Both see ``in[k]``, the inputs, and return a number other than 0 where M is singular.
    """

    name: str
    inputs: tuple[str, ...]
    output: str
    rows: int
    value: tuple[str, ...]
    jacobian: tuple[str, ...]


# What each function evaluates, in C, at the model's parameters


class _Calls:
    """Calls of NAME.c at a model's parameters, and what friction adds to them."""

    def __init__(self, model: DynamicsModel) -> None:
        self.name, self.n = model.name, len(model.joint_names)
        self._default = model.parameters == default_parameters(model._source.facts)
        self._has_friction = any(model.parameters.viscous) or any(model.parameters.coulomb)

    def call(self, function: str, *arguments: str) -> str:
        """An expression: the function of (q, ..., array for the result)."""
        given = ", ".join(arguments)
        if self._default:
            return f"{self.name}_{function}({given})"
        return f"{self.name}_{function}_with(kd_prepared, {given})"

    def friction(self, line: str) -> tuple[str, ...]:
        """The line, where there is friction."""
        return (line,) if self._has_friction else ()

    def effort_slopes(self, q: str, qd: str, qdd: str) -> tuple[str, ...]:
        """Lines that fill ``both`` with d tau / d q and d tau / d qd, row by row."""
        call = self.call("inverse_dynamics_derivatives", q, qd, qdd, "both")
        return ("double both[2 * n * n];", f"{call};")

    @property
    def spare_effort(self) -> tuple[str, ...]:
        """Lines that fill ``spare`` with tau less friction."""
        return (
            "double spare[n];",
            "for (int i = 0; i < n; i++)",
            "    spare[i] = in[2][i];",
            *self.friction("kd_add_friction(in[1], spare, -1.0);"),
        )


def _externals(model: DynamicsModel) -> list[_External]:
    calls = _Calls(model)
    return [
        _inverse_dynamics(calls),
        _forward_dynamics(calls),
        _bias(calls),
        _gravity(calls),
        _tip_position(calls),
    ]


def _inverse_dynamics(c: _Calls) -> _External:
    value = (
        f"{c.call('inverse_dynamics', 'in[0]', 'in[1]', 'in[2]', 'value')};",
        *c.friction(_FRICTION),
        _DONE,
    )
    jacobian = (
        *c.effort_slopes("in[0]", "in[1]", "in[2]"),
        *c.friction(_FRICTION_SLOPE),
        _BY_Q,
        _BY_QD,
        f"{c.call('mass_matrix', 'in[0]', 'both')};",
        "kd_turned(n, both, table[2]);",
        _DONE,
    )
    return _External("inverse_dynamics", ("q", "qd", "qdd"), "tau", c.n, value, jacobian)


def _forward_dynamics(c: _Calls) -> _External:
    slopes = c.call("forward_dynamics_derivatives", "in[0]", "in[1]", "spare", "all")
    value = (*c.spare_effort, f"return {c.call('forward_dynamics', 'in[0]', 'in[1]', 'spare', 'value')};")
    jacobian = (
        *c.spare_effort,
        "double all[3 * n * n];",
        f"const int joint = {slopes};",
        *c.friction("kd_less_friction(in[1], all + 2 * n * n, all + n * n);"),
        "for (int k = 0; k < 3; k++)",
        "    kd_turned(n, all + k * n * n, table[k]);",
        "return joint;",
    )
    return _External("forward_dynamics", ("q", "qd", "tau"), "qdd", c.n, value, jacobian)


def _bias(c: _Calls) -> _External:
    value = (f"{c.call('bias', 'in[0]', 'in[1]', 'value')};", *c.friction(_FRICTION), _DONE)
    slopes = (*c.effort_slopes("in[0]", "in[1]", "rest"), *c.friction(_FRICTION_SLOPE))
    return _External("bias", ("q", "qd"), "V", c.n, value, (_REST, *slopes, _BY_Q, _BY_QD, _DONE))


def _gravity(c: _Calls) -> _External:
    value = (f"{c.call('gravity', 'in[0]', 'value')};", _DONE)
    jacobian = (_REST, *c.effort_slopes("in[0]", "rest", "rest"), _BY_Q, _DONE)
    return _External("gravity", ("q",), "g", c.n, value, jacobian)


def _tip_position(c: _Calls) -> _External:
    value = (
        "double pose[16];",
        f"{c.name}_tip_pose(kd_prepared, in[0], pose);",
        "for (int i = 0; i < 3; i++)",
        "    value[i] = pose[4 * i + 3];",
        _DONE,
    )
    jacobian = (
        "double J[6 * n];",
        f"{c.name}_tip_jacobian(kd_prepared, in[0], J);",
        "kd_turned(3, J + 3 * n, table[0]);",
        _DONE,
    )
    return _External("tip_position", ("q",), "p", 3, value, jacobian)


# CasADi's external interface around each: F and jac_F with their sparsities


def _function(prefix: str, external: _External, n: int) -> list[str]:
    """F and jac_F with their sparsities. CasADi passes NULL for inputs of 0 and for outputs not wanted."""
    name, inputs = prefix + external.name, external.inputs
    count, given = len(inputs), dict.fromkeys(inputs, (n, 1))
    derived = {f"jac_{external.output}_{x}": (external.rows, n) for x in inputs}
    return [
        f"static int kd_value_{external.name}(const double *const *in, double *value)",
        "{",
        *(f"    {line}" for line in external.value),
        "}",
        "",
        f"static int kd_jacobian_{external.name}(const double *const *in, double *const *table)",
        "{",
        *(f"    {line}" for line in external.jacobian),
        "}",
        "",
        f"int {name}{_CALL}",
        "{",
        "    (void)iw, (void)mem;",
        f"    const double *in[{count}];",
        f"    kd_inputs({count}, arg, in, w);",
        f"    return res[0] ? kd_value_{external.name}(in, res[0]) : 0;",
        "}",
        "",
        *_described(name, given, {external.output: (external.rows, 1)}, count, n),
        f"int jac_{name}{_CALL}",
        "{",
        "    (void)iw, (void)mem;",
        f"    const double *in[{count}];",
        f"    double *table[{count}], *spare = kd_inputs({count}, arg, in, w);",
        f"    for (int k = 0; k < {count}; k++)",
        f"        table[k] = res[k] ? res[k] : spare + k * {external.rows} * n;",
        f"    return kd_jacobian_{external.name}(in, table);",
        "}",
        "",
        *_described(
            f"jac_{name}",
            {**given, f"out_{external.output}": (external.rows, 0)},
            derived,
            count,
            n + external.rows * n,
        ),
    ]


def _described(
    name: str,
    inputs: Mapping[str, tuple[int, int]],
    outputs: Mapping[str, tuple[int, int]],
    count: int,
    doubles: int,
) -> list[str]:
    """Numbers, names, sparsities and work space of a function; 0 columns stand for one without entries."""
    lines = []
    for side, arrays in (("in", inputs), ("out", outputs)):
        lines += [
            f"casadi_int {name}_n_{side}(void) {{ return {len(arrays)}; }}",
            f"const char *{name}_name_{side}(casadi_int i)",
            "{",
            f"    static const char *const names[] = {{{', '.join(map(_quoted, arrays))}}};",
            "    return names[i];",
            "}",
            f"const casadi_int *{name}_sparsity_{side}(casadi_int i)",
            "{",
        ]
        shapes = [_sparsity(*shape) for shape in arrays.values()]
        lines += [f"    static const casadi_int s{k}[] = {_braced(s)};" for k, s in enumerate(shapes)]
        choices = "".join(f"i == {k} ? s{k} : " for k in range(len(shapes)))
        lines += [f"    return {choices}0;", "}"]
    return [
        *lines,
        f"int {name}_work(casadi_int *sz_arg, casadi_int *sz_res, casadi_int *sz_iw, casadi_int *sz_w)",
        "{",
        f"    *sz_arg = {len(inputs)}, *sz_res = {len(outputs)}, *sz_iw = 0, *sz_w = {count * doubles};",
        "    return 0;",
        "}",
        "",
    ]


def _sparsity(rows: int, columns: int) -> list[int]:
    """CasADi's compressed columns of a dense array, or of a column without entries."""
    if not columns:
        return [rows, 1, 0, 0]
    starts = [rows * k for k in range(columns + 1)]
    return [rows, columns, *starts, *(list(range(rows)) * columns)]


def _braced(values: Sequence[Any]) -> str:
    return "{" + ", ".join(map(repr, values)) + "}"


def _quoted(text: str) -> str:
    return f'"{text}"'
