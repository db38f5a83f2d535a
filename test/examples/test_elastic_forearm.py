"""The example of the elastic forearm: it runs, and its table says what docs/elastic.md says."""

import re
import subprocess
import sys
from pathlib import Path

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "elastic_forearm" / "elastic_forearm.py"


def test_sag_compensation_removes_the_static_error_and_leaves_the_vibration(tmp_path: Path) -> None:
    """Columns: largest error in the move, at rest, vibration [mm]. The forearm's sag under its own weight and
    the wrist's is 2.3 mm by the closed form m g L^3 / 8 EI + F L^3 / 3 EI, lying level.
    """
    run = subprocess.run(
        [sys.executable, EXAMPLE, "--output", tmp_path],
        capture_output=True,
        text=True,
        timeout=110,
        check=True,
    )
    rows = {
        name.strip(): [float(value) for value in re.findall(r"([\d.]+) mm", rest)]
        for name, rest in re.findall(r"^([^\d\n]+?)((?: +[\d.]+ mm){3})$", run.stdout, re.MULTILINE)
    }
    rigid, elastic, compensated = rows.values()
    assert list(rows) == ["rigid arm", "elastic forearm", "elastic, sag compensated"]
    assert rigid[1] < 0.1
    assert 1.5 < elastic[1] < 3.0
    assert compensated[1] < 0.1 * elastic[1]
    assert elastic[0] > 4 * rigid[0]
    assert abs(compensated[2] - elastic[2]) < 0.2 * elastic[2]
    assert (tmp_path / "elastic_forearm.png").read_bytes().startswith(b"\x89PNG")
