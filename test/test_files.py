"""Files are written whole or not at all, and nothing else is touched."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kane_dynamics_ros.errors import KaneDynamicsError
from kane_dynamics_ros.files import OutputFileError, whole_results, write_file

FULL_DISK = """
import resource, signal, sys
from pathlib import Path
from kane_dynamics_ros.files import OutputFileError, write_file
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
try:
    write_file(Path(sys.argv[1]), "new" * 1000)
except OutputFileError:
    sys.exit(3)
"""


def test_what_was_there_stays_when_the_disk_is_full(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old" * 1000)
    assert subprocess.run([sys.executable, "-c", FULL_DISK, path], check=False).returncode == 3
    assert path.read_text() == "old" * 1000
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_in_the_place_of_the_file_is_no_full_disk(tmp_path: Path) -> None:
    (tmp_path / "file").mkdir()
    with pytest.raises(OutputFileError) as caught:
        write_file(tmp_path / "file", "new")
    assert "room" not in str(caught.value)


def test_a_file_keeps_its_mode_and_a_link_stays_one(tmp_path: Path) -> None:
    path, link = tmp_path / "file", tmp_path / "link"
    path.write_text("old")
    path.chmod(0o640)
    link.symlink_to(path)
    write_file(link, "new")
    assert path.read_text() == "new"
    assert path.stat().st_mode & 0o777 == 0o640
    assert link.is_symlink()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make another user's link")
@pytest.mark.parametrize("way", ["the file itself", "a folder before it"])
def test_a_link_of_another_user_in_a_shared_folder_is_not_followed(tmp_path: Path, way: str) -> None:
    shared, precious = tmp_path / "shared", tmp_path / "mine"
    shared.mkdir()
    precious.mkdir()
    (precious / "file").write_text("mine")
    link = shared / "link"
    link.symlink_to(precious / "file" if way == "the file itself" else precious)
    os.chown(link, 65534, 65534, follow_symlinks=False)
    path = link if way == "the file itself" else link / "file"
    write_file(path, "as before")  # in a folder of one's own, links are trusted
    shared.chmod(0o1777)
    with pytest.raises(OutputFileError) as raised:
        write_file(path, "planted")
    assert (raised.value.code, raised.value.path) == ("planted", path)
    assert (precious / "file").read_text() == "as before"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make another user's pipe")
def test_a_pipe_of_another_user_in_a_shared_folder_is_not_written_to(tmp_path: Path) -> None:
    tmp_path.chmod(0o1777)
    os.mkfifo(tmp_path / "pipe")
    os.chown(tmp_path / "pipe", 65534, 65534)
    with pytest.raises(OutputFileError):
        write_file(tmp_path / "pipe", "text")


def test_a_file_that_may_not_be_written_to_is_not_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    monkeypatch.setattr("os.access", lambda *_: False)  # as for all but root, of mode 444
    with pytest.raises(OutputFileError):
        write_file(path, "new")
    assert path.read_text() == "old"


def test_a_link_that_somebody_put_in_the_way_is_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a folder that others may write to, the name of what is written beside can be guessed."""
    precious = tmp_path / "precious"
    precious.write_text("mine")
    monkeypatch.setattr("os.getpid", lambda: 7)
    (tmp_path / ".file.7.part").symlink_to(precious)
    write_file(tmp_path / "file", "new")
    assert precious.read_text() == "mine"
    assert (tmp_path / "file").read_text() == "new"


# Results of a command, which replace an earlier run's

NAMES = ("a", "b", "bag")


def run(folder: Path, said: str, names: tuple[str, ...] = NAMES) -> None:
    with whole_results(folder, NAMES, "observe") as part:
        for name in names:
            path = part / name / "data" if name == "bag" else part / name
            write_file(path, said)


def contents(folder: Path) -> dict[str, str]:
    """Of all files but the list."""
    paths = [path for path in folder.rglob("*") if path.is_file() and path.suffix != ".json"]
    return {path.relative_to(folder).as_posix(): path.read_text() for path in paths}


def test_a_rename_that_fails_loses_no_earlier_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(tmp_path, "old")
    real = Path.replace

    def failing(path: Path, target: Path) -> Path:
        if target == tmp_path / "b":
            raise OSError(5, "a bad disk", str(path), None, str(target))
        return real(path, target)

    monkeypatch.setattr(Path, "replace", failing)
    with pytest.raises(OutputFileError) as raised:
        run(tmp_path, "new", ("a", "b"))
    assert raised.value.path == tmp_path
    found = contents(tmp_path)
    assert found.keys() == {"a", "b", "bag/data"}
    assert found["b"] == found["bag/data"] == "old"


def test_results_that_a_run_does_not_write_again_go(tmp_path: Path) -> None:
    run(tmp_path, "old")
    (tmp_path / "bag" / "more").write_text("old")
    run(tmp_path, "new", ("a", "bag"))
    assert contents(tmp_path) == {"a": "new", "bag/data": "new"}
    run(tmp_path, "newest", ("b",))
    assert contents(tmp_path) == {"b": "newest"}
    assert {path.name for path in tmp_path.iterdir()} == {"b", ".kane_dynamics_observe.json"}


def test_a_result_keeps_its_mode_and_a_link_to_it_stays_one(tmp_path: Path) -> None:
    folder, elsewhere = tmp_path / "results", tmp_path / "elsewhere"
    run(folder, "old")
    (folder / "a").chmod(0o640)
    (folder / "b").replace(elsewhere)
    (folder / "b").symlink_to("../elsewhere")
    run(folder, "new")
    assert (folder / "a").stat().st_mode & 0o777 == 0o640
    assert (folder / "b").is_symlink()
    assert elsewhere.read_text() == "new"
    assert contents(folder) == {"a": "new", "b": "new", "bag/data": "new"}


def test_a_result_that_may_not_be_written_to_keeps_all_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(tmp_path, "old")
    real = os.access
    monkeypatch.setattr("os.access", lambda path, mode: path != tmp_path / "b" and real(path, mode))
    with pytest.raises(OutputFileError):
        run(tmp_path, "new", ("a", "bag"))
    assert contents(tmp_path) == {"a": "old", "b": "old", "bag/data": "old"}


def test_an_error_of_what_is_read_is_none_of_writing(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), whole_results(tmp_path / "results", NAMES, "observe"):
        (tmp_path / "no such mesh").read_text()


def test_an_error_of_writing_names_the_folder_that_was_given(tmp_path: Path) -> None:
    """Not the hidden one in it, whoever found the error."""
    folder = tmp_path / "results"

    def write_module(part: Path) -> None:
        try:
            (part / "no such folder" / "a").write_text("new")
        except OSError as error:
            raise KaneDynamicsError(f"{part}: cannot write the module", "unwritable") from error

    with pytest.raises(OutputFileError) as raised, whole_results(folder, NAMES, "observe") as part:
        write_module(part)
    assert raised.value.path == folder
    assert str(raised.value).startswith(f"{folder}: ")
    assert not folder.exists()
