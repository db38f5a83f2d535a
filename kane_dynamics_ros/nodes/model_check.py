"""Whether a model was generated from the robot that ``robot_description`` shows, and what differs if not."""

from collections.abc import Iterator, Sequence

import numpy as np

from kane_dynamics_ros.description import Chain, parse_robot, physics_hash, serial_chain
from kane_dynamics_ros.description.model import Inertia
from kane_dynamics_ros.errors import KaneDynamicsError
from kane_dynamics_ros.runtime.generated_model import GeneratedModel

ROUNDING = 1e-9  # relative; parameters pass through text and sums

PER_BODY = ("mass", *("first moment",) * 3, *("inertia",) * 6)


class StaleModelError(KaneDynamicsError):
    """The model and robot_description describe different robots."""

    def __init__(self, model: str, differences: Sequence[str]) -> None:
        self.differences = tuple(differences)
        super().__init__(
            f"model {model!r} was not generated from this robot_description: {'; '.join(differences)}; "
            "generate it again (kane_dynamics generate), or set generate_when_stale to true"
        )


def check_model(model: GeneratedModel, description: str) -> None:
    """Compare physics hashes. Raises ``StaleModelError``, ``DescriptionError``.

    ``model`` is as it was loaded, its parameters not changed.
    """
    chain = serial_chain(parse_robot(description, "robot_description"), model.tip, lock=model.locked)
    if physics_hash(chain) != model.urdf_hash:
        raise StaleModelError(model.name, tuple(_differences(model, chain)))


def _differences(model: GeneratedModel, chain: Chain) -> Iterator[str]:
    """What differs, one phrase each; never empty."""
    if chain.coordinates != model.joint_names:
        ours, theirs = ", ".join(model.joint_names), ", ".join(chain.coordinates)
        yield f"its joints are {ours}, the description's {theirs}"
        return
    found = [*_joint_differences(model, chain), *_body_differences(model, chain)]
    yield from found or ["the placement or axis of a joint, the tip's frame, or a mimic differs"]


def _joint_differences(model: GeneratedModel, chain: Chain) -> Iterator[str]:
    kinds = {joint.name: joint.kind for joint in chain.joints}
    described = {
        "kind": [kinds[name] for name in chain.coordinates],
        "damping": chain.damping,
        "friction": chain.friction,
        "rotor_inertia": chain.rotor_inertia,
    }
    for what, values in described.items():
        for info, theirs in zip(model.joints, values, strict=True):
            ours = getattr(info, what)
            if ours != theirs:
                yield f"{what.replace('_', ' ')} of joint {info.name!r} is {ours}, the description's {theirs}"


def _body_differences(model: GeneratedModel, chain: Chain) -> Iterator[str]:
    ours = model.inertial_parameters.reshape(-1, len(PER_BODY))
    for joint, row in zip(chain.joints, ours, strict=False):
        theirs = _about_link_origin(joint.inertia)
        scale = max(np.abs(row).max(), np.abs(theirs).max())
        for what, a, b in zip(PER_BODY, row, theirs, strict=True):
            if abs(a - b) > ROUNDING * scale:
                yield f"{what} of body {joint.body!r} is {a:g}, the description's {b:g}"
                break


def _about_link_origin(inertia: Inertia) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """m, h = m c, and J = J_cm + m (c^2 1 - c c^T): xx, xy, xz, yy, yz, zz about the link frame's origin."""
    c = np.array(inertia.com)
    J = np.array(inertia.tensor) + inertia.mass * (c @ c * np.eye(3) - np.outer(c, c))
    return np.array([inertia.mass, *(inertia.mass * c), *J[np.triu_indices(3)]])
