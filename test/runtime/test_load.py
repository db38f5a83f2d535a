"""Loading: checksums, backends, libraries of other machines and processors."""

import importlib.util
import logging
import os
import py_compile
import shutil
import struct
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from random_chains import random_chain

from kane_dynamics_ros.checksum import FORMAT, with_checksum
from kane_dynamics_ros.codegen.derive import derive
from kane_dynamics_ros.codegen.module import write_module
from kane_dynamics_ros.runtime import compilation, load_model
from kane_dynamics_ros.runtime.compilation import CompileError, compiler
from kane_dynamics_ros.runtime.model import ModelError

BACKENDS = ["python"] + (["c"] if compiler() else [])
needs_compiler = pytest.mark.skipif(compiler() is None, reason="no C compiler on this machine")


def refused(path: Path | str, **options: Any) -> ModelError:
    """The error of loading it."""
    with pytest.raises(ModelError) as raised:
        load_model(path, **options)
    assert str(path) in str(raised.value)
    return raised.value


def test_a_missing_model_is_named_with_the_ones_there_are() -> None:
    error = refused("no_such_robot")
    assert error.code == "not_found"
    assert "manipulator_5dof" in str(error)


def test_a_missing_model_is_named_with_those_in_its_folder(small: Path) -> None:
    small.with_name("other.h").write_text("// of another project\n")
    error = refused(small.with_name("my_robot.py"))
    assert error.code == "not_found"
    assert str(small) in str(error)
    assert "other.py" not in str(error)


def test_a_changed_module_is_refused_before_any_of_it_runs(small: Path, tmp_path: Path) -> None:
    trace = tmp_path / "ran"
    small.write_text(f"open({str(trace)!r}, 'w')\n" + small.read_text())
    assert refused(small, backend="python").code == "changed"
    assert not trace.exists()


