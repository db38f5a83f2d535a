"""``kane_dynamics replay`` as its user meets it: table, exit codes, reports, many bags, bad input."""

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pinocchio
import pytest
import yaml
from replay_bags import JOINT_STATE, ROOT, STORE, URDF, effort, motion, pinocchio_arm, record, write_bag
from rosbags.highlevel import AnyReader

from kane_dynamics_ros.cli.arguments import report_folders
from kane_dynamics_ros.cli.main import main
from kane_dynamics_ros.runtime import load_model

RATE = 250.0
MODEL = load_model("manipulator_5dof")
Q, QD, QDD = (2.0 * values for values in motion(8.0, RATE, 5))
TAU = effort(pinocchio_arm(), Q, QD, QDD)
LACKING = TAU + np.array([0, 0, 0, 0.4, 0]) * np.tanh(QD / 0.01)  # friction at joint 4


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_bag(tmp_path_factory.mktemp("good") / "good", record(Q, QD, TAU, RATE, MODEL.joint_names))


@pytest.fixture(scope="module")
def lacking(tmp_path_factory: pytest.TempPathFactory) -> Path:
    taken = record(Q, QD, LACKING, RATE, MODEL.joint_names)
    return write_bag(tmp_path_factory.mktemp("lacking") / "lacking", taken)


def replay(*words: object) -> int:
    return main(["replay", *map(str, words), "--model", "manipulator_5dof"])


