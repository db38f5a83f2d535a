"""``kane_dynamics identify`` as its users call it: files, exit codes, names, damage."""

import json
import re
import shlex
import shutil

import numpy as np
import pytest
import yaml
from planted_arm import JOINTS, MODEL, URDF, motion, planted, recorded, write

from kane_dynamics_ros.cli import identify as command
from kane_dynamics_ros.cli.main import main
from kane_dynamics_ros.description import load_robot, physics_hash, serial_chain
from kane_dynamics_ros.files import OutputFileError
from kane_dynamics_ros.identification import writing
from kane_dynamics_ros.replay.errors import BagError
from kane_dynamics_ros.runtime import load_model

nominal_model = command.nominal_model


@pytest.fixture(autouse=True)
def shipped_model(monkeypatch):
    """The URDF's equations are there already: spares their generation and a compiler's run."""
    monkeypatch.setattr(command, "nominal_model", lambda chain, gravity, folder: MODEL)


def run(*words):
    return main(["identify", *map(str, words), "--urdf", str(URDF), "--no-compile", "--jobs", "1"])


@pytest.fixture(scope="module")
def bag(tmp_path_factory):
    return recorded(tmp_path_factory.mktemp("bag") / "bag", planted(20), 30.0)[0]


@pytest.fixture(scope="module")
def output(bag, tmp_path_factory):
    """Everything that one run writes."""
    folder = tmp_path_factory.mktemp("output")
    patch = pytest.MonkeyPatch()
    patch.setattr(command, "nominal_model", lambda chain, gravity, folder: MODEL)
    assert run(bag, "-o", folder, "--max-residual", "0.01") == 0
    patch.undo()
    return folder


def test_the_urdf_differs_in_numbers_of_inertials_and_dynamics_alone(output):
    text, original = (output / "manipulator_5dof.identified.urdf").read_text(), URDF.read_text()
    assert text != original
    places = re.compile(r"<(mass|inertia|origin|dynamics)\b[^>]*>")
    masked = [
        places.sub(lambda m: re.sub(r"-?\d+\.?\d*(e[-+]?\d+)?", "#", m.group()), t) for t in (text, original)
    ]
    assert masked[0] == masked[1]
    outside = re.compile(r"<inertial>.*?</inertial>|<dynamics[^>]*>", re.DOTALL)
    assert outside.sub("", text) == outside.sub("", original)


def test_inspect_finds_nothing_new_in_it(output, capsys):
    assert main(["inspect", str(output / "manipulator_5dof.identified.urdf"), "--json"]) == 0
    after = [f["code"] for f in json.loads(capsys.readouterr().out)["findings"] if f["severity"] != "info"]
    main(["inspect", str(URDF), "--json"])
    before = [f["code"] for f in json.loads(capsys.readouterr().out)["findings"] if f["severity"] != "info"]
    assert after == before


def test_the_module_is_generated_from_the_identified_urdf(output):
    model = load_model(output / "manipulator_5dof_identified.py", backend="python")
    chain = serial_chain(load_robot(str(output / "manipulator_5dof.identified.urdf")))
    assert model.urdf_hash == physics_hash(chain)
    data = json.loads((output / "identified.json").read_text())
    told = [p["value"] for body in data["bodies"] for p in body["parameters"]]
    np.testing.assert_allclose(model.inertial_parameters, told, atol=1e-6)


def test_the_parameters_are_the_nodes(output):
    pytest.importorskip("rclpy", reason="the node's table of parameters needs ROS 2")
    from kane_dynamics_ros.nodes.feedforward.parameters import TABLE

    content = yaml.safe_load((output / "parameters.yaml").read_text())["/**"]["ros__parameters"]
    flat = {}
    for key, value in content.items():
        flat.update({f"{key}.{k}": v for k, v in value.items()} if isinstance(value, dict) else {key: value})
    assert set(flat) <= {each.name for each in TABLE}
    assert not {each.name for each in TABLE if each.read_only} & set(
        flat
    )  # ros2 param load would refuse them
    assert len(flat["friction.viscous"]) == len(flat["friction.coulomb"]) == len(flat["rotor_inertia"]) == 5


def test_the_record_tells_before_and_after_on_data_that_were_not_fitted(output):
    data = json.loads((output / "identified.json").read_text())
    held = data["residual"]["held_out"]["relative"]
    assert held["identified"] < 0.1 * held["urdf"]
    assert data["seconds_fitted"] == pytest.approx(2 * data["seconds_held_out"], rel=0.2)
    assert all(base["error"] > 0 for base in data["base_parameters"])
    assert data["condition"] < 100
    page = (output / "report.html").read_text()
    assert page.count("<svg") == len(JOINTS)
    assert page.count("<use") < 100 * len(JOINTS)  # ticks have elements of their own, dots have not
    assert "http://" not in re.sub(r'xmlns(:\w+)?="[^"]*"|<!DOCTYPE[^>]*>', "", page).replace(
        "http://purl.org", ""
    ).replace("http://creativecommons.org", "")


def test_the_bound_on_the_held_out_residual_makes_exit_code_1(bag, tmp_path, capsys):
    assert run(bag, "-o", tmp_path, "--max-residual", "1e-6") == 1
    assert "exceeds --max-residual" in capsys.readouterr().err
    assert (tmp_path / "identified.json").exists()


