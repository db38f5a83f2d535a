"""docs/papers.md: complete, and every row points at code and at a test that exist."""

import re
from pathlib import Path

import pytest
import sympy
from right_equations import hussain_torques, malvezzi_bias

ROOT = Path(__file__).resolve().parents[2]  # the checkout: docs and tests are not installed
PAGE = (ROOT / "docs" / "papers.md").read_text(encoding="utf-8")
HERE = ROOT / "test" / "papers"


def section(title: str) -> str:
    start = PAGE.index(f"## [{title}]")
    end = PAGE.find("\n## ", start + 1)
    return PAGE[start : None if end < 0 else end]


def rows(title: str) -> list[list[str]]:
    """The cells of the section's first table."""
    lines = [line for line in section(title).splitlines() if line.startswith("| ")]
    cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]
    return [row for row in cells if len(row) == 5 and row[0] not in {"item", "grade"}]


def numbers(title: str) -> set[int]:
    """The equations that the rows' first cells name, ranges spread."""
    found: set[int] = set()
    for first, *_ in rows(title):
        for part in first.split(", "):
            ends = [int(number) for number in re.findall(r"\((\d+)\)", part)]
            found |= set(range(ends[0], ends[-1] + 1)) if ends else set()
    return found


@pytest.mark.parametrize(("paper", "last"), [("Hussain2016", 48), ("Malvezzi2017", 22)])
def test_every_numbered_equation_has_a_row(paper, last):
    assert numbers(paper) == set(range(1, last + 1))


@pytest.mark.parametrize(
    ("paper", "items"),
    [
        ("Hussain2016", {"Table I", "Table II", "Fig. 1"}),
        ("Malvezzi2017", {"Table 1", "Table 2", "Table 3", "Fig. 1", "Fig. 2", "Fig. 3", "Fig. 4"}),
    ],
)
def test_every_table_and_figure_has_a_row(paper, items):
    assert items <= {row[0] for row in rows(paper)}


def test_every_test_named_on_the_page_exists():
    for name in set(re.findall(r"`(test_(?:hussain|malvezzi)\w*\.py(?:::\w+)?)`", PAGE)):
        file, _, function = name.partition("::")
        text = (HERE / file).read_text(encoding="utf-8")
        assert not function or f"def {function}(" in text, name


@pytest.mark.parametrize("paper", ["Hussain2016", "Malvezzi2017"])
def test_every_row_names_code_that_exists(paper):
    for row in rows(paper):
        path, *names = re.findall(r"`([^`]+)`", row[2]) or ["urdf/three_link_chain.urdf"]
        file = ROOT / path if path.startswith("urdf/") else ROOT / "kane_dynamics_ros" / path
        if row[2] == "the same":
            continue
        text = file.read_text(encoding="utf-8") if row[2] != "none: literature" else ""
        for name in names:
            *_, last = name.split(".")
            assert f"def {last}(" in text, row


@pytest.mark.parametrize("paper", ["Hussain2016", "Malvezzi2017"])
def test_the_right_equations_on_the_page_are_the_engines(paper):
    quoted = re.search(r"```text\n(.*?)```", section(paper), re.DOTALL)[1]
    found = {}
    for equation in re.split(r"\n(?=\w+ = )", quoted):
        name, _, value = equation.partition(" = ")
        found[name] = sympy.sympify(value)
    expected = hussain_torques() if paper == "Hussain2016" else malvezzi_bias()
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        plain = {symbol: sympy.Symbol(str(symbol)) for symbol in value.free_symbols}  # without assumptions
        assert sympy.expand(found[name] - value.subs(plain)) == 0


def test_figures_on_the_page_exist():
    figures = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", section("Malvezzi2017"))
    assert len(figures) == 3
    assert all((ROOT / "docs" / figure).is_file() for figure in figures)
