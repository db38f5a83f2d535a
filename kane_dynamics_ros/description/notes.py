"""Where the reader writes down what it noticed."""

from dataclasses import dataclass, field

from kane_dynamics_ros.description.codes import CODES
from kane_dynamics_ros.description.errors import Place
from kane_dynamics_ros.description.model import Finding


@dataclass
class Notes:
    """Findings in the order in which they were made; ``source`` is the file that they are about."""

    source: str | None = None
    findings: list[Finding] = field(default_factory=list)

    def place(self, line: int | None, element: str | None) -> Place:
        """A place in this file."""
        return Place(self.source, line, element)

    def add(self, code: str, message: str, line: int | None = None, element: str | None = None) -> None:
        """Note one thing; its severity is the code's."""
        self.findings.append(Finding(code, CODES[code].severity, message, self.source, line, element))
