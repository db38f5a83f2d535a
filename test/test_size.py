"""The package stays small enough to be read: its hand-written lines and modules, by room."""

from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1] / "kane_dynamics_ros"

SINCE = ("systems", "packaging")  # rooms of new capabilities, which the budget does not know
MOST_LINES, MOST_MODULES = 44_517, 222  # the others: where they stand; to be lowered to 28,000 and 150


def sizes() -> dict[str, Counter[str]]:
    """Lines and modules of each room, generated code aside; the files of the top level are one room."""
    found: dict[str, Counter[str]] = {}
    for path in ROOT.rglob("*.py"):
        parts = path.relative_to(ROOT).parts
        if "generated" in parts:
            continue
        room = parts[0] if len(parts) > 1 else "top level"
        lines = len(path.read_text(encoding="utf-8").splitlines())
        found.setdefault(room, Counter()).update(lines=lines, modules=1)
    return found


def table() -> str:
    """The sizes, the largest room first."""
    found = sizes()
    total = sum(found.values(), Counter())
    rows = [*sorted(found.items(), key=lambda item: -item[1]["lines"]), ("all", total)]
    return "\n".join(f"{room:16}{size['lines']:7d} lines{size['modules']:5d} modules" for room, size in rows)


def test_the_package_keeps_its_budget_of_lines_and_modules():
    total = sum((size for room, size in sizes().items() if room not in SINCE), Counter())
    assert total["lines"] <= MOST_LINES, f"at most {MOST_LINES}:\n{table()}"
    assert total["modules"] <= MOST_MODULES, f"at most {MOST_MODULES}:\n{table()}"