def test_report_folder_that_is_a_file_is_named(
    good: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    taken = tmp_path / "taken"
    taken.touch()
    assert replay(good, "--report", taken) == 2
    assert capsys.readouterr().err == (
        f"error: {good}: --report: {taken} is no folder; give another folder\n"
    )


def test_the_table_says_what_was_read_how_and_what_is_to_blame(
    lacking: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Field report 119, among others: it works on header stamps, and says so."""
    assert replay(lacking) == 0
    lines = capsys.readouterr().out.splitlines()
    assert re.fullmatch(
        rf"{re.escape(str(lacking))}: 2000 joint states on '/joint_states', read at [\d,]+ messages a second",
        lines[0],
    )
    assert lines[1] == (
        "7.8 s compared with model 'manipulator_5dof' at 250 Hz (recorded at 250 Hz), "
        "below a cut-off of 30 Hz"
    )
    assert lines[3].split() == ["joint", "RMSE", "bias", "NRMSE", "R^2", "worst", "at", "unit"]
    assert [line.split()[0] for line in lines[4:9]] == list(MODEL.joint_names)
    assert re.fullmatch(r"joint 'beta_4': Coulomb friction 0\.[34]\d* N m missing", lines[10])
    assert lines[11:] == [
        "note: the bag holds no robot_description; give --urdf FILE to check the model's origin",
        "note: times are header stamps; receive times serve only for the delay of the commands",
        "",
    ]


def test_a_body_at_the_tip_is_printed_as_the_parameters_that_account_for_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arm = pinocchio_arm()
    tip = arm.frames[arm.getFrameId("tool")].placement
    arm.inertias[5] += tip.act(pinocchio.Inertia(0.5, np.array([0.02, 0.0, 0.1]), np.zeros((3, 3))))
    bag = write_bag(tmp_path / "bag", record(Q, QD, effort(arm, Q, QD, QDD), RATE, MODEL.joint_names))
    assert replay(bag, "--max-nrmse", "0.01") == 1
    _, mark, rest = capsys.readouterr().out.partition("# ")
    parameters = tmp_path / "parameters.yaml"
    parameters.write_text(mark + rest)
    content = yaml.safe_load(parameters.read_text())["/**"]["ros__parameters"]["payload"]
    assert content["mass"] == pytest.approx(0.5, rel=0.02)
    np.testing.assert_allclose(content["com"], [0.02, 0.0, 0.1], atol=0.005)
    assert replay(bag, "--parameters", parameters, "--max-nrmse", "0.01") == 0  # friction is not switched on
    assert "payload:" not in capsys.readouterr().out


def test_limits_set_the_exit_code(good: Path, lacking: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert replay(good, "--max-nrmse", "0.01", "--max-rmse", "beta_4=0.01") == 0
    capsys.readouterr()
    assert replay(lacking, "--max-nrmse", "0.1") == 1
    assert re.search(
        r"^joint 'beta_4': NRMSE 0\.\d+ exceeds --max-nrmse 0\.1$", capsys.readouterr().out, re.MULTILINE
    )
    assert replay(lacking, "--max-rmse", "beta_4=0.2", "--max-rmse", "gamma_1=5") == 1
    assert re.search(
        r"^joint 'beta_4': RMSE 0\.\d+ N m exceeds --max-rmse 0\.2 N m$",
        capsys.readouterr().out,
        re.MULTILINE,
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ("--max-rmse", "elbow=1"),
            "error: unknown joint 'elbow'; the model's joints are 'gamma_1', 'alpha_2', 'alpha_3', 'beta_4', "
            "'gamma_4'\n",
        ),
        (
            ("--max-rmse", "beta_4"),
            "error: --max-rmse 'beta_4': found no name and number that can be used; "
            "write JOINT=VALUE, in N m or N\n",
        ),
        (
            ("--max-nrmse", "-1"),
            "error: --max-nrmse '-1': found no positive number; allowed is a part of the range: "
            "0.05 is 5 %\n",
        ),
        (
            ("--jobs", "0"),
            "error: --jobs '0': a whole number from 1 on is needed\n",
        ),
        (("--cutoff", "nan"), "error: --cutoff 'nan': found no positive number; allowed is Hz\n"),
    ],
)
def test_numbers_that_make_no_sense_are_refused(
    good: Path, words: tuple[str, str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert replay(good, f"{words[0]}={words[1]}") == 2
    assert capsys.readouterr().err == message


@pytest.mark.parametrize(
    ("bag_has", "file", "note"),
    [(False, URDF, f"note: the model was generated from {URDF}"), (False, ROOT / "nowhere.urdf", None)],
)
def test_a_urdf_file_stands_in_for_a_lost_description(
    good: Path, bag_has: bool, file: Path, note: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    """Field report 124."""
    assert replay(good, "--urdf", file) == 0
    out = capsys.readouterr().out
    if note is None:
        assert f"note: {file} could not be compared with the model: " in out
    else:
        assert note in out.splitlines()


def test_a_xacro_file_stands_in_with_its_arguments(
    good: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = URDF.read_text().replace('<mass value="3"/>', '<mass value="$(arg mass)"/>', 1)
    head, _, tail = text.partition("<robot ")
    name, _, body = tail.partition(">")
    namespace = 'xmlns:xacro="http://www.ros.org/wiki/xacro"'
    file, report = tmp_path / "arm.urdf.xacro", tmp_path / "report"
    declared = '<xacro:arg name="mass" default="4"/>'
    file.write_text(f"{head}<robot {namespace} {name}>{declared}{body}", encoding="utf-8")
    assert replay(good, "--urdf", file) == 0
    assert "--xacro" in capsys.readouterr().out
    assert replay(good, "--urdf", file, "--xacro", "mass=3", "--report", report) == 0
    assert f"the model was generated from {file}" in capsys.readouterr().out
    assert (report / "view.html").is_file()
    assert replay(good, "--xacro", "mass=3") == 2
    assert "--urdf" in capsys.readouterr().err


def test_a_model_of_another_robot_is_noticed(
    good: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "other.urdf"
    other.write_text(URDF.read_text().replace('<mass value="3"/>', '<mass value="3.1"/>'))
    assert replay(good, "--urdf", other) == 0
    assert re.search(
        rf"^note: the model was NOT generated from {re.escape(str(other))}: physics hash [0-9a-f]{{16}} "
        r"against [0-9a-f]{16}; generate it again, or judge with that in mind$",
        capsys.readouterr().out,
        re.MULTILINE,
    )


@pytest.fixture(scope="module")
def report(lacking: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report on the bag that lacks friction."""
    folder = tmp_path_factory.mktemp("reported") / "report"
    assert replay(lacking, "--report", folder) == 0
    return folder


def test_the_report_is_a_page_data_and_a_bag(report: Path) -> None:
    data = json.loads((report / "report.json").read_text())
    assert data["format"] == 2
    assert [joint["name"] for joint in data["joints"]] == list(MODEL.joint_names)
    assert data["joints"][3]["attributions"][0]["term"] == "Coulomb"
    assert data["processing"]["cutoff"] == 30.0
    page = (report / "report.html").read_text()
    assert page.count("<svg") == 5
    # self-contained: nothing is fetched; the addresses that stay are names of XML vocabularies
    assert not re.search(r"<(script|link|img|iframe)\b|url\(\s*['\"]?https?:|@import", page)


def test_the_predicted_bag_holds_the_originals_and_the_predictions(lacking: Path, report: Path) -> None:
    with AnyReader([lacking]) as before:
        originals = [(time, data) for _, time, data in before.messages()]
    with AnyReader([report / "predicted"], default_typestore=STORE) as after:
        assert [
            (time, data) for where, time, data in after.messages() if where.topic == "/joint_states"
        ] == originals
        topics = {where.topic for where in after.connections}
        predicted = [
            STORE.deserialize_cdr(data, JOINT_STATE)
            for where, _, data in after.messages()
            if where.topic == "/kane_dynamics/replay/predicted"
        ]
    names = ("measured", "predicted", "residual", "inertia", "coriolis", "gravity", "friction")
    assert topics == {"/joint_states", *(f"/kane_dynamics/replay/{name}" for name in names)}
    assert predicted[0].name == list(MODEL.joint_names)
    stamps = np.array(
        [message.header.stamp.sec * 10**9 + message.header.stamp.nanosec for message in predicted]
    )
    rows = np.searchsorted(record(Q, QD, TAU, RATE, MODEL.joint_names).stamps, stamps - 1)
    found = np.array([message.effort for message in predicted])
    # Pinocchio's torque at the same stamps, but for what the 30 Hz low-pass takes
    assert np.abs(found - TAU[rows]).max(axis=0) == pytest.approx(0, abs=2e-3 * np.abs(TAU).max())


def test_many_bags_on_all_cores_and_one_bad_one(
    good: Path, lacking: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = tmp_path / "bad.mcap"
    bad.write_bytes(b"\x89MCAP0\r\n")
    assert replay(good, bad, lacking, "--jobs", 2) == 2
    printed = capsys.readouterr()
    [error] = [line for line in printed.err.splitlines() if not line.startswith("judging")]
    assert error.startswith(f"error: {bad}: damaged: the file ends at byte 8")
    assert f"{good}: 2000 joint states" in printed.out
    assert f"{lacking}: 2000 joint states" in printed.out


def test_a_folder_of_bags_is_all_its_bags(
    good: Path, lacking: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "monday").mkdir()
    (tmp_path / "monday" / "one").symlink_to(good)
    (tmp_path / "two").symlink_to(lacking)
    (tmp_path / "notes").mkdir()
    assert replay(tmp_path, "--jobs", 1) == 0
    assert capsys.readouterr().out.count("2000 joint states") == 2


def test_a_cut_bag_is_judged_as_far_as_it_goes_and_fails(
    good: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    [file] = good.glob("*.mcap")
    cut = tmp_path / "cut.mcap"
    cut.write_bytes(file.read_bytes()[: file.stat().st_size * 3 // 4])
    assert replay(cut) == 2
    printed = capsys.readouterr()
    assert re.search(r": 1[0-9]{3} joint states", printed.out)
    assert printed.err.startswith(f"error: {cut}: damaged: the file ends at byte ")


def test_no_progress_bar_in_a_pipe(good: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "kane_dynamics_ros", "replay", str(good), "--model", "manipulator_5dof"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0
    steps = ("reading", "estimating", "comparing")  # told where they last, on a busy machine
    warnings = [line for line in done.stderr.splitlines() if "cannot be compiled" not in line]
    assert [line for line in warnings if not line.startswith(steps)] == []
    assert "\r" not in done.stdout + done.stderr


def test_each_of_many_bags_gets_a_folder_of_its_own_name() -> None:
    bags = [Path("a/monday"), Path("b/monday"), Path("tuesday")]
    assert report_folders(Path("out"), bags) == [
        Path("out/1_monday"),
        Path("out/2_monday"),
        Path("out/tuesday"),
    ]
    assert report_folders(Path("out"), bags[:1]) == [Path("out")]
    assert report_folders(None, bags) == [None, None, None]


def test_a_cutoff_above_what_the_rate_carries_is_refused(
    good: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert replay(good, "--cutoff", 40) == 2
    assert capsys.readouterr().err == (
        f"error: {good}: topic '/joint_states': a cut-off of 40 Hz is too high for its rate; at most "
        "31.25 Hz, an eighth of the rate, are allowed; leave --cutoff out to have one chosen\n"
    )
