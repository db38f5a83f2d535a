"""docs/papers.md, third paper: complete, and every row points at code and at a test that exist."""

import re

from kane_dynamics_ros.share import share_directory

ROOT = share_directory()
PAGE = (ROOT / "docs" / "papers.md").read_text(encoding="utf-8")
SECTION = PAGE[PAGE.index("## [WindPump]") :]
HERE = ROOT / "test" / "elastic"


def rows():
    lines = [line for line in SECTION.splitlines() if line.startswith("| ")]
    cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]
    return [row for row in cells if len(row) == 5 and row[0] not in {"item", "method"} and "`" in row[2]]


def numbers(prefix):
    """The numbers of equations with this prefix in the first cells, ranges spread."""
    found = set()
    for first, *_ in rows():
        for part in first.split(", "):
            ends = [int(number) for number in re.findall(rf"\({prefix}(\d+)\)", part)]
            found |= set(range(ends[0], ends[-1] + 1)) if ends else set()
    return found


def test_every_numbered_equation_has_a_row():
    assert numbers("") == set(range(1, 25))
    assert numbers("A") == set(range(1, 47))


def test_every_table_and_figure_has_a_row():
    items = {
        item for row in SECTION.splitlines() if row.startswith("| ") for item in row.split("|")[1].split(", ")
    }
    wanted = {"Table 1", "Fig. A1", *(f"Fig. {number}" for number in range(1, 7))}
    assert wanted <= {item.strip() for item in items}


def test_every_test_named_exists():
    names = set(re.findall(r"`(test_\w+\.py)::(\w+)`", SECTION))
    assert len(names) > 30
    for file, function in names:
        assert f"def {function}(" in (HERE / file).read_text(encoding="utf-8"), (file, function)


def test_every_code_named_exists():
    for row in rows():
        path, *names = re.findall(r"`([^`]+)`", row[2])
        text = (ROOT / "kane_dynamics_ros" / path).read_text(encoding="utf-8")
        assert names, row
        for name in names:
            assert f"def {name}(" in text, (path, name)


def test_figures_on_the_page_exist():
    figures = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", SECTION)
    assert len(figures) == 3
    assert all((ROOT / "docs" / figure).is_file() for figure in figures)
