"""A report in headless Chromium. Run this file to write the picture of docs/replay.md again."""

import shutil
import subprocess
import tempfile
from pathlib import Path

from replay_bags import ROOT, write_bag
from simulated_arm import recorded

from kane_dynamics_ros.cli.main import main
from kane_dynamics_ros.runtime import Payload, load_model

PICTURE = ROOT / "docs" / "images" / "replay_report.png"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def browser() -> str | None:
    """The browser's executable, if there is one."""
    return next((found for name in BROWSERS if (found := shutil.which(name))), None)


def browse(page: Path, *options: str) -> "subprocess.CompletedProcess[str]":
    """Open a page without a window; ``options`` say what to do with it."""
    with tempfile.TemporaryDirectory() as profile:
        return subprocess.run(
            [
                str(browser()),
                *("--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr"),
                f"--user-data-dir={profile}",
                *options,
                page.absolute().as_uri(),
            ],
            capture_output=True,
            text=True,
            check=True,
            timeout=100,
        )


def write_report(folder: Path, payload: Payload) -> Path:
    """The report on the simulated arm with a payload and friction that the model does not know."""
    bag = write_bag(folder / "recorded_arm", recorded(load_model("manipulator_5dof"), payload))
    main(["replay", str(bag), "--model", "manipulator_5dof", "--report", str(folder / "report")])
    return folder / "report" / "report.html"


def write_picture() -> None:
    """Payload of 0.8 kg, the URDF's friction."""
    with tempfile.TemporaryDirectory() as folder:
        page = write_report(Path(folder), Payload(0.8, (0.0, 0.0, 0.05)))
        page.write_text(page.read_text().replace(f"{folder}/", ""))
        browse(page, f"--screenshot={PICTURE}", "--window-size=1120,2000", "--hide-scrollbars")


if __name__ == "__main__":
    write_picture()
