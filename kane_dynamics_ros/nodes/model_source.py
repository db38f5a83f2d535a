"""The model that the node uses: loaded, checked against ``robot_description``, made afresh when asked."""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

from kane_dynamics_ros.errors import KaneDynamicsError
from kane_dynamics_ros.runtime import load_model
from kane_dynamics_ros.runtime.generated_model import GeneratedModel

LONGEST_GENERATION = 60.0  # [s]


class GenerationError(KaneDynamicsError):
    """A fresh model was asked for and could not be made."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"cannot generate a fresh model from robot_description: {reason}")


def checked_model(name: str, description: str | None, generate: bool, cache: str) -> GeneratedModel:
    """The model of that path or name, or a fresh one where it is stale and ``generate`` allows that.

    ``description`` is the URDF's text; None leaves the check out. Raises ``KaneDynamicsError``.
    """
    model = load_model(name)
    if description is None:
        return model
    from kane_dynamics_ros.nodes.model_check import (
        StaleModelError,
        check_model,
    )  # reads XML: not at every start

    try:
        check_model(model, description)
    except StaleModelError:
        if not generate:
            raise
        model = load_model(_generated(model, description, _cache_folder(cache)))
        check_model(model, description)
    return model


def _generated(model: GeneratedModel, description: str, cache: Path) -> Path:
    """A module for ``description`` with the model's tip and locked joints, from the cache if it is there.

    Runs ``kane_dynamics generate`` as a process of its own, so that SymPy never enters this one.
    """
    digest = hashlib.sha256(repr((description, model.tip, model.locked)).encode()).hexdigest()[:16]
    folder = cache / digest
    module = folder / f"{model.name}.py"
    if module.is_file():
        return module
    try:
        folder.mkdir(parents=True, exist_ok=True)
        urdf = folder / "robot_description.urdf"
        urdf.write_text(description, encoding="utf-8")
    except OSError as error:
        raise GenerationError(
            f"{error.filename}: {error.strerror}; set model_cache to a folder to write in"
        ) from None
    _run_generate(urdf, model, folder)
    return module


def _run_generate(urdf: Path, model: GeneratedModel, folder: Path) -> None:
    locks = [word for joint, value in model.locked.items() for word in ("--lock", f"{joint}={value!r}")]
    command = [sys.executable, "-m", "kane_dynamics_ros", "generate", str(urdf), "--tip", model.tip]
    command += [*locks, "--name", model.name, "-o", str(folder)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST_GENERATION)
    except subprocess.TimeoutExpired:
        raise GenerationError(f"it took more than {LONGEST_GENERATION:g} s") from None
    if done.returncode:
        raise GenerationError(
            done.stderr.strip().splitlines()[-1] if done.stderr.strip() else "no reason given"
        )


def _cache_folder(asked: str) -> Path:
    if asked:
        return Path(asked).expanduser()
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "kane_dynamics_ros"
