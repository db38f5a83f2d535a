"""The same verdicts from a Dask cluster: a scheduler and workers of this process."""

import sys
from pathlib import Path

import numpy as np
import pytest
from replay_bags import effort, motion, pinocchio_arm, record, write_bag

from kane_dynamics_ros.cli.main import main
from kane_dynamics_ros.runtime import load_model

distributed = pytest.importorskip("distributed", reason="needs the extra 'dask'")

MODEL = load_model("manipulator_5dof")
Q, QD, QDD = (2.0 * values for values in motion(8.0, 250.0, 5))


def test_bags_are_judged_on_a_cluster_and_a_bad_one_does_not_stop_the_rest(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tau = effort(pinocchio_arm(), Q, QD, QDD)
    bags = [
        write_bag(tmp_path / name, record(Q, QD, tau + offset, 250.0, MODEL.joint_names))
        for name, offset in (("exact", 0.0), ("offset", np.array([0.0, 0.0, 5.0, 0.0, 0.0])))
    ]
    missing = tmp_path / "missing"
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None
    ) as cluster:
        words = [*map(str, [*bags, missing]), "--model", "manipulator_5dof"]
        assert main(["replay", *words, "--dask", cluster.scheduler_address]) == 2
    printed = capsys.readouterr()
    assert f"{bags[0]}: 2000 joint states" in printed.out
    assert "joint 'alpha_3': constant offset of +5 N m missing" in printed.out
    told = [
        line for line in printed.err.splitlines() if not line.startswith("judging bags")
    ]  # but for progress
    assert told == [
        f"error: {missing}: no such file or folder; give a rosbag2 folder, a .mcap or a .db3 file"
    ]


def test_an_address_where_nobody_answers_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kane_dynamics_ros.replay.jobs.CONNECT", "0.5 s")
    words = [str(tmp_path), "--model", "manipulator_5dof", "--dask", "tcp://127.0.0.1:9"]
    assert main(["replay", *words]) == 2
    message = capsys.readouterr().err
    assert message.startswith("error: --dask tcp://127.0.0.1:9: no scheduler answers there (")
    assert message.endswith("); give the address it printed\n")


def test_without_dask_the_message_says_what_to_install(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "dask.distributed", None)
    words = [str(tmp_path), "--model", "manipulator_5dof", "--dask", "tcp://127.0.0.1:9"]
    assert main(["replay", *words]) == 2
    assert "kane_dynamics_ros[dask]" in capsys.readouterr().err
