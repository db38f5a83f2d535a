"""``kane_dynamics paper wind_pump``: figures written, numbers printed."""

from kane_dynamics_ros.cli.main import main


def test_the_command_writes_the_figures_and_prints_table_1(tmp_path, capsys):
    assert main(["paper", "wind_pump", "--output", str(tmp_path / "new folder")]) == 0
    printed = capsys.readouterr().out
    names = [
        "wind_pump_frequencies.png",
        "wind_pump_liaison_forces.png",
        "wind_pump_mechanism.png",
    ]
    written = sorted(path.name for path in (tmp_path / "new folder").iterdir())
    assert written == names
    assert all((tmp_path / "new folder" / name).read_bytes().startswith(b"\x89PNG") for name in names)
    assert "  40      1920     1968          1000      820    80       80           1560" in printed
    assert "liaison forces over a turn at 140 rpm (dimensions: ours)" in printed


def test_an_assessment_is_refused(capsys):
    assert main(["paper", "wind_pump", "--assessment"]) == 2
    assert capsys.readouterr().err == (
        "error: wind_pump has no assessment of its own: without --assessment it counts table 1; "
        "write paper manipulator_5dof --assessment for table 3 of [Malvezzi2017]\n"
    )