def test_results_that_cannot_all_be_written_leave_the_earlier_ones(bag, output, tmp_path, monkeypatch):
    """A disk that is full at the last of them."""
    folder = tmp_path / "results"
    shutil.copytree(output, folder)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}

    def full(result, path):
        raise OutputFileError(f"{path}: no space left", path=path)

    monkeypatch.setattr(writing, "write_report", full)
    assert run(bag, "-o", folder, "--holdout", "0.4") == 2
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.parametrize(
    "name", ["parameters.yaml", "manipulator_5dof_identified.py", "manipulator_5dof_identified.c"]
)
def test_files_of_the_users_are_not_replaced(name, bag, tmp_path, capsys):
    """``-o config`` of a ROS package, say; told before anything is computed."""
    own = tmp_path / name
    own.write_text("mine")
    assert run(bag, "-o", tmp_path) == 2
    assert capsys.readouterr().err.startswith(f"error: {own}: is there already")
    assert list(tmp_path.iterdir()) == [own]
    assert own.read_text() == "mine"


def test_bags_to_validate_are_only_judged_by_the_command_that_is_printed_too(bag, tmp_path, capsys):
    other, _ = recorded(tmp_path / "other", planted(20), 20.0, seed=5)
    assert run(bag, "--validate", other, "-o", tmp_path / "out", "--holdout", "1/3") == 0
    data = json.loads((tmp_path / "out" / "identified.json").read_text())
    assert [each["used"] for each in data["bags"]] == ["fitted", "judged"]
    assert data["seconds_fitted"] > 25
    assert data["residual"]["held_out"]["relative"]["identified"] < 0.01
    _, _, next_command = capsys.readouterr().out.splitlines()[-1].partition(": kane_dynamics ")
    assert str(other) in next_command
    assert main([*shlex.split(next_command), "--max-nrmse", "0.01"]) == 0


@pytest.mark.parametrize(
    ("first", "last", "options"),
    [(1, 5, ["--root"]), (1, 4, ["--root", "--tip"])],
    ids=["without the base's joint", "without those at both ends"],
)
def test_the_part_of_the_robot_that_was_recorded_is_proposed_and_then_taken(
    first, last, options, tmp_path, capsys, monkeypatch
):
    q, qd, qdd = motion(20.0, 250.0, 7)
    tau = planted(21).effort(q, qd, qdd)
    kept = slice(first, last)
    bag = write(tmp_path / "bag", q[:, kept], qd[:, kept], tau[:, kept], 250.0, JOINTS[kept])
    assert run(bag, "-o", tmp_path / "out") == 2
    said = capsys.readouterr().err
    words = said[said.index("give --root ") + len("give ") :].replace(",", "").split()
    assert words[: 2 * len(options) : 2] == options
    read = []

    def noted(model, *others):
        read.append(model)
        raise BagError("far enough", "damaged")

    monkeypatch.setattr(command, "read", noted)
    monkeypatch.setattr(command, "nominal_model", nominal_model)
    run(bag, "-o", tmp_path / "out", *words[: 2 * len(options)])
    assert read[0].joint_names == tuple(JOINTS[kept])


@pytest.mark.parametrize(
    ("names", "option"),
    [
        ([f"left_{joint}" for joint in JOINTS], "left_*=*"),
        ([f"{joint}_actuator" for joint in JOINTS], "*_actuator=*"),
    ],
)
def test_other_names_are_proposed_and_then_taken(names, option, tmp_path, capsys):
    q, qd, qdd = motion(20.0, 250.0, 7)
    bag = write(tmp_path / "bag", q, qd, planted(21).effort(q, qd, qdd), 250.0, names)
    assert run(bag, "-o", tmp_path / "out") == 2
    assert f"--rename '{option}'" in capsys.readouterr().err
    assert run(bag, "-o", tmp_path / "out", "--rename", option) == 0


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda tau: np.full_like(tau, np.nan), "no effort of joint"),
        (np.zeros_like, "nothing can be identified"),
        (lambda tau: tau[:100], "longest interval"),
    ],
)
def test_bags_that_cannot_be_used_make_exit_code_2(change, says, tmp_path, capsys):
    q, qd, qdd = motion(20.0, 250.0, 7)
    tau = change(planted(22).effort(q, qd, qdd))
    assert run(write(tmp_path / "bag", q[: len(tau)], None, tau, 250.0), "-o", tmp_path) == 2
    assert says in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [
        ["--holdout", "2"],
        ["--effort-scale", "elbow=3"],
        ["--payload", "nowhere=2"],
        ["--max-residual", "-1"],
        ["--rename", "a"],
        ["--total-mass", "none"],
    ],
)
def test_options_without_sense_make_exit_code_2(words, bag, tmp_path, capsys):
    assert run(bag, "-o", tmp_path, *words) == 2
    assert words[0] in capsys.readouterr().err


def test_efforts_in_other_units_are_doubted_and_scaled(tmp_path, capsys):
    q, qd, qdd = motion(40.0, 250.0, 8)
    tau = planted(23).effort(q, qd, qdd)
    bag = write(tmp_path / "bag", q, qd, tau / 12.0, 250.0)
    assert run(bag, "-o", tmp_path / "out") == 1
    assert "--effort-scale" in capsys.readouterr().out
    assert run(bag, "-o", tmp_path / "out", "--effort-scale", "12") == 0
    assert "--effort-scale" not in capsys.readouterr().out


def test_without_the_solver_it_says_how_to_get_it(bag, tmp_path, capsys, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "clarabel", None)
    assert run(bag, "-o", tmp_path) == 2
    assert "pip install '.[identify]'" in capsys.readouterr().err
