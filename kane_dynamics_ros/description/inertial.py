"""``<inertial>`` to an Inertia."""

from kane_dynamics_ros.description.attributes import Reader
from kane_dynamics_ros.description.geometry import rotated_tensor, symmetric
from kane_dynamics_ros.description.model import ZERO, Inertia, Matrix
from kane_dynamics_ros.description.origin import read_origin
from kane_dynamics_ros.description.physical import ROUNDING, failed_condition, principal_moments
from kane_dynamics_ros.description.value_errors import InertiaWithoutMassError, NegativeMassError


def read_inertial(link: Reader) -> Inertia | None:
    """The inertia of a link, expressed in its frame; None where it has no ``<inertial>`` (URDF: massless).

    A tensor that no body has is noted here, and refused where it moves. Raises ``NegativeMassError``,
    ``InertiaWithoutMassError``.
    """
    inertial = link.child("inertial")
    if inertial is None:
        return None
    mass_element, inertia_element = inertial.child("mass"), inertial.child("inertia")
    mass = 0.0 if mass_element is None else mass_element.number("value")
    if mass < 0.0:
        raise NegativeMassError((mass_element or inertial).place, mass)
    I_cm = (ZERO, ZERO, ZERO) if inertia_element is None else read_tensor(inertia_element)
    check_tensor(inertia_element or inertial, mass, I_cm)
    if mass == 0.0:
        return Inertia(0.0, ZERO, (ZERO, ZERO, ZERO))
    R_LI, p_LoLcm_L = read_origin(inertial)
    return Inertia(mass, p_LoLcm_L, rotated_tensor(R_LI, I_cm))


def read_tensor(inertia: Reader) -> Matrix:
    """The tensor about the centre of mass in inertial axes; ixy, ixz, iyz are its entries as written."""
    xx, yy, zz = (inertia.number(name) for name in ("ixx", "iyy", "izz"))
    xy, xz, yz = (inertia.number(name, default=0.0) for name in ("ixy", "ixz", "iyz"))
    return symmetric(xx, yy, zz, xy, xz, yz)


def check_tensor(inertia: Reader, mass: float, tensor: Matrix) -> None:
    """Raises ``InertiaWithoutMassError``; notes a tensor that no body has."""
    moments = principal_moments(tensor)
    if mass == 0.0 and max(abs(moment) for moment in moments) > ROUNDING:
        raise InertiaWithoutMassError(inertia.place, moments)
    failed = failed_condition(tensor)
    if failed:
        message = f"no body has this inertia: {failed}; refused only where it moves with the chain"
        inertia.notes.add("KD406", message, *inertia.place[1:])
