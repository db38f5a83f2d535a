"""CasADi ``Function``s of a generated module: its compiled code, with its own Jacobians.

CasADi loads a shared library by its external interface: for a function F the library has F, its sparsities
and jac_F. casadi-template.c writes these around the functions of NAME.c.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from kane_dynamics_ros.runtime.compilation import surrounded_library
from kane_dynamics_ros.runtime.load import run
from kane_dynamics_ros.runtime.model import DynamicsModel, default_parameters
from kane_dynamics_ros.runtime.parameters import packed, wrong_parameter

if TYPE_CHECKING:
    import casadi

FUNCTIONS = ("inverse_dynamics", "forward_dynamics", "bias", "gravity", "tip_position")
TEMPLATE = Path(__file__).with_name("casadi-template.c")


def casadi_functions(model: DynamicsModel) -> "dict[str, casadi.Function]":
    """CasADi's functions of a model, at the model's parameters, friction included where it is on.

    ``inverse_dynamics`` (q, qd, qdd) -> tau, ``forward_dynamics`` (q, qd, tau) -> qdd, ``bias`` (q, qd) -> V,
    ``gravity`` (q) -> g and ``tip_position`` (q) -> p, the tip's origin in the root frame [m]; vectors (n,).
    First derivatives are exact and compiled; second ones are not there: have Ipopt approximate the Hessian
    (``{"hessian_approximation": "limited-memory"}``).

    Raises:
        CompileError: no C compiler, or its words; NAME.c is not the one that belongs to the loaded module.
        ImportError: CasADi is not installed (``pip install '.[casadi]'`` in the checkout).
    """
    import casadi

    module = model.source.module
    source, c_sha256 = module.path.with_suffix(".c"), module.facts["c_sha256"]
    library = str(surrounded_library(source, c_sha256, f"{model.name}_casadi", casadi_source(model)))
    return {name: casadi.external(f"{model.name}_casadi_{name}", library) for name in FUNCTIONS}


def casadi_source(model: DynamicsModel) -> str:
    """C text of the functions for CasADi; it is to be compiled with NAME.c, and NAME.h be found."""
    module, p = model.source.module, model.parameters
    if p.coupling:
        raise wrong_parameter("coupling", p.coupling, "none in functions for CasADi")
    with np.errstate(all="ignore"):  # one over a mass of 0
        prepared = run(module).prepare(np.array(packed(p)))
    lines = [
        f"#define KD_DEFAULTS {int(p == default_parameters(module.facts))}",
        f"#define KD_FRICTION {int(p.rub)}",
        f"enum {{ n = {len(model.joint_names)} }};",
        _array("kd_prepared", prepared),
    ]
    if p.rub:
        lines += [_array("kd_viscous", p.viscous), _array("kd_coulomb", p.coulomb)]
        lines += [f"static const double kd_velocity = {p.coulomb_velocity!r};"]
    text = TEMPLATE.read_text(encoding="utf-8")
    return text.replace("PARAMETERS", "\n".join(lines), 1).replace("NAME", model.name)


def _array(name: str, values: Sequence[float]) -> str:
    texts = (repr(float(value)).replace("inf", "HUGE_VAL") for value in values)
    return f"static const double {name}[] = {{{', '.join(texts)}}};"
