"""``robot_description``, and whether the model was generated from it, without holding up the commands."""

import threading
from typing import Any

from kane_dynamics_ros.errors import KaneDynamicsError
from kane_dynamics_ros.nodes.feedforward_settings import Values
from kane_dynamics_ros.nodes.model_source import checked_model
from kane_dynamics_ros.runtime.generated_model import GeneratedModel


class NoDescriptionError(KaneDynamicsError):
    """The description is required and has not come."""

    def __init__(self) -> None:
        super().__init__(
            "no robot_description has come yet; start robot_state_publisher, or set description_check to "
            "when_received or off"
        )


class DescriptionCheck:
    """The newest description, and the outcome of comparing it with a model that is in use."""

    def __init__(self) -> None:
        self.text: str | None = None
        self._outcome: list[GeneratedModel | KaneDynamicsError] = []

    def load_model(self, values: Values) -> GeneratedModel:
        """The model, checked as far as ``description_check`` wants it. Raises ``KaneDynamicsError``."""
        check = values["description_check"]
        if check == "required" and self.text is None:
            raise NoDescriptionError
        description = None if check == "off" else self.text
        generate, cache = values["generate_when_stale"], values["model_cache"]
        return checked_model(values["model"], description, generate, cache)

    def begin(self, values: Values) -> None:
        """Compare in the background: reading a robot takes longer than a command may wait."""
        outcome = self._outcome = []  # what an older comparison finds does not count any more
        thread = threading.Thread(target=self._compare, args=(values, outcome), daemon=True)
        thread.start()

    def outcome(self) -> GeneratedModel | KaneDynamicsError | None:
        """What the comparison that was begun last has found, once; None while there is nothing new."""
        return self._outcome.pop() if self._outcome else None

    def _compare(self, values: Values, outcome: list[Any]) -> None:
        try:
            outcome.append(self.load_model(values))
        except KaneDynamicsError as error:
            outcome.append(error)
