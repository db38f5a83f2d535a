"""The model that the node uses: loaded, checked against ``robot_description``, generated anew when asked."""

import hashlib
import subprocess
import threading
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from platformdirs import user_cache_path

from kane_dynamics_ros import __version__
from kane_dynamics_ros.description import Chain, DescriptionError, check_origin, parse_robot
from kane_dynamics_ros.description.geometry import about_origin
from kane_dynamics_ros.errors import KaneDynamicsError
from kane_dynamics_ros.runtime import CONTROL, Backend, DynamicsModel, load_model
from kane_dynamics_ros.runtime.node_parameters import Values
from kane_dynamics_ros.text import shortened
from kane_dynamics_ros.this_python import module_command

ROUNDING = 1e-9  # relative; parameters pass through text and sums
PER_BODY = ("mass", *("first moment",) * 3, *("inertia",) * 6)
GENERATION_TIMEOUT = 60.0  # [s]


class ModelCheckError(KaneDynamicsError):
    """The model and robot_description do not go together.

    Codes: ``stale`` (another robot, or another state of it: ``differences``), ``foreign`` (a link or joint of
    the model's is missing), ``not_urdf``, ``not_received``, ``generation`` (no fresh model could be made),
    and ``fault``, one of this package, with its traceback in ``details``.
    """

    differences: tuple[str, ...] = ()
    details = ""


class DescriptionCheck:
    """The newest description, and the outcome of comparing it with a model that is in use."""

    def __init__(self) -> None:
        self.text: str | None = None
        self._outcome: list[DynamicsModel | KaneDynamicsError] = []

    def load_model(self, values: Values) -> DynamicsModel:
        """The model, checked as far as ``description_check`` wants it. Raises ``KaneDynamicsError``."""
        check = values["description_check"]
        if check == "required" and self.text is None:
            raise ModelCheckError(
                "no robot_description has come yet; start robot_state_publisher, or set description_check to "
                "when_received or off. It is a topic, not a parameter of this node",
                "not_received",
            )
        description = None if check == "off" else self.text
        generate, cache = values["generate_when_stale"], values["model_cache"]
        return checked_model(values["model"], description, generate, cache, values["backend"])

    def begin(self, values: Values) -> None:
        """Compare in the background: reading a robot takes longer than a command may wait."""
        outcome = self._outcome = []  # what an older comparison finds does not count any more
        thread = threading.Thread(target=self._compare, args=(values, outcome), daemon=True)
        thread.start()

    def outcome(self) -> DynamicsModel | KaneDynamicsError | None:
        """What the comparison that was begun last has found, once; None while there is nothing new."""
        return self._outcome.pop() if self._outcome else None

    def _compare(self, values: Values, outcome: list[Any]) -> None:
        try:
            outcome.append(self.load_model(values))
        except KaneDynamicsError as error:
            outcome.append(error)
        except Exception as error:  # an unchecked model must not go on
            what = f"{type(error).__name__}: {error}"
            why = f"the model could not be compared with it: {what}; please report this"
            details = "".join(traceback.format_exception(error))
            outcome.append(ModelCheckError(why, "fault", details=details))


def checked_model(
    name: str, description: str | None, generate: bool, cache: str, backend: Backend = "auto"
) -> DynamicsModel:
    """The model of that path or name, or a fresh one where it is stale and ``generate`` allows that.

    ``description`` is the URDF's text; None leaves the check out. Raises ``KaneDynamicsError``.
    """
    model = load_model(name, backend=backend, ready=CONTROL)
    if description is None:
        return model
    if "<" not in description:
        raise ModelCheckError(
            f"robot_description is {shortened(description, 80)}, which is no URDF: the text must be "
            "there, not the path of a file",
            "not_urdf",
        )
    try:
        check_model(model, description)
    except ModelCheckError as error:
        if not generate or error.code != "stale":
            raise
        folder = Path(cache).expanduser() if cache else user_cache_path("kane_dynamics_ros")
        model = load_model(_generated(model, description, folder), backend=backend, ready=CONTROL)
        check_model(model, description)
    return model


# Whether a model was generated from a robot, and what differs if not


