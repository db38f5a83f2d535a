"""Building libraries: hostile compilers and names; damaged and planted files; builds at once, and killed."""

import ctypes
import errno
import grp
import hashlib
import json
import logging
import os
import platform
import pwd
import shutil
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

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
    assert str(raised.value) == (
        f"{module.with_suffix('.c')}: cannot be compiled: the compiler says: "
        "caf\N{REPLACEMENT CHARACTER}: no; use backend='python' or fix the cause"
    )


def test_a_user_without_a_home_needs_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", homeless)
    assert load_model(module_named("arm", tmp_path), backend="c").backend == "c"


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
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    return tmp_path / "home/kane_dynamics_ros/compiled"


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


def record_of(library: Path) -> Path:
    return Path(f"{library}{compilation.RECORD}")


def plant(text: str, library: Path, tmp_path: Path) -> None:
    """Put other code in a library's place, with a record that fits."""
    evil = tmp_path / "evil.c"
    evil.write_text(text)
    command = [str(compilation.compiler()), "-shared", "-fPIC", str(evil), "-o", str(tmp_path / "evil.so")]
    subprocess.run(command, check=True)
    library.unlink(missing_ok=True)
    shutil.move(tmp_path / "evil.so", library)
    library.chmod(0o755)
    content = library.read_bytes()
    facts = {"size": len(content), "sha256": hashlib.sha256(content).hexdigest(), "features": []}
    record_of(library).write_text(json.dumps(facts))


