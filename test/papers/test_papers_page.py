"""docs/papers.md: complete, and every row's test fails when the row's code is wrong."""

import json
import random
import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest
import sympy
from mutate_rows import exchanges
from right_equations import hussain_torques, malvezzi_bias

ROOT = Path(__file__).resolve().parents[2]  # the checkout: docs and tests are not installed
PAGE = (ROOT / "docs" / "papers.md").read_text(encoding="utf-8")
HERE = ROOT / "test" / "papers"
PAPERS = ("Hussain2016", "Malvezzi2017", "WindPump")
HEADS = {"item", "grade", "method", "Lagrange", "Gibbs-Appell", "Kane"}  # of other tables with five columns
NO_CODE = ("none: literature", "none: a photograph")


def section(title: str) -> str:
    start = PAGE.index(f"## [{title}]")
    end = PAGE.find("\n## ", start + 1)
    return PAGE[start : None if end < 0 else end]


def rows(title: str) -> list[list[str]]:
    """The cells of the section's table of items; "the same" is replaced by the cell above."""
    lines = [line for line in section(title).splitlines() if line.startswith("| ")]
    cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]
    found = [row for row in cells if len(row) == 5 and row[0] not in HEADS]
    for before, row in pairwise(found):
        row[2] = before[2] if row[2] == "the same" else row[2]
    return found


def numbers(title: str, prefix: str = "") -> set[int]:
    """The equations with this prefix that the rows' first cells name, ranges spread."""
    found: set[int] = set()
    for first, *_ in rows(title):
        for part in first.split(", "):
            ends = [int(number) for number in re.findall(rf"\({prefix}(\d+)\)", part)]
            found |= set(range(ends[0], ends[-1] + 1)) if ends else set()
    return found


# What holds with either sign, and in any order: equations that say "= 0", a basis, a table of counts, a
# picture; and a row that checks such an equation
SIGNLESS = (
    *("constraints", "maggi_system", "complement", "MaggiSystem.equations", "lever_body"),
    *("count_differentiations", "Differentiator.by_vector", "draw_mechanism", "assess"),
    "test_paper_wind_pump.py::test_eq_A46_the_liaison_forces_do_no_work_once_the_signs_are_mended",
)

# Exchanges that change nothing: the order of a sum or of lines in a picture, a symmetric or diagonal matrix,
# an equation's two sides; and the sides of a picture
SAME = {
    ("constraints", "value - symbol"),
    ("lagrangian", "((chi_3, J_x3, J_y3, J_z3), (alpha_2, J_x2, J_y2, J_z2))"),
    ("residuals", "[(q_d, q_dd), (q, q_d)]"),
    ("assess", "larger_parts.keys() & parts.keys()"),
    ("close_loop", "h - l2"),
    ("lever_body", '(1, 0, lever.elements * DOFS["plane"] + 1)'),
    ("lever_body", '(0, lever.elements * DOFS["plane"] + 1, 1)'),
    ("driven", "motion.accelerations(second) @ mass_matrix(pump) - external_forces(pump, state, torque)"),
    ("driven", "1, 0"),
    ("draw_mechanism", "(4.9, 8)"),
    ("draw_mechanism", '(("B", at.B), ("A", at.A), ("C", at.C), ("C\'", at.C_prime), ("D", at.D))'),
    ("draw_mechanism", '(("A", at.A), ("C", at.C), ("B", at.B), ("C\'", at.C_prime), ("D", at.D))'),
    ("draw_mechanism", '(("A", at.A), ("B", at.B), ("C\'", at.C_prime), ("C", at.C), ("D", at.D))'),
    ("draw_mechanism", '(("A", at.A), ("B", at.B), ("C", at.C), ("D", at.D), ("C\'", at.C_prime))'),
}


