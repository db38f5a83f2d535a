"""No verdict where none can be had: commands for measurements, no motion, figures that are not finite."""

import errno
import json
import os
import resource
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from replay_bags import (
    JOINT_STATE,
    Record,
    effort,
    joint_state,
    motion,
    pinocchio_arm,
    record,
    write_bag,
    write_messages,
)

from kane_dynamics_ros.cli.main import main
from kane_dynamics_ros.replay.comparison import Fit
from kane_dynamics_ros.replay.errors import BagError
from kane_dynamics_ros.replay.jobs import Job, run_job
from kane_dynamics_ros.replay.recording import is_command, is_own_output, read_recording
from kane_dynamics_ros.replay.report import table
from kane_dynamics_ros.replay.verdict import Verdict, unexplained

NAMES = ("gamma_1", "alpha_2", "alpha_3", "beta_4", "gamma_4")
RATE = 100.0


def moving(seconds: float = 8.0):
    """Position, velocity, acceleration, (N, 5) each."""
    return motion(seconds, RATE, 5)


def taken(q, qd, qdd, velocity=True, noise=0.0) -> Record:
    random = np.random.default_rng(3)
    tau = effort(pinocchio_arm(), q, qd, qdd)
    tau += noise * random.standard_normal(tau.shape)
    return record(
        q + 1e-4 * (noise > 0) * random.standard_normal(q.shape), qd if velocity else None, tau, RATE, NAMES
    )


def praise(verdict: Verdict) -> str:
    """What the table says of a model that nothing was found against."""
    return table(replace(verdict, findings=(), joints=(), notes=()))[-1]


def replay(*words: object) -> int:
    return main(["replay", *map(str, words), "--model", "manipulator_5dof"])


@pytest.mark.parametrize(
    "topic",
    [
        "/feedforward_node/feedforward",
        "/arm/feedforward",
        "/feedforward_node/terms/gravity",
        "/observer/external_torque",
        "/kane_dynamics/replay/predicted",
    ],
)
def test_own_output_is_never_taken_for_a_measurement(tmp_path, topic, capsys):
    bag = write_bag(tmp_path / "bag", taken(*moving(2.0)), topic=topic)
    for wanted, code in ((None, "no_measurement"), (topic, "computed")):
        with pytest.raises(BagError) as refused:
            read_recording(bag, NAMES, wanted)
        assert refused.value.code == code
    assert replay(bag) == 2
    assert "record joint_states" in capsys.readouterr().err


@pytest.mark.parametrize(
    "topic",
    [
        "/isaac_joint_commands",
        "/joint_command",
        "/franka/joint_states_desired",
        "/target/joint_states",
        "/goal_state",
    ],
)
def test_topic_named_like_a_command_is_judged_only_when_asked_for(tmp_path, topic):
    bag = write_bag(tmp_path / "bag", taken(*moving(2.0)), topic=topic)
    with pytest.raises(BagError, match="--topic") as refused:
        read_recording(bag, NAMES)
    assert refused.value.code == "no_measurement"
    assert any("named like a command" in note for note in read_recording(bag, NAMES, topic).notes)


@pytest.mark.parametrize(
    "topic",
    ["/joint_states", "/left_arm/joint_states", "/measured", "/joint_command_controller/joint_states"],
)
def test_measurements_are_not_taken_for_commands(topic):
    assert not is_command(topic)
    assert not is_own_output(topic)


def test_commands_beside_one_measurement_do_not_make_the_choice_hard(tmp_path):
    states = taken(*moving(2.0))
    rows = [(int(states.received[i]), joint_state(states, i)) for i in range(len(states.stamps))]
    topics = ("/robot_state", "/isaac_joint_commands", "/feedforward_node/feedforward")
    bag = write_messages(tmp_path / "bag", {(topic, JOINT_STATE): rows for topic in topics})
    assert read_recording(bag, NAMES).topic == "/robot_state"


def test_robot_that_stands_still_gets_no_verdict(tmp_path, capsys):
    q, *_ = moving()
    still, zero = np.full_like(q, 0.3), np.zeros_like(q)
    bag = write_bag(tmp_path / "bag", taken(still, zero, zero, noise=0.1))
    assert replay(bag) == 2
    output, error = capsys.readouterr()
    assert output == ""
    assert "hardly any motion of joints 'gamma_1'" in error


def test_motion_outside_what_is_compared_gives_no_verdict(tmp_path, capsys):
    """All joints move in the last 0.1 s, which the filters distort."""
    q, qd, qdd = moving()
    still = np.arange(len(q)) < len(q) - 10
    start = q[0].copy()
    q[still], qd[still], qdd[still] = start, 0.0, 0.0
    q[~still] = start + np.linspace(0.02, 0.2, 10)[:, None]
    qd[~still] = 2.0
    bag = write_bag(tmp_path / "bag", taken(q, qd, qdd))
    assert replay(bag) == 2
    output, error = capsys.readouterr()
    assert output == ""
    assert all(repr(name) in error for name in NAMES)


