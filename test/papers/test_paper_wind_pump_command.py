"""``kane_dynamics paper wind_pump``: figures written, numbers printed."""

import contextlib
import functools
import io
import re

import pytest

from kane_dynamics_ros.cli.main import main
from kane_dynamics_ros.papers import wind_pump_figures


@pytest.fixture(scope="module")
def ours(tmp_path_factory):
    """The folder that the command made and what it printed, for our own dimensions.

    What no dimension changes is counted and timed once for all runs of this file.
    """
    folder, said = tmp_path_factory.mktemp("paper") / "new folder", io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        for name in ("count_differentiations", "assembly_times"):
            patch.setattr(wind_pump_figures, name, functools.cache(getattr(wind_pump_figures, name)))
        with contextlib.redirect_stdout(said):
            assert main(["paper", "wind_pump", "--output", str(folder)]) == 0
        yield folder, said.getvalue()


def test_the_command_writes_the_figures_and_prints_table_1(ours):
    folder, printed = ours
    names = [
        "wind_pump_free_bodies.png",
        "wind_pump_frequencies.png",
        "wind_pump_liaison_forces.png",
        "wind_pump_mechanism.png",
    ]
    written = sorted(path.name for path in folder.iterdir())
    assert written == names
    assert all((folder / name).read_bytes().startswith(b"\x89PNG") for name in names)
    assert "  40      1920     1968          1000      820    80       80           1560" in printed
    assert "liaison forces over a turn at 140 rpm (dimensions: ours)" in printed
    assert "slide, coupled less rigid" in printed
    for kind in ("plane", "space"):
        assert re.search(rf"{kind} +Lagrange [\d.]+  Gibbs-Appell [\d.]+  Kane 1.00$", printed, re.MULTILINE)


@pytest.mark.parametrize(
    ("setting", "reason"),
    [
        (
            "zz=1",
            "names are l1, l2, f, g, psi, e, a1, a2, hg, xi, m1, J1, m2, J2, m3, J3, mD, k, x0, Fr, v_Fr",
        ),
        ("l2=long", "the value must be a finite number, as in l2=0.5"),
        ("l2=nan", "the value must be a finite number, as in l2=0.5"),
    ],
)
def test_other_dimensions_are_names_and_numbers(setting, reason, capsys):
    assert main(["paper", "wind_pump", "--set", setting]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: --set ")
    assert setting.partition("=")[0] in error
    assert error.endswith(f"{reason}\n")


@pytest.mark.parametrize("setting", ["m1=-1", "J3=-0.5", "mD=-3"])
def test_dimensions_that_no_mechanism_has_are_refused_before_anything_is_computed(setting, tmp_path, capsys):
    assert main(["paper", "wind_pump", "--set", setting, "--output", str(tmp_path)]) == 2
    assert capsys.readouterr().err.startswith(f"error: {setting}: the dimension must be finite")
    assert list(tmp_path.iterdir()) == []


def test_dimensions_change_the_motion(ours, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(wind_pump_figures, "hypothesis", lambda pump, lever, start: [])  # not compared
    assert main(["paper", "wind_pump", "--set", "m3=9", "--set", "l1=0.05", "--output", str(tmp_path)]) == 0
    assert capsys.readouterr().out.splitlines()[1] != ours[1].splitlines()[1]


def test_an_assessment_is_refused(capsys):
    assert main(["paper", "wind_pump", "--assessment"]) == 2
    assert capsys.readouterr().err == (
        "error: wind_pump has no assessment of its own: without --assessment it prints what it counts; "
        "write paper manipulator_5dof --assessment for table 3 of [Malvezzi2017]\n"
    )