def mutations() -> dict[tuple[str, str, str], list[tuple[str, str, str, str]]]:
    """By (file, name, test) of every row whose code is a function, the same with each change of its results.

    Signs are turned where a paper's own code returns something that has any. The test may be a whole file.
    """
    found = {}
    for row in (row for title in PAPERS for row in rows(title)):
        path, *names = re.findall(r"`([^`]+)`", row[2]) or [""]
        for name in names:
            for test in re.findall(r"`(test_[^`]+)`", row[3]):
                own = path.startswith("papers/")
                kinds = ["size", *(["sign"] if own and not {name, test} & set(SIGNLESS) else [])]
                found[(path, name, test)] = [(path, name, test, kind) for kind in kinds]
    return found


def exchanges_of_rows() -> list[tuple[str, str, str, str]]:
    """(file, name, tests, change) of each exchange in a paper's own code, or in what it returns.

    One of the tests of all rows of a function, and of a class's methods, is to notice.
    """
    own = [row for row in mutations() if row[0].startswith("papers/")]
    found = []
    for path, name in dict.fromkeys(row[:2] for row in own):
        tests = " ".join(row[2] for row in own if row[0] == path and f"{row[1]}.".startswith(f"{name}."))
        if name not in SIGNLESS:
            found.append((path, name, tests, "swapped"))
        for number, (reads, _) in enumerate(exchanges(path, name)):
            if (name, reads) not in SAME:
                found.append((path, name, tests, f"exchanged {number}"))
    return found


@pytest.mark.parametrize(
    ("paper", "prefix", "last"),
    [("Hussain2016", "", 48), ("Malvezzi2017", "", 22), ("WindPump", "", 24), ("WindPump", "A", 46)],
)
def test_every_numbered_equation_has_a_row(paper, prefix, last):
    assert numbers(paper, prefix) == set(range(1, last + 1))


@pytest.mark.parametrize(
    ("paper", "items"),
    [
        ("Hussain2016", {"Table I", "Table II", "Fig. 1"}),
        ("Malvezzi2017", {"Table 1", "Table 2", "Table 3", "Fig. 1", "Fig. 2", "Fig. 3", "Fig. 4"}),
        ("WindPump", {"Table 1", "Fig. A1", *(f"Fig. {number}" for number in range(1, 7))}),
    ],
)
def test_every_table_and_figure_has_a_row(paper, items):
    assert items <= {item for row in rows(paper) for item in row[0].split(", ")}


@pytest.mark.parametrize("paper", PAPERS)
def test_every_row_names_code_and_a_test(paper):
    for row in rows(paper):
        files = re.findall(r"`([^`]+)`", row[2])
        assert row[2] in NO_CODE or files, row
        assert row[2] in NO_CODE or re.search(r"`test_\w+\.py(::\w+)?`", row[3]), row
        for file in files[:1]:
            folder = ROOT if file.startswith("urdf/") else ROOT / "kane_dynamics_ros"
            assert (folder / file).is_file(), row


def test_every_test_named_on_the_page_exists():
    for name in set(re.findall(r"`(test_\w+\.py(?:::\w+)?)`", PAGE)):
        file, _, function = name.partition("::")
        text = (HERE / file).read_text(encoding="utf-8")
        assert not function or f"def {function}(" in text, name


@pytest.mark.timeout(600)
def test_every_row_s_test_fails_when_the_row_s_code_is_wrong():
    """Each function is broken in turn, and each row's test runs, with one change that is drawn by a seed.

    ``python test/papers/mutate_rows.py`` makes them all, and says how.
    """
    draw = random.Random(0)
    asked = [draw.choice(kinds) for kinds in mutations().values()]
    assert len(asked) > 90
    asked += draw.sample(exchanges_of_rows(), 20)
    command = [sys.executable, str(HERE / "mutate_rows.py"), json.dumps(asked)]
    run = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert run.returncode == 0, run.stderr
    outcomes = json.loads(run.stdout)
    assert [one for one, said in zip(asked, outcomes, strict=True) if said != "failed"] == []


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


@pytest.mark.parametrize(("paper", "count"), [("Malvezzi2017", 3), ("WindPump", 4)])
def test_figures_on_the_page_exist(paper, count):
    figures = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", section(paper))
    assert len(figures) == count
    assert all((ROOT / "docs" / figure).is_file() for figure in figures)