def check_model(model: DynamicsModel, description: str) -> None:
    """Compare physics hashes. Raises ``ModelCheckError``, ``DescriptionError``.

    ``model`` is as it was loaded, its parameters not changed.
    """
    robot = parse_robot(description, "robot_description")
    try:
        origin = check_origin(model, robot)
    except DescriptionError as error:
        if error.code != "KD601":  # not the model's root, tip or a joint that it locks
            raise
        raise ModelCheckError(
            f"model {model.name!r} was generated from another robot than this robot_description: {error}; "
            "give the model of this robot (kane_dynamics generate writes one)",
            "foreign",
        ) from error
    if not origin.matches:
        ours, theirs = model.joint_names, origin.chain.coordinates
        if ours == theirs:
            elsewhere = "the placement or axis of a joint, the tip's frame, or a mimic differs"
            differences = tuple(_differences(model, origin.chain)) or (elsewhere,)
        else:
            another = "it is a model of another robot: " if set(ours).isdisjoint(theirs) else ""
            names = f"its joints are {', '.join(ours)}, the description's {', '.join(theirs)}"
            differences = (another + names,)
        raise ModelCheckError(
            f"model {model.name!r} was not generated from this robot_description: {'; '.join(differences)}; "
            "generate it again (kane_dynamics generate), or set generate_when_stale to true",
            "stale",
            differences=differences,
        )


def _differences(model: DynamicsModel, chain: Chain) -> Iterator[str]:
    """What differs of joints with the same names, and of their bodies; one phrase each."""
    described = {
        "kind": [joint.kind for joint in chain.leaders],
        "damping": chain.damping,
        "friction": chain.friction,
        "rotor_inertia": chain.rotor_inertia,
    }
    for what, values in described.items():
        for info, theirs in zip(model.joints, values, strict=True):
            ours = getattr(info, what)
            if ours != theirs:
                yield f"{what.replace('_', ' ')} of joint {info.name!r} is {ours}, the description's {theirs}"
    rows = model.inertial_parameters.reshape(-1, len(PER_BODY))
    for joint, row in zip(chain.joints, rows, strict=False):
        described_row = np.array(about_origin(joint.inertia))
        scale = max(np.abs(row).max(), np.abs(described_row).max())
        for what, a, b in zip(PER_BODY, row, described_row, strict=True):
            if abs(a - b) > ROUNDING * scale:
                yield f"{what} of body {joint.body!r} is {a:g}, the description's {b:g}"
                break


# Generating a fresh one


def _generated(model: DynamicsModel, description: str, cache: Path) -> Path:
    """A module for ``description`` with the model's root, tip and locks, from the cache if it is there.

    Runs ``kane_dynamics generate`` as a process of its own, so that SymPy never enters this one.
    """
    of = __version__, description, model.root, model.tips, model.locked, _inertial(model)
    digest = hashlib.sha256(repr(of).encode()).hexdigest()[:16]
    folder = cache / digest
    module = folder / f"{model.name}.py"
    if module.is_file():
        return module
    try:
        folder.mkdir(parents=True, exist_ok=True)
        urdf = folder / "robot_description.urdf"
        urdf.write_text(description, encoding="utf-8")
    except OSError as error:
        why = f"{error.filename}: {error.strerror}; set model_cache to a folder to write in"
        raise _not_generated(why) from None
    words = ["--inertial", _inertial(model), "--root", model.root, "--name", model.name, "-o", str(folder)]
    words += [word for tip in model.tips for word in ("--tip", tip)]
    words += [word for joint, value in model.locked.items() for word in ("--lock", f"{joint}={value!r}")]
    command = module_command("kane_dynamics_ros", "generate", str(urdf), *words)
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=GENERATION_TIMEOUT)
    except subprocess.TimeoutExpired:
        raise _not_generated(f"it took more than {GENERATION_TIMEOUT:g} s") from None
    if done.returncode:
        raise _not_generated((done.stderr.strip() or "no reason given").splitlines()[-1])
    return module


def _not_generated(why: str) -> ModelCheckError:
    return ModelCheckError(f"cannot generate a fresh model from robot_description: {why}", "generation")


def _inertial(model: DynamicsModel) -> str:
    """The option --inertial that the model was generated with."""
    return "fixed" if model.parameters.inertial is None else "runtime"
