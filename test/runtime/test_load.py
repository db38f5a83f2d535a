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

from kane_dynamics_ros.codegen.derive import derive
from kane_dynamics_ros.codegen.module import write_module
from kane_dynamics_ros.runtime import compilation, load_model
from kane_dynamics_ros.runtime.compilation import CompileError, compiler
from kane_dynamics_ros.runtime.load import (
    BackendError,
    ModelChecksumError,
    ModelNotFoundError,
    NotAModuleError,
    UntrustedModuleError,
)

BACKENDS = ["python"] + (["c"] if compiler() else [])
needs_compiler = pytest.mark.skipif(compiler() is None, reason="no C compiler on this machine")


def test_a_missing_model_is_named_with_the_ones_there_are() -> None:
    with pytest.raises(ModelNotFoundError) as raised:
        load_model("no_such_robot")
    assert str(raised.value) == (
        "no model 'no_such_robot': give the path of a generated NAME.py (kane_dynamics generate writes one), "
        "or one of the shipped models: manipulator_5dof"
    )


def test_a_changed_module_is_refused_before_any_of_it_runs(small: Path, tmp_path: Path) -> None:
    trace = tmp_path / "ran"
    small.write_text(f"open({str(trace)!r}, 'w')\n" + small.read_text())
    with pytest.raises(ModelChecksumError) as raised:
        load_model(small, backend="python")
    assert str(raised.value) == (
        f"{small}: the file was changed after it was generated: its checksum differs; "
        "generate it again with kane_dynamics generate"
    )
    assert not trace.exists()


def test_a_file_without_a_checksum_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text("MODEL = {}\n")
    with pytest.raises(ModelChecksumError) as raised:
        load_model(path)
    assert str(raised.value) == (
        f"{path}: not a module that kane_dynamics generated: it has no checksum; "
        "generate it again with kane_dynamics generate"
    )


def test_a_urdf_for_a_module_is_refused_with_the_command_that_makes_one(tmp_path: Path) -> None:
    path = tmp_path / "mine.urdf"
    path.write_text('<?xml version="1.0"?>\n<robot name="mine"><link name="base"/></robot>\n')
    with pytest.raises(NotAModuleError, match=r"kane_dynamics generate mine\.urdf"):
        load_model(path)


def test_the_record_of_verification_may_be_rewritten(small: Path) -> None:
    small.write_text(small.read_text().replace("VERIFIED = None", "VERIFIED = {'lagrange': 1e-15}"))
    assert load_model(small, backend="python").name == "small"


def test_without_a_compiler_the_pure_python_form_answers_and_says_why(
    small: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(compilation, "compiler", lambda: None)
    with caplog.at_level(logging.WARNING):
        assert load_model(small).backend == "python"
    source = small.with_suffix(".c")
    reason = f"{source}: cannot be compiled: no C compiler was found ($CC, cc, gcc, clang); "
    assert caplog.messages == [
        reason + "use backend='python' or fix the cause; pure Python gives the same answers, slower"
    ]
    with pytest.raises(CompileError) as raised:
        load_model(small, backend="c")
    assert str(raised.value) == reason + "use backend='python' or fix the cause"


@needs_compiler
def test_changed_c_code_is_not_compiled(small: Path) -> None:
    source = small.with_suffix(".c")
    source.write_text(source.read_text() + "\n")
    with pytest.raises(CompileError) as raised:
        load_model(small, backend="c")
    assert str(raised.value) == (
        f"{source}: cannot be compiled: it was changed after it was generated; "
        "use backend='python' or fix the cause"
    )


@needs_compiler
def test_a_folder_with_spaces_and_a_quote_compiles(small: Path, tmp_path: Path) -> None:
    folder = tmp_path / 'my "arms" $HOME'
    shutil.copytree(small.parent, folder, ignore=lambda *_: ["my*"])
    assert load_model(folder / "small.py").backend == "c"


def test_an_unknown_backend_is_refused(small: Path) -> None:
    with pytest.raises(BackendError) as raised:
        load_model(small, backend="numba")  # type: ignore[arg-type]
    assert str(raised.value) == "backend 'numba'; allowed are 'auto', 'c', 'python'"


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
    with pytest.raises(UntrustedModuleError) as raised:
        load_model(asked, backend="python")
    assert str(raised.value) == (
        f"{asked}: it belongs to user {STRANGER}, and lies where anybody may put files; a model is code, "
        "which runs with your rights: copy it, with its .c and .h, if you trust it, to a folder of yours"
    )


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
    with pytest.raises(ModelChecksumError):
        load_model(small, backend="python")
    small.write_text(text + f"CONTENT_SHA256 = open({str(trace)!r}, 'w')\n")
    with pytest.raises(ModelChecksumError):
        load_model(small, backend="python")
    assert not trace.exists()


def test_a_module_with_the_line_ends_of_another_system_loads(small: Path) -> None:
    small.write_bytes(small.read_bytes().replace(b"\n", b"\r\n"))
    assert load_model(small, backend="python").name == "small"
