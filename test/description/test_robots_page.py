"""docs/robots.md lists every robot that there is, with figures that keep the promise."""

from pathlib import Path

from wild_chains import FILES

PAGE = Path(__file__).parents[2] / "docs" / "robots.md"


def rows():
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("| ")][
        1:
    ]


def test_every_robot_is_listed():
    listed = [name.split("/")[-1] for name, *_ in rows()]
    assert listed == [Path(file).stem for file in FILES]


def test_every_chain_agrees_to_1e_9_or_is_refused_with_a_code():
    for name, chains, _, _, *agreement, _ in rows():
        assert all(float(figure) < 1e-9 for figure in agreement if figure), name
        assert any(agreement) or "refused: KD" in chains, name
