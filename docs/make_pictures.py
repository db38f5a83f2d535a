"""Make the pictures of the README and the docs from a run of the demonstration.

    kane_dynamics demo --output demo_output && python docs/make_pictures.py demo_output

Needs Chromium, playwright and Pillow.
"""

import io
import shutil
import sys
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, sync_playwright

IMAGES = Path(__file__).parent / "images"
BROWSER = shutil.which("chromium") or shutil.which("google-chrome")
OPTIONS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--enable-unsafe-swiftshader"]
SIZE = {"width": 1000, "height": 600}  # [pixel]
FRAMES_PER_SECOND = 10
COLOURS = 96


def screenshots(page: Page) -> list[Image.Image]:
    """The page at even times of the motion."""
    duration = page.evaluate("Number(document.getElementById('time').max)")
    images = []
    for frame in range(int(duration * FRAMES_PER_SECOND)):
        page.evaluate(f"viewer.seek({frame / FRAMES_PER_SECOND})")
        images.append(Image.open(io.BytesIO(page.screenshot())).convert("RGB"))
    return images


def write_moving_picture(view: Path, target: Path) -> None:
    """The page of ``kane_dynamics view`` as a moving picture."""
    with sync_playwright() as session:
        browser = session.chromium.launch(executable_path=BROWSER, args=OPTIONS)
        page = browser.new_page(viewport=SIZE)
        page.goto(view.resolve().as_uri())
        images = screenshots(page)
        browser.close()
    palette = images[len(images) // 2].quantize(COLOURS)  # one for all frames: no flicker, small differences
    first, *others = (image.quantize(palette=palette, dither=Image.Dither.NONE) for image in images)
    period = 1000 // FRAMES_PER_SECOND  # [ms]
    first.save(target, save_all=True, append_images=others, duration=period, loop=0, optimize=True)


def main(demo: Path) -> None:
    IMAGES.mkdir(exist_ok=True)
    for name in ("error.png", "position.png", "torque.png"):
        shutil.copy(demo / name, IMAGES / f"demo_{name}")
    write_moving_picture(demo / "pd_alone" / "view.html", IMAGES / "demo_view.gif")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
