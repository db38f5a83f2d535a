"""Write elastic/generated/beam_elements.py again: ``python -m kane_dynamics_ros.elastic.derivation``."""

from pathlib import Path

import kane_dynamics_ros.elastic.generated
from kane_dynamics_ros.elastic.derivation.emit import module_text

if __name__ == "__main__":
    directory = Path(next(iter(kane_dynamics_ros.elastic.generated.__path__)))
    (directory / "beam_elements.py").write_text(module_text(), encoding="utf-8")
