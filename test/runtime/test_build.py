"""Building libraries: hostile compilers and names; damaged and planted files; builds at once, and killed."""

import ctypes
import errno
import hashlib
import logging
import os
import platform
import pwd
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import filelock
import numpy as np
import pytest
from random_chains import random_chain

from kane_dynamics_ros.codegen.derive import derive
from kane_dynamics_ros.codegen.module import write_module
from kane_dynamics_ros.runtime import compilation, load_model
from kane_dynamics_ros.runtime.compilation import CompileError

pytestmark = pytest.mark.skipif(compilation.compiler() is None, reason="no C compiler on this machine")


def module_named(name: str, folder: Path) -> Path:
    """A module of one joint, not yet compiled."""
    return write_module(derive(random_chain(np.random.default_rng(1), 1)), name, folder)[0]


def program(folder: Path, content: bytes) -> str:
    """A file that may be executed."""
    path = folder / "compiler"
    path.write_bytes(content)
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize("name", ["errno", "NULL"])
def test_names_that_mean_something_in_c_compile(name: str, tmp_path: Path) -> None:
    assert load_model(module_named(name, tmp_path), backend="c").name == name


def test_a_model_named_like_a_module_of_pythons_does_not_hide_it(tmp_path: Path) -> None:
    import json

    assert load_model(module_named("json", tmp_path), backend="c").backend == "c"
    assert sys.modules["json"] is json


@pytest.mark.parametrize(
    "content", [b"#!/bin/sh\nexit 1\n", b"\x7fELF and then rubbish", b"#!/no/such/shell\n"]
)
def test_a_compiler_that_does_not_answer_is_passed_over(
    content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CC", program(tmp_path, content))
    assert compilation.compiler() not in (None, str(tmp_path / "compiler"))


def test_the_words_of_a_compiler_that_fails_are_told_in_any_encoding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = b"#!/bin/sh\n[ $1 = --version ] || { printf 'caf\\351: no' >&2; exit 1; }\n"
    monkeypatch.setenv("CC", program(tmp_path, script))
    module = module_named("arm", tmp_path)
    with pytest.raises(CompileError) as raised:
        load_model(module, backend="c")
    assert raised.value.code == "compiler_failed"
    assert "caf\N{REPLACEMENT CHARACTER}: no" in str(raised.value)


# A small C file, and a compiler that keeps count, for what concerns libraries of every kind.

PATIENCE = 60.0  # [s] on a busy machine
LOAD = "import sys, pathlib; from kane_dynamics_ros.runtime.compilation import shared_library; "
LOAD += "print(shared_library(pathlib.Path(sys.argv[1])).answer())"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "sources"
    folder.mkdir(mode=0o755)
    path = folder / "small.c"
    path.write_text("int answer(void) { return 42; }\n")
    return path


@pytest.fixture
def compilations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cache: Path) -> Callable[[], list[str]]:
    """What the compiler was called with, a line for each call."""
    calls = tmp_path / "calls"
    calls.touch()
    real = compilation.compiler()
    script = f'#!/bin/sh\n[ "$1" = --version ] || echo "$@" >> {calls}\nexec {real} "$@"\n'
    monkeypatch.setenv("CC", program(tmp_path, script.encode()))
    return lambda: calls.read_text().splitlines()


def answer(source: Path) -> int:
    return int(compilation.shared_library(source).answer())


def answer_of_another_process(source: Path) -> bytes:
    return subprocess.run([sys.executable, "-c", LOAD, source], capture_output=True).stdout


def library_of(folder: Path) -> Path:
    (found,) = folder.glob("*.so")
    return found


def refused(source: Path) -> CompileError:
    """Why there is no library."""
    with pytest.raises(CompileError) as raised:
        answer(source)
    return raised.value


