"""Commands that write a folder of results replace what they wrote themselves, and nothing of the user's."""

from pathlib import Path

import pytest

from kane_dynamics_ros.cli.demo import CONTROLLERS, FILES, claim_folder, folder_of
from kane_dynamics_ros.cli.main import main
from kane_dynamics_ros.files import ForeignFileError, claim_files, refuse_foreign


def test_a_file_that_the_command_did_not_write_is_named_and_kept(tmp_path: Path) -> None:
    own = tmp_path / "b"
    own.write_text("mine")
    with pytest.raises(ForeignFileError) as raised:
        claim_files(tmp_path, ("a", "b"), "identify")
    assert str(raised.value) == (
        f"{own}: is there already, and kane_dynamics identify did not write it; move it away, or choose "
        "another folder for the results"
    )
    assert list(tmp_path.iterdir()) == [own]


def test_what_the_command_wrote_may_be_replaced_by_it_alone(tmp_path: Path) -> None:
    folder = tmp_path / "results"
    refuse_foreign(folder, ("a",), "identify")
    claim_files(folder, ("a",), "identify")
    (folder / "a").touch()
    claim_files(folder, ("a", "b"), "identify")
    with pytest.raises(ForeignFileError):
        claim_files(folder, ("a",), "observe")


@pytest.mark.parametrize("content", ["", "[", "[]", '{"files": 7}', '{"files": null}', "[" * 100_000])
def test_a_damaged_list_of_files_lists_none(tmp_path: Path, content: str) -> None:
    claim_files(tmp_path, ("a",), "demo")
    (tmp_path / "a").touch()
    (tmp_path / ".kane_dynamics_demo.json").write_text(content)
    with pytest.raises(ForeignFileError):
        claim_files(tmp_path, ("a",), "demo")


@pytest.mark.parametrize("name", [*FILES, *(folder_of(label, Path()).name for label in CONTROLLERS)])
def test_the_demonstration_replaces_nothing_of_the_users(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """``demo --output .`` beside a trajectory.yaml of one's own, or a folder of the name of a controller."""
    pytest.importorskip("rclpy", reason="the demonstration needs ROS 2")
    own = tmp_path / name if name in FILES else tmp_path / name / "results.ods"
    own.parent.mkdir(exist_ok=True)
    own.write_text("mine")
    assert main(["demo", "--output", str(tmp_path)]) == 2
    assert capsys.readouterr().err.startswith(f"error: {tmp_path / name}: is there already")
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [own]


def test_the_demonstration_replaces_its_own_results_only(tmp_path: Path) -> None:
    claim_folder(tmp_path)
    bag = folder_of(next(iter(CONTROLLERS)), tmp_path) / "bag"
    bag.mkdir(parents=True)
    for name in ("metadata.yaml", "bag_0.mcap", "../feedforward_node.log", "../view.html"):
        (bag / name).touch()
    claim_folder(tmp_path)
    for own in (bag.parent / "notes.md", bag / "notes.yaml", bag / "more"):
        own.touch()
        with pytest.raises(ForeignFileError):
            claim_folder(tmp_path)
        own.unlink()