@pytest.mark.parametrize("damage", ["empty", "cut", "one byte", "no record", "record is no JSON"])
def test_a_damaged_library_is_built_again_and_never_opened(
    damage: str, source: Path, compilations: Callable[[], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Opening a library that was cut short ends the process with SIGBUS."""
    assert answer(source) == 42
    library = library_of(source.parent)
    good = library.read_bytes()
    if damage == "no record":
        record_of(library).unlink()
    elif damage == "record is no JSON":
        record_of(library).write_text("{")
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
    assert library_of(source.parent).read_bytes() == good


def test_a_library_that_opens_and_cannot_be_imported_is_built_again_under_another_name(
    tmp_path: Path, cache: Path
) -> None:
    module = module_named("arm", tmp_path)
    assert load_model(module, backend="c").backend == "c"
    (library,) = tmp_path.glob("arm.*.so")
    name, key, _, *suffixes = library.name.split(".")
    planted = library.with_name(".".join([name, key, "0" * 16, *suffixes]))
    plant("int nothing;\n", planted, tmp_path)
    library.unlink()
    assert load_model(module, backend="c").backend == "c"
    assert planted.is_file()
    assert library.is_file()


@pytest.mark.parametrize("how", ["folder for all", "folder for the group", "file for all", "record for all"])
def test_a_library_that_others_could_have_planted_is_not_opened(
    how: str, source: Path, tmp_path: Path, cache: Path, compilations: Callable[[], list[str]]
) -> None:
    assert answer_of_another_process(source) == b"42\n"
    library = library_of(source.parent)
    plant("int answer(void) { return 666; }\n", library, tmp_path)
    assert answer_of_another_process(source) == b"666\n"  # the plant is good
    if how.startswith("folder"):
        source.parent.chmod(0o777 if how == "folder for all" else 0o775)
    else:
        (library if how.startswith("file") else record_of(library)).chmod(0o666)
    assert answer_of_another_process(source) == b"42\n"
    if how.startswith("folder"):
        assert cache.stat().st_mode & 0o777 == 0o700
        assert library_of(cache).is_file()
    before = len(compilations())
    assert answer_of_another_process(source) == b"42\n"
    assert len(compilations()) == before


@pytest.mark.parametrize(("mode", "trusted"), [(0o755, True), (0o777, False), (0o1777, True)])
def test_a_folder_that_others_could_exchange_for_another_is_not_used(
    mode: int, trusted: bool, source: Path, tmp_path: Path, cache: Path
) -> None:
    """Who may write to the folder above may put another one in its place between the look and the opening."""
    above = tmp_path / "above"
    above.mkdir()
    moved = Path(shutil.move(source.parent, above)) / source.name
    assert answer(moved) == 42
    (library,) = moved.parent.glob("*.so")
    wanted = compilation.Wanted(moved, library.name.split(".")[1], ".so", lambda folder: [])
    link = tmp_path / "link"
    link.symlink_to(moved.parent)
    above.chmod(mode)
    assert bool(compilation._intact(moved.parent, wanted)) is trusted
    assert bool(compilation._intact(link, wanted)) is trusted
    above.chmod(0o755)
    (tmp_path / "links").mkdir(mode=0o755)
    link = tmp_path / "links/link"
    link.symlink_to(moved.parent)
    (tmp_path / "links").chmod(mode)
    assert bool(compilation._intact(link, wanted)) is trusted


OTHER = 54321  # no account of this machine, and no group


@pytest.mark.parametrize(
    ("mode", "user", "group", "may"),
    [
        (0o755, None, 0, False),
        (0o775, None, 0, False),  # root's group
        (0o775, None, OTHER, True),
        (0o1775, None, OTHER, False),
        (0o755, OTHER, 0, False),  # the owner of a container's mount
        (0o755, pwd.getpwnam("nobody").pw_uid, 0, True),
        (0o1777, pwd.getpwnam("nobody").pw_uid, 0, True),
    ],
)
def test_who_may_rename_what_is_in_a_folder(mode: int, user: int | None, group: int, may: bool) -> None:
    status = (stat.S_IFDIR | mode, 0, 0, 2, os.geteuid() if user is None else user, group, 0, 0, 0, 0)
    assert compilation._others_may_rename_in(os.stat_result(status)) is may


def test_a_group_of_the_users_own_is_nobody_else(monkeypatch: pytest.MonkeyPatch) -> None:
    """Under umask 002, Ubuntu's, every folder may be written by the user's private group."""
    account = pwd.struct_passwd(("ada", "", 1000, 1000, "", "/home/ada", ""))
    monkeypatch.setattr(pwd, "getpwuid", lambda user: account)
    groups = {1000: ("ada", "", 1000, []), 7: ("lab", "", 7, ["ada", "bob"])}
    monkeypatch.setattr(grp, "getgrgid", lambda group: grp.struct_group(groups[group]))
    assert compilation.is_own_group(1000)
    assert not compilation.is_own_group(7)
    groups[1000] = ("ada", "", 1000, ["bob"])
    assert not compilation.is_own_group(1000)


def test_a_library_of_another_user_is_not_opened(
    source: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert answer(source) == 42
    library = library_of(source.parent)
    wanted = compilation.Wanted(source, library.name.split(".")[1], ".so", lambda folder: [])
    assert compilation._intact(source.parent, wanted) == [library]
    if os.geteuid() == 0:
        os.chown(library, 54321, 54321)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: 54321)
    assert compilation._intact(source.parent, wanted) == []


def test_a_link_in_a_librarys_place_is_not_followed(source: Path, tmp_path: Path, cache: Path) -> None:
    assert answer(source) == 42
    library = library_of(source.parent)
    library.rename(tmp_path / "elsewhere")
    library.symlink_to(tmp_path / "elsewhere")
    wanted = compilation.Wanted(source, library.name.split(".")[1], ".so", lambda folder: [])
    assert compilation._intact(source.parent, wanted) == []


def test_what_lies_in_the_cache_is_used_when_the_folder_of_the_source_fails(
    source: Path, cache: Path, compilations: Callable[[], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full disk: each load compiled again."""
    really = compilation.run_compiler

    def full(command: str, file: Path, arguments: list[str], target: Path) -> None:
        if target.is_relative_to(source.parent):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(target))
        really(command, file, arguments, target)

    monkeypatch.setattr(compilation, "run_compiler", full)
    for _ in range(2):
        assert answer(source) == 42
    assert len(compilations()) == 1
    assert library_of(cache).is_file()
    assert [path.name for path in source.parent.iterdir()] == ["small.c"]


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_compiler_that_finds_the_disk_full_is_followed_by_the_next_folder(
    number: int, source: Path, tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the user's language: it is told to speak English."""
    said = f"[ $LC_ALL = C ] && echo 'as: {os.strerror(number)}' >&2"
    script = f"#!/bin/sh\n[ $1 = --version ] || {{ {said}; exit 1; }}\n"
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    monkeypatch.setenv("CC", program(tmp_path, script.encode()))
    with pytest.raises(CompileError) as raised:
        answer(source)
    for folder in (source.parent, cache):
        assert str(folder) in str(raised.value)


def test_libraries_are_put_only_where_they_may_be_opened(
    source: Path, cache: Path, compilations: Callable[[], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    noexec = [source.parent]

    class Status:
        def __init__(self, folder: Path) -> None:
            self.f_flag = 8 if folder in noexec else 0

    monkeypatch.setattr(os, "statvfs", Status)
    monkeypatch.setattr(os, "ST_NOEXEC", 8, raising=False)
    for _ in range(2):
        assert answer(source) == 42
    library_of(cache).unlink()
    noexec.append(cache)
    with pytest.raises(CompileError):
        answer(source)
    assert len(compilations()) == 1


def test_one_process_compiles_and_the_others_wait(
    source: Path, compilations: Callable[[], list[str]]
) -> None:
    command = [sys.executable, "-c", LOAD, str(source)]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(4)]
    assert [process.communicate(timeout=PATIENCE)[0] for process in processes] == [b"42\n"] * 4
    assert len(compilations()) == 1


@pytest.mark.parametrize("homes", [("/dev/null/none", "/dev/null/none"), ("one", "two")])
def test_processes_without_a_cache_in_common_do_not_disturb_each_others_builds(
    homes: tuple[str, str], source: Path, compilations: Callable[[], list[str]], tmp_path: Path
) -> None:
    """The second found the folder of the first's build, took it for a killed one's, and removed it."""
    started, go_on = tmp_path / "started", tmp_path / "go_on"
    compiler = Path(os.environ["CC"])
    wait = f"[ $1 = --version ] || {{ touch {started}; until [ -e {go_on} ]; do sleep 0.05; done; }}"
    compiler.write_text(compiler.read_text().replace("exec ", f"{wait}\nexec "))
    telling = "import logging; logging.basicConfig(level=logging.INFO); "
    command = [sys.executable, "-c", telling + LOAD, str(source)]
    processes = []
    for number, home in enumerate(homes):
        environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / home)}
        log = tmp_path / f"{number}.log"
        with log.open("wb") as said:
            processes.append(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=said, env=environment))
        wait_until(lambda log=log: log.stat().st_size > 0)  # it says that it compiles, or waits
        wait_until(started.is_file)
    go_on.touch()
    assert [process.communicate(timeout=PATIENCE)[0] for process in processes] == [b"42\n"] * 2
    assert len(compilations()) == len(set(homes))
    left = {path.name for path in source.parent.iterdir()}
    library = library_of(source.parent)
    assert left == {"small.c", library.name, record_of(library).name}