@pytest.mark.parametrize("damage", ["empty", "cut", "one byte", "no list of features"])
def test_a_damaged_library_is_built_again_and_never_opened(
    damage: str,
    source: Path,
    cache: Path,
    compilations: Callable[[], list[str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Opening a library that was cut short ends the process with SIGBUS."""
    assert answer(source) == 42
    library = library_of(cache)
    good = library.read_bytes()
    if damage == "no list of features":
        Path(f"{library}.features").unlink()
    else:
        bad = {"empty": b"", "cut": good[: len(good) // 2], "one byte": good[:-1] + bytes([good[-1] ^ 1])}
        library.with_name("new").write_bytes(bad[damage])
        library.with_name("new").replace(library)  # the old one is mapped into this process
    opened: list[bytes] = []

    class Recorded(ctypes.CDLL):
        def __init__(self, path: str) -> None:
            opened.append(Path(path).read_bytes())
            super().__init__(path)

    monkeypatch.setattr(ctypes, "CDLL", Recorded)
    assert answer(source) == 42
    assert opened == [good]
    assert len(compilations()) == 2
    assert library_of(cache).read_bytes() == good


def test_a_library_that_is_intact_and_cannot_be_imported_is_built_again_under_another_name(
    tmp_path: Path, cache: Path
) -> None:
    module = module_named("arm", tmp_path)
    assert load_model(module, backend="c").backend == "c"
    (library,) = cache.glob("arm.*.so")
    name, key, _, *suffixes = library.name.split(".")
    (tmp_path / "nothing.c").write_text("int nothing;\n")
    command = [str(compilation.compiler()), "-shared", "-fPIC", str(tmp_path / "nothing.c")]
    subprocess.run([*command, "-o", str(tmp_path / "nothing.so")], check=True)
    content = (tmp_path / "nothing.so").read_bytes()
    other = cache / ".".join([name, key, hashlib.sha256(content).hexdigest()[:16], *suffixes])
    other.write_bytes(content)
    shutil.copy(f"{library}.features", f"{other}.features")
    library.unlink()
    assert load_model(module, backend="c").backend == "c"
    assert other.is_file()
    assert library.is_file()


def test_libraries_lie_in_the_users_own_cache_alone(source: Path, cache: Path, tmp_path: Path) -> None:
    """Nothing is written beside a module, and nothing beside it is opened."""
    assert answer(source) == 42
    assert cache.stat().st_mode & 0o777 == 0o700
    assert [path.name for path in source.parent.iterdir()] == ["small.c"]
    cache.chmod(0o755)
    assert answer(source) == 42
    assert cache.stat().st_mode & 0o777 == 0o700


def test_a_cache_of_another_user_is_not_used(
    source: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert answer(source) == 42
    if os.geteuid() == 0:
        os.chown(cache, 54321, 54321)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: 54321)
    error = refused(source)
    assert error.code == "no_cache"
    assert str(cache) in str(error)


@pytest.mark.parametrize("home", ["/dev/null/none", "/proc/none"])
def test_a_cache_that_cannot_be_made_is_named_and_pure_python_answers(
    home: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", home)
    module = module_named("arm", tmp_path)
    with caplog.at_level(logging.WARNING):
        assert load_model(module).backend == "python"
    assert "XDG_CACHE_HOME" in caplog.text
    with pytest.raises(CompileError) as raised:
        load_model(module, backend="c")
    assert raised.value.code == "no_cache"


def test_a_user_without_a_home_is_told_to_name_a_cache(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in containers: no $HOME, and no account; "~" is no folder then."""
    for name in ("XDG_CACHE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)

    def nobody(user: int) -> None:
        raise KeyError(user)

    monkeypatch.setattr(pwd, "getpwuid", nobody)
    assert refused(source).code == "no_cache"
    assert not Path("~").exists()


@pytest.mark.parametrize("package", ["platformdirs", "filelock"])
def test_a_package_that_is_missing_is_named(
    package: str, source: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    error = refused(source)
    assert error.code == "missing"
    assert f"pip install {package}" in str(error)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_disk_that_fills_while_compiling_is_told_as_such(
    number: int, source: Path, tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the user's language: the compiler is told to speak English."""
    said = f"[ $LC_ALL = C ] && echo 'as: {os.strerror(number)}' >&2"
    script = f"#!/bin/sh\n[ $1 = --version ] || {{ {said}; exit 1; }}\n"
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    monkeypatch.setenv("CC", program(tmp_path, script.encode()))
    error = refused(source)
    assert error.code == "not_built"
    assert os.strerror(number) in str(error)
    assert list(cache.glob(".build*")) == []


def test_nothing_is_compiled_for_a_cache_whose_libraries_cannot_be_opened(
    source: Path, cache: Path, compilations: Callable[[], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Status:
        f_flag = 8

    monkeypatch.setattr(os, "statvfs", lambda folder: Status())
    monkeypatch.setattr(os, "ST_NOEXEC", 8, raising=False)
    error = refused(source)
    assert error.code == "no_cache"
    assert "noexec" in str(error)
    assert compilations() == []


def test_what_lies_in_the_cache_beside_libraries_does_not_matter(source: Path, cache: Path) -> None:
    """A pipe and deeply nested JSON under names of records of an older version, and a broken link."""
    assert answer(source) == 42
    library = library_of(cache)
    os.mkfifo(f"{library}.json")
    library.with_name(f"{library.name}.x.json").write_text("[" * 100_000)
    (cache / "small.link.so").symlink_to(cache / "nowhere")
    library.unlink()
    assert answer(source) == 42


def test_a_build_that_lost_its_power_is_cleared_away(source: Path, cache: Path) -> None:
    cache.mkdir(parents=True)
    (cache / ".build-ended").symlink_to("nowhere")  # as another process's, between a look and the next
    for name, age in (("old", 10_000), ("new", 10)):
        folder = cache / f".build-{name}"
        (folder / "objects").mkdir(parents=True)
        os.utime(folder, (time.time() - age,) * 2)
    assert answer(source) == 42
    assert sorted(path.name for path in cache.glob(".build-*")) == [".build-ended", ".build-new"]


def test_libraries_that_nothing_opened_for_a_long_time_are_cleared_away(source: Path, cache: Path) -> None:
    assert answer(source) == 42
    used = library_of(cache)
    for name, days in (("gone.1.2.so", 91), ("kept.1.2.so", 89)):
        library = cache / name
        library.write_bytes(b"")
        library.with_name(f"{name}.features").write_text("")
        os.utime(library, (time.time() - days * 86400,) * 2)
    for name, days in (("gone.3.4.so.features", 91), ("new.3.4.so.features", 0)):  # without their libraries
        (cache / name).write_text("")
        os.utime(cache / name, (time.time() - days * 86400,) * 2)
    os.utime(used, (time.time() - 91 * 86400,) * 2)
    assert answer(source) == 42  # opened: now it is used
    source.with_name("other.c").write_text(source.read_text() + "\n")
    assert answer(source.with_name("other.c")) == 42
    left = {path.name for path in cache.iterdir()}
    assert {used.name, "kept.1.2.so", "kept.1.2.so.features", "new.3.4.so.features"} <= left
    assert not {name for name in left if name.startswith("gone")}


def test_one_process_compiles_and_the_others_wait(
    source: Path, compilations: Callable[[], list[str]]
) -> None:
    command = [sys.executable, "-c", LOAD, str(source)]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(4)]
    assert [process.communicate(timeout=PATIENCE)[0] for process in processes] == [b"42\n"] * 4
    assert len(compilations()) == 1


@pytest.mark.parametrize(
    "error", [OSError(errno.ENOLCK, "No locks available"), NotImplementedError("no flock")]
)
def test_a_file_system_without_locks_does_not_keep_a_library_from_being_built(
    error: Exception, source: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr(filelock.FileLock, "acquire", refuse)
    assert answer(source) == 42


@pytest.fixture
def slow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cache: Path) -> Path:
    """A compiler that never ends, as a driver with a child; where both write their process ids."""
    pids = tmp_path / "pids"
    script = f'#!/bin/sh\n[ "$1" = --version ] && exit 0\nsleep 600 & echo $$ $! > {pids}.new\n'
    script += f"mv {pids}.new {pids}; wait\n"
    monkeypatch.setenv("CC", program(tmp_path, script.encode()))
    return pids


def wait_until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def alive(pid: int) -> bool:
    """Whether a process runs; one that ended and that nobody has asked for yet does not."""
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_build_that_is_killed_leaves_no_folder_and_no_compiler(
    number: int, source: Path, slow: Path, cache: Path
) -> None:
    process = subprocess.Popen([sys.executable, "-c", LOAD, source], stderr=subprocess.DEVNULL)
    wait_until(slow.is_file)
    pids = [int(word) for word in slow.read_text().split()]
    assert all(map(alive, pids))
    process.send_signal(number)
    process.wait(PATIENCE)
    wait_until(lambda: not any(map(alive, pids)))
    wait_until(lambda: list(cache.glob(".build*")) == [])
    assert list(cache.glob("*.so*")) == []


@pytest.mark.parametrize(
    "build",
    [
        "shared_library(pathlib.Path(sys.argv[1]))",
        "load_model('manipulator_5dof', backend='c', ready=CONTROL)",
    ],
)
def test_a_signal_whose_handler_only_takes_a_note_ends_the_build(
    source: Path, slow: Path, build: str
) -> None:
    """As nodes handle SIGINT: the flag is set, and the start ends."""
    code = f"""
import pathlib, signal, sys
from kane_dynamics_ros.runtime import CONTROL, load_model
from kane_dynamics_ros.runtime.compilation import shared_library
from kane_dynamics_ros.runtime.compilation import BuildInterruptedError
noted = []
def handler(number, frame):
    noted.append(number)
signal.signal(signal.SIGINT, handler)
try:
    {build}
except BuildInterruptedError:
    print(len(noted), signal.getsignal(signal.SIGINT) is handler)
"""
    process = subprocess.Popen([sys.executable, "-c", code, source], stdout=subprocess.PIPE, text=True)
    wait_until(slow.is_file)
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=PATIENCE)[0] == "1 True\n"


def test_that_it_compiles_is_said_at_info_level(
    source: Path, cache: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "kane_dynamics_ros"):
        answer(source)
        answer(source)
    assert [(record.levelname, str(source) in record.getMessage()) for record in caplog.records] == [
        ("INFO", True)
    ]


def test_what_is_compiled_is_a_copy_of_the_text_whose_hash_was_compared(
    tmp_path: Path, compilations: Callable[[], list[str]]
) -> None:
    module = module_named("arm", tmp_path)
    load_model(module, backend="c")
    (call,) = compilations()
    assert str(module.with_suffix(".c")) not in call.split()
    assert "arm.c" in call.split()


def test_a_library_is_used_by_every_processor_that_has_its_features(
    source: Path, compilations: Callable[[], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A kernel update that adds a flag must not cost a robot without a compiler its compiled form."""
    real = compilation.processor_features()
    assert answer(source) == 42
    assert (compilation.NATIVE[0] in compilations()[0].split()) == bool(real)
    monkeypatch.setattr(compilation, "processor_features", lambda: real | {"avx99"})
    monkeypatch.setattr(compilation, "compiler", lambda: None)
    assert answer(source) == 42
    if real:
        monkeypatch.setattr(compilation, "processor_features", lambda: real - {min(real)})
        with pytest.raises(CompileError):
            answer(source)


def test_where_the_processor_is_unknown_portable_code_is_made_that_all_may_run(
    source: Path, compilations: Callable[[], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compilation, "processor_features", frozenset)
    assert answer(source) == 42
    assert compilation.NATIVE[0] not in compilations()[0].split()
    monkeypatch.setattr(compilation, "processor_features", lambda: frozenset({"avx99"}))
    assert answer(source) == 42
    assert len(compilations()) == 1


CPUINFO = {
    "x86_64": ("flags\t\t: fpu sse4_2 avx2 md_clear ibpb fma", {"sse4_2", "avx2", "fma"}),
    "aarch64": ("Features\t: fp asimd sve", {"fp", "asimd", "sve"}),
    "ppc64le": ("cpu\t\t: POWER9, altivec supported", set()),
    "riscv64": ("isa\t\t: rv64imafdc", set()),
}


@pytest.mark.parametrize("machine", CPUINFO)
def test_features_are_those_that_a_compiler_uses(machine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text, features = CPUINFO[machine]
    monkeypatch.setattr(platform, "machine", lambda: machine)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(Path, "read_text", lambda *_, **__: f"processor\t: 0\n{text}\n\n")
    assert compilation.processor_features() == features
