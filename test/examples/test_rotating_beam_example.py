"""The example of the rotating beam: it runs, and prints the published frequencies."""

import subprocess
import sys
from pathlib import Path

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "rotating_beam" / "rotating_beam.py"


def test_computed_frequencies_stand_beside_the_published_ones(tmp_path: Path) -> None:
    """They agree to the last printed digit but for one unit of rounding."""
    command = [sys.executable, EXAMPLE, "--output", tmp_path]
    run = subprocess.run(command, capture_output=True, text=True, timeout=110, check=True)
    rows = [line.split() for line in run.stdout.splitlines()[1:6]]
    assert [row[0] for row in rows] == ["0", "1", "2", "3", "4"]
    assert all(abs(float(computed) - float(published)) < 1.5e-4 for _, computed, published in rows)
    assert (tmp_path / "rotating_beam.png").read_bytes().startswith(b"\x89PNG")