def test_a_lock_that_cannot_be_made_does_not_keep_a_library_from_being_built(
    source: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cache on a full disk, beside a source that is on another."""
    really = os.open

    def full(path: str, *arguments: Any, **options: Any) -> int:
        if str(path).endswith(".lock") and cache in Path(path).parents:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        return really(path, *arguments, **options)

    monkeypatch.setattr(os, "open", full)
    assert answer(source) == 42
    assert library_of(source.parent).is_file()


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
    wait_until(lambda: [path.name for path in source.parent.iterdir()] == ["small.c"])
    assert list(cache.glob(".build*")) == []


def test_a_signal_whose_handler_only_takes_a_note_ends_the_build(source: Path, slow: Path) -> None:
    """As nodes handle SIGINT: the flag is set, and the start ends."""
    code = """
import pathlib, signal, sys
from kane_dynamics_ros.runtime.compilation import shared_library
from kane_dynamics_ros.runtime.compilation import BuildInterruptedError
noted = []
def handler(number, frame):
    noted.append(number)
signal.signal(signal.SIGINT, handler)
try:
    shared_library(pathlib.Path(sys.argv[1]))
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
    with caplog.at_level(logging.INFO):
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
    assert any(word.endswith("/arm.c") for word in call.split())


def test_a_library_is_used_by_every_processor_that_has_its_features(
    source: Path, compilations: Callable[[], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A kernel update that adds a flag must not cost a robot without a compiler its compiled form."""
    real = compilation.processor_features()
    assert answer(source) == 42
    assert (compilation.NATIVE in compilations()[0].split()) == bool(real)
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
    assert compilation.NATIVE not in compilations()[0].split()
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