def test_a_file_without_a_checksum_is_refused(small: Path, tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text("MODEL = {}\n")
    assert refused(path).code == "not_generated"
    small.write_text(small.read_text().rpartition("CONTENT_SHA256")[0])  # cut short
    assert refused(small).code == "changed"


@pytest.mark.parametrize(
    "line", ["VERIFIED = today", "VERIFIED = None  # by me\nVERIFIED = None", "VERIFIED = ("]
)
def test_an_edited_record_of_verification_is_a_change(small: Path, line: str) -> None:
    small.write_text(small.read_text().replace("VERIFIED = None", line))
    assert refused(small).code == "changed"


@pytest.mark.parametrize("stated", ["None", "0", str(FORMAT + 1)])
def test_a_module_of_another_version_is_to_be_generated_again(small: Path, stated: str) -> None:
    """Older ones state no format: they ended in pages of the compiler's words, or in a bare KeyError."""
    body = small.read_text().rpartition("\n\n\n")[0]
    small.write_text(with_checksum(body.replace(f"'format': {FORMAT}", f"'format': {stated}")))
    error = refused(small)
    assert error.code == "other_version"
    assert "kane_dynamics generate" in str(error)


def test_a_urdf_for_a_module_is_refused_with_the_command_that_makes_one(tmp_path: Path) -> None:
    path = tmp_path / "mine.urdf"
    path.write_text('<?xml version="1.0"?>\n<robot name="mine"><link name="base"/></robot>\n')
    error = refused(path)
    assert error.code == "xml"
    assert "kane_dynamics generate mine.urdf" in str(error)


def test_the_record_of_verification_may_be_rewritten(small: Path) -> None:
    small.write_text(small.read_text().replace("VERIFIED = None", "VERIFIED = {'lagrange': 1e-15}"))
    assert load_model(small, backend="python").name == "small"


def test_without_a_compiler_the_pure_python_form_answers_and_says_why(
    small: Path, cache: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(compilation, "compiler", lambda: None)
    with caplog.at_level(logging.WARNING):
        assert load_model(small).backend == "python"
    (said,) = caplog.messages
    assert str(small.with_suffix(".c")) in said
    assert "no C compiler" in said
    with pytest.raises(CompileError) as raised:
        load_model(small, backend="c")
    assert raised.value.code == "no_compiler"


@needs_compiler
def test_changed_c_code_is_not_compiled(small: Path, cache: Path) -> None:
    source = small.with_suffix(".c")
    source.write_text(source.read_text() + "\n")
    with pytest.raises(CompileError) as raised:
        load_model(small, backend="c")
    assert (raised.value.code, raised.value.path) == ("changed", source)


@needs_compiler
def test_a_folder_with_spaces_and_a_quote_compiles(small: Path, tmp_path: Path) -> None:
    folder = tmp_path / 'my "arms" $HOME'
    shutil.copytree(small.parent, folder, ignore=lambda *_: ["my*"])
    assert load_model(folder / "small.py").backend == "c"


def test_an_unknown_backend_is_refused(small: Path) -> None:
    with pytest.raises(ModelError) as raised:
        load_model(small, backend="numba")  # type: ignore[arg-type]
    assert (raised.value.code, raised.value.found) == ("backend", "numba")


def test_pythons_cache_of_an_older_module_is_not_used(tmp_path: Path) -> None:
    """A module generated again in the same second may have the same size."""
    chain = random_chain(np.random.default_rng(1), 1)
    names = ("left", "rear")
    for name in names:
        one = replace(chain, joints=(replace(chain.joints[0], name=name),), coordinates=(name,))
        path = write_module(derive(one), "arm", tmp_path)[0]
        os.utime(path, (1e9, 1e9))
        assert load_model(path, backend="python").joint_names == (name,)


STRANGER = 54321  # a user who owns nothing of this package


def owned(path: Path, owner: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a file or folder look as if it were another user's."""
    number = path.stat().st_ino

    def told(really: Callable[..., os.stat_result]) -> Callable[..., os.stat_result]:
        def status_of(*arguments: Any, **options: Any) -> os.stat_result:
            status = really(*arguments, **options)
            return os.stat_result((*status[:4], owner, *status[5:])) if status.st_ino == number else status

        return status_of

    for function in ("stat", "fstat"):
        monkeypatch.setattr(os, function, told(getattr(os, function)))


@pytest.mark.parametrize("place", ["the folder itself", "a folder below", "a link"])
def test_a_strangers_module_that_anybody_could_have_put_there_never_runs(
    place: str, small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in /tmp, where names that others will load can be guessed."""
    public = small.parent / "public"
    folder = small.parent / "elsewhere" if place == "a link" else public
    folder = folder / "mine" if place == "a folder below" else folder
    for made in (public, folder):
        made.mkdir(parents=True, exist_ok=True)
    module = folder / small.name
    shutil.copy(small, module)
    asked = module
    if place == "a link":
        asked = public / "link"
        asked.symlink_to(module)
    assert load_model(asked, backend="python").name == "small"
    public.chmod(0o1777)
    assert load_model(asked, backend="python").name == "small"  # the user's own
    owned(module, STRANGER, monkeypatch)
    if place == "a folder below":
        assert load_model(asked, backend="python").name == "small"  # who may write there let it in
        owned(folder, STRANGER, monkeypatch)
    error = refused(asked, backend="python")
    assert (error.code, error.owner) == ("untrusted", STRANGER)


@pytest.mark.parametrize("how", ["another user's", "others may write", "the user's own"])
def test_a_module_that_others_could_have_written_loads_with_a_warning(
    how: str, small: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    if how == "another user's":
        owned(small, STRANGER, monkeypatch)
    elif how == "others may write":
        small.chmod(0o666)
    with caplog.at_level(logging.WARNING):
        assert load_model(small, backend="python").name == "small"
    assert len(caplog.messages) == (0 if how == "the user's own" else 1)


@pytest.mark.parametrize("kind", ["timestamp", "unchecked"])
def test_a_planted_pyc_never_runs(small: Path, tmp_path: Path, kind: str) -> None:
    """One with the source's time and size, and one that Python does not compare at all."""
    trace = tmp_path / "ran"
    evil = tmp_path / "evil.py"
    evil.write_text(f"open({str(trace)!r}, 'w')\n")
    cached = Path(importlib.util.cache_from_source(str(small)))
    mode = py_compile.PycInvalidationMode
    chosen = mode.TIMESTAMP if kind == "timestamp" else mode.UNCHECKED_HASH
    py_compile.compile(str(evil), cfile=str(cached), invalidation_mode=chosen)
    if kind == "timestamp":
        status, content = small.stat(), cached.read_bytes()
        header = struct.pack("<II", int(status.st_mtime), status.st_size)
        cached.write_bytes(content[:8] + header + content[16:])
    assert load_model(small, backend="python").name == "small"
    assert not trace.exists()


@pytest.mark.parametrize(
    "line",
    ["VERIFIED = open({!r}, 'w')", "VERIFIED = None; open({!r}, 'w')", "VERIFIED = None\ropen({!r}, 'w')"],
)
@pytest.mark.parametrize("place", ["instead", "beside"])
def test_no_code_hides_in_the_lines_that_the_checksum_leaves_out(
    small: Path, tmp_path: Path, line: str, place: str
) -> None:
    trace = tmp_path / "ran"
    text = small.read_text()
    line = line.format(str(trace))
    changed = text.replace("VERIFIED = None", line if place == "instead" else f"VERIFIED = None\n{line}")
    small.write_bytes(changed.encode())
    assert refused(small, backend="python").code == "changed"
    small.write_text(text + f"CONTENT_SHA256 = open({str(trace)!r}, 'w')\n")
    assert refused(small, backend="python").code == "changed"
    assert not trace.exists()


def test_a_module_with_the_line_ends_of_another_system_loads(small: Path) -> None:
    small.write_bytes(small.read_bytes().replace(b"\n", b"\r\n"))
    assert load_model(small, backend="python").name == "small"