def test_joint_that_nothing_excites_is_named_and_the_others_are_judged(tmp_path, capsys):
    """Only the first joint turns, with the arm upright: nothing changes the fourth one's effort."""
    q, qd, qdd = moving()
    for values, rest in ((q, 0.0), (qd, 0.0), (qdd, 0.0)):
        values[:, 1:] = rest
    bag = write_bag(tmp_path / "bag", taken(q, qd, qdd, noise=0.02))
    verdict = run_job(Job(bag, "manipulator_5dof")).verdict
    assert verdict.joints[0].judged
    assert verdict.joints[4].judged  # on the first one's axis: it feels each acceleration
    assert not verdict.joints[3].judged
    assert verdict.joints[3].attributions == ()
    assert replay(bag, "--max-nrmse", 0.05) == 2
    output, error = capsys.readouterr()
    assert "joint 'beta_4': hardly any motion" in output
    assert praise(verdict) not in output
    assert "'beta_4'" in error


@pytest.mark.parametrize("velocity", [True, False])
def test_right_model_is_not_blamed_when_a_joint_is_told_modulo_two_pi(tmp_path, velocity):
    q, qd, qdd = moving()
    time = np.arange(len(q)) / RATE
    q[:, 0], qd[:, 0], qdd[:, 0] = 3.0 + 1.5 * time, 1.5, 0.0
    states = taken(q, qd, qdd, velocity)
    wrapped = (q + np.pi) % (2 * np.pi) - np.pi
    assert (np.abs(np.diff(wrapped[:, 0])) > 6).sum() == 2  # it crosses twice
    verdict = run_job(
        Job(
            write_bag(tmp_path / "bag", record(wrapped, states.velocity, states.effort, RATE, NAMES)),
            "manipulator_5dof",
        )
    ).verdict
    assert all(joint.attributions == () for joint in verdict.joints)
    assert all(joint.fit.nrmse < 1e-3 for joint in verdict.joints)


@pytest.mark.parametrize(("r_squared", "advised"), [(0.95, False), (0.5, True)])
def test_identification_is_advised_only_where_a_model_explains_too_little(r_squared, advised):
    (text,) = unexplained(Fit(0.15, 0.0, 0.05, r_squared, 0.3, 1.0, 1.0))
    assert ("identify" in text) == advised


def test_model_that_explains_nothing_is_not_said_to_explain_the_efforts(tmp_path, capsys):
    q, qd, _ = moving()
    noise = 20.0 * np.random.default_rng(2).standard_normal(q.shape)
    bag = write_bag(tmp_path / "bag", record(q, qd, noise, RATE, NAMES))
    assert replay(bag) == 0
    report = run_job(Job(bag, "manipulator_5dof")).verdict
    assert praise(report) not in capsys.readouterr().out
    assert all(joint.findings for joint in report.joints if joint.fit.r_squared < 0.9)


# The report's folder.


@pytest.fixture(scope="module")
def bag(tmp_path_factory):
    return write_bag(tmp_path_factory.mktemp("recorded") / "bag", taken(*moving()))


def content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_report_replaces_its_own_files_again_and_again(tmp_path, bag):
    assert replay(bag, "--report", tmp_path / "report") == 0
    first = sorted(content(tmp_path / "report"))
    assert replay(bag, "--report", tmp_path / "report") == 0
    assert sorted(content(tmp_path / "report")) == first
    assert "predicted/metadata.yaml" in first
    assert "report.html" in first


@pytest.mark.parametrize(
    "name", ["predicted/mine.txt", "report.html", "report.json", "predicted", "view.html"]
)
def test_file_of_the_users_is_never_replaced(tmp_path, bag, name, capsys):
    mine = tmp_path / "report" / name
    mine.parent.mkdir(parents=True)
    mine.write_text("mine")
    assert replay(bag, "--report", tmp_path / "report") == 2
    assert content(tmp_path / "report") == {name: b"mine"}
    assert str(mine) in capsys.readouterr().err


def test_file_that_the_user_puts_beside_the_predictions_later_is_kept(tmp_path, bag):
    assert replay(bag, "--report", tmp_path / "report") == 0
    (tmp_path / "report" / "predicted" / "notes.txt").write_text("mine")
    before = content(tmp_path / "report")
    assert replay(bag, "--report", tmp_path / "report") == 2
    assert content(tmp_path / "report") == before


@pytest.mark.parametrize("place", ["report/predicted", "report", "report/bags/a"])
def test_bag_inside_the_report_is_refused_and_kept(tmp_path, bag, place, capsys):
    inside = tmp_path / place
    shutil.copytree(bag, inside)
    before = content(tmp_path)
    assert replay(inside, "--report", tmp_path / "report") == 2
    assert content(tmp_path) == before
    assert "one in the other" in capsys.readouterr().err


def test_predictions_can_be_judged_again_without_their_own_topics(tmp_path, bag):
    assert replay(bag, "--report", tmp_path / "first") == 0
    assert replay(tmp_path / "first" / "predicted", "--report", tmp_path / "second") == 0
    assert sorted(content(tmp_path / "second")) == sorted(content(tmp_path / "first"))
    sizes = [
        (tmp_path / name / "predicted" / "predicted.mcap").stat().st_size for name in ("first", "second")
    ]
    assert sizes[1] == pytest.approx(sizes[0], rel=0.01)  # nothing was added to what was there


LIMITED = """
import resource, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), int(sys.argv[1])))
from kane_dynamics_ros.cli.main import main
sys.exit(main(sys.argv[2:]))
"""


def limited(size: int, *words: object) -> "subprocess.CompletedProcess[str]":
    """A command that can write files of ``size`` bytes only, as on a full disk."""
    command = [sys.executable, "-c", LIMITED, str(size), *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.skipif(not hasattr(resource, "RLIMIT_FSIZE"), reason="no bound on the size of files here")
@pytest.mark.parametrize("size", [1_000, 50_000])
def test_full_disk_is_told_after_the_verdict_and_leaves_no_half_file(tmp_path, bag, size):
    report = tmp_path / "report"
    done = limited(size, "replay", bag, "--model", "manipulator_5dof", "--report", report)
    assert done.returncode == 2
    assert "no term is at fault" in done.stdout
    assert "cannot be written" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (report / "predicted").exists()
    assert not list(report.glob(".*part*"))
    for file in report.glob("*.json"):
        json.loads(file.read_text())
    for file in report.glob("*.html"):
        assert file.read_text().rstrip().endswith("</html>")
    assert replay(bag, "--report", report) == 0  # what it left is its own


def test_full_standard_output_is_an_error_of_the_user(bag):
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("no /dev/full on this system")
    with full.open("w") as output:
        done = subprocess.run(
            [sys.executable, "-m", "kane_dynamics_ros", "replay", str(bag), "--model", "manipulator_5dof"],
            stdout=output,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


def test_fault_of_ours_has_an_exit_code_of_its_own(monkeypatch, bag, capsys):
    def broken(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("kane_dynamics_ros.cli.replay.run_job", broken)
    assert replay(bag) == 70
    assert "ZeroDivisionError" in capsys.readouterr().err


@pytest.mark.parametrize("damage", ["VERIFIED = [[[", "VERIFIED = 1", "VERIFIED = {'nan': }"])
def test_model_with_a_damaged_record_of_verification_is_an_error_of_the_user(tmp_path, bag, damage, capsys):
    from kane_dynamics_ros.runtime.load import SHIPPED

    text = (SHIPPED / "manipulator_5dof.py").read_text()
    lines = [damage if line.startswith("VERIFIED") else line for line in text.splitlines()]
    assert damage in lines
    module = tmp_path / "damaged.py"
    module.write_text("\n".join(lines) + "\n")
    code = main(["replay", str(bag), "--model", str(module)])
    assert code in (0, 2), capsys.readouterr().err
    assert "Traceback" not in capsys.readouterr().err


def test_efforts_that_are_all_zero_are_one_error(tmp_path, capsys):
    q, qd, _ = moving()
    assert replay(write_bag(tmp_path / "bag", record(q, qd, 0 * q, RATE, NAMES))) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "the measured efforts of all joints are 0" in printed.err


@pytest.mark.parametrize(("scale", "offset"), [(180 / np.pi, 0.0), (400.0, 2048.0)], ids=["degrees", "ticks"])
def test_positions_in_another_unit_are_refused(tmp_path, scale, offset):
    q, qd, qdd = moving()
    taken = record(scale * q + offset, scale * qd, effort(pinocchio_arm(), q, qd, qdd), RATE, NAMES)
    found = run_job(Job(write_bag(tmp_path / "bag", taken), "manipulator_5dof"))
    assert found.verdict is None
    assert "degrees, or encoder ticks?" in found.error


def test_positions_a_little_outside_of_the_limits_are_judged(tmp_path):
    """A joint pushed beyond, a turn that a driver counts otherwise: 3 rad outside is no other unit."""
    q, qd, qdd = moving()
    q[:, 2] += 3.0
    taken = record(q, qd, effort(pinocchio_arm(), q, qd, qdd), RATE, NAMES)
    assert run_job(Job(write_bag(tmp_path / "bag", taken), "manipulator_5dof")).verdict is not None


def test_report_on_a_full_disk_leaves_nothing_half(tmp_path, monkeypatch):
    """The page is written, the bag of predictions is not: neither is left, and an older report stays."""
    bag = write_bag(tmp_path / "bag", taken(*moving()))
    report = tmp_path / "report"

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "predicted.mcap")

    with monkeypatch.context() as patched:
        patched.setattr("kane_dynamics_ros.replay.report.write_prediction_bag", full)
        found = run_job(Job(bag, "manipulator_5dof", report=report))
        assert "No space left" in found.error
        assert not report.exists()
    assert run_job(Job(bag, "manipulator_5dof", report=report)).error is None
    before = {path: path.read_bytes() for path in report.rglob("*") if path.is_file()}
    monkeypatch.setattr("kane_dynamics_ros.replay.report.write_prediction_bag", full)
    assert run_job(Job(bag, "manipulator_5dof", report=report)).error is not None
    assert {path: path.read_bytes() for path in report.rglob("*") if path.is_file()} == before
