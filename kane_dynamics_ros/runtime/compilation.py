"""Compile C into a library, once for each source, kind of processor and Python, and open it.

A library is code that runs with the user's rights, so that it is opened only where nobody else could have put
it: file and folder belong to the user or to root, neither the group nor others may write to them, and nobody
else may exchange the folder, or one above it, for another. It is looked for beside its source, and in the
user's cache (``$XDG_CACHE_HOME/kane_dynamics_ros/compiled``, 0700).

Beside each library NAME.KEY.HASH lies a record with its size, its hash and the processor's features that it
was compiled for. KEY says what it was made from, HASH what it holds, so that what is mapped into a process is
never replaced. A library that is damaged, or that this processor lacks features for, is passed over.
"""

import contextlib
import ctypes
import errno
import fcntl
import functools
import grp
import hashlib
import importlib.machinery
import importlib.util
import json
import logging
import os
import platform
import pwd
import re
import shutil
import signal
import stat
import subprocess
import sys
import sysconfig
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any, NamedTuple, TypeVar

import numpy as np

from kane_dynamics_ros.errors import KaneDynamicsError

FLAGS = ("-std=c99", "-O3", "-ffp-contract=fast", "-fno-math-errno", "-fPIC", "-shared", "-pthread")
NATIVE = "-march=native"
MOST_SECONDS = 900  # for a compiler that hangs
RECORD = ".json"  # after the library's name
NOEXEC = "it is mounted noexec"
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
SUPERVISOR = Path(__file__).with_name("supervised.py")
BINDING = Path(__file__).with_name("extension.c")
BINDING_PARTS = (BINDING, BINDING.with_name("run-batches.h"))
# Python enters extensions in sys.modules: a bare `json` would hide its own.
PACKAGE = "kane_dynamics_ros.compiled"
# What a compiler uses of the flags in /proc/cpuinfo; the others come and go with the kernel.
X86_FEATURES = re.compile(
    r"mmx|sse|ssse|pni|avx|amx|fma|f16c|bmi|abm|popcnt|movbe|adx|aes|vaes|pclmul|vpclmul|sha|gfni|xop|tbm|3dnow"
    r"|cx16|lahf|rdrand|rdseed|xsave|fsgsbase|clflushopt|clwb|prefetchw|movdir|serialize|lzcnt"
)

Opened = TypeVar("Opened")
log = logging.getLogger(__name__)


class CompileError(KaneDynamicsError):
    """The compiled form was asked for and cannot be had."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{path}: cannot be compiled: {reason}; use backend='python' or fix the cause")


class BuildInterruptedError(KaneDynamicsError):
    """A signal ended the process's wait for the compiler."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"{path}: interrupted while it was compiled; the next start compiles it")


class Wanted(NamedTuple):
    """A library that is to be had."""

    source: Path  # of C: what messages name; libraries may be beside it
    key: str  # hash of all that it depends on
    suffix: str
    prepare: Callable[[Path], Sequence[str]]  # puts sources into the build folder; the compiler's arguments

    @property
    def stem(self) -> str:
        """What the names of the library, its record and its lock begin with."""
        return f"{self.source.stem}.{self.key}"


# What is wanted: the extension of a generated module, or a C file of this package for ctypes.


def load_library(source: Path, c_sha256: str) -> ModuleType:
    """The imported extension for NAME.c, with NAME.h beside it; compiled where there is none.

    ``c_sha256`` is the hash of both texts, as NAME.py states it.

    Raises:
        CompileError: it cannot be compiled, or what was compiled cannot be imported.
    """
    return _obtain(_extension(source, c_sha256), lambda path: _import(source.stem, path))[1]


def library_path(source: Path, c_sha256: str) -> Path:
    """Where the extension for NAME.c is; it was compiled where it was absent. Raises ``CompileError``."""
    return _obtain(_extension(source, c_sha256), lambda path: _import(source.stem, path))[0]


def shared_library(source: Path) -> ctypes.CDLL:
    """The library of a C file of ours that needs libm only; compiled where it is absent.

    Raises ``CompileError``.
    """
    key = _key(source.read_text(encoding="utf-8"))
    wanted = Wanted(source, key, ".so", lambda folder: [str(source)])
    return _obtain(wanted, lambda path: ctypes.CDLL(str(path)))[1]


@functools.cache
def shared_function(source: Path, name: str, result: Any) -> Any | None:
    """A function of such a library, which returns ctypes' ``result``; ``None``, and logged, without one."""
    try:
        function = getattr(shared_library(source), name)
    except CompileError as error:
        log.warning("%s cannot be compiled (%s); NumPy gives the same, slower", source.name, error)
        return None
    function.restype = result
    return function


def source_library(source: Path, name: str, text: str) -> Path:
    """The library of NAME.c, NAME.h beside it, together with C text of ours around it; compiled where absent.

    Raises ``CompileError``.
    """
    texts = {path.name: path.read_bytes() for path in (source, source.with_suffix(".h"))}

    def prepare(folder: Path) -> list[str]:
        for file, content in {**texts, f"{name}.c": text.encode()}.items():
            (folder / file).write_bytes(content)
        return ["-iquote", str(folder), str(folder / f"{name}.c"), str(folder / source.name)]

    key = _key(text, *(content.decode() for content in texts.values()))
    wanted = Wanted(source.with_name(f"{name}.c"), key, ".so", prepare)
    return _obtain(wanted, lambda path: ctypes.CDLL(str(path)))[0]


def _extension(source: Path, c_sha256: str) -> Wanted:
    """The extension of a generated module, compiled from copies of the texts whose hash was compared."""

    def prepare(folder: Path) -> list[str]:
        names = [source.with_suffix(suffix) for suffix in (".h", ".c")]
        if not all(path.is_file() for path in names):
            raise CompileError(source, "NAME.c and NAME.h are not beside NAME.py")
        texts = [path.read_bytes() for path in names]
        if hashlib.sha256(b"".join(texts).replace(b"\r\n", b"\n")).hexdigest() != c_sha256:
            raise CompileError(source, "it was changed after it was generated")
        include = sysconfig.get_path("include")
        if not (Path(include) / "Python.h").is_file():
            raise CompileError(source, f"Python.h is not in {include} (Debian and Ubuntu: python3-dev)")
        for path, text in zip(names, texts, strict=True):
            (folder / path.name).write_bytes(text)
        name = source.stem
        return [
            f"-DKD(function)={name}_##function",
            f"-DKD_SIZE(size)={name.upper()}_##size",
            f"-DKD_INIT=PyInit_{name}",
            f'-DKD_TITLE="{name}"',
            f'-DKD_HEADER="{name}.h"',
            "-iquote",
            str(folder),
            f"-I{include}",
            f"-I{np.get_include()}",
            str(BINDING),
            str(folder / source.name),
        ]

    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    binding = (path.read_text(encoding="utf-8") for path in BINDING_PARTS)
    key = _key(c_sha256, *binding, np.__version__.split(".")[0], str(suffix))
    return Wanted(source, key, str(suffix), prepare)


def _key(*parts: str) -> str:
    facts = (*parts, FLAGS, sys.platform, platform.machine())
    return hashlib.sha256(repr(facts).encode()).hexdigest()[:16]


# Finding, opening, building.


def _obtain(wanted: Wanted, opener: Callable[[Path], Opened]) -> tuple[Path, Opened]:
    """The first library that is intact and opens; one is built if need be. Raises ``CompileError``."""
    failed: set[Path] = set()
    found = _first_that_opens(wanted, opener, failed)
    if found is None:
        with _interruptible(wanted.source), _alone(wanted):
            found = _first_that_opens(wanted, opener, failed)  # another process may have built it meanwhile
            if found is None:
                found = _build(wanted, opener, failed)
    return found


def _first_that_opens(
    wanted: Wanted, opener: Callable[[Path], Opened], failed: set[Path]
) -> tuple[Path, Opened] | None:
    for folder in folders(wanted.source):
        for path in _intact(folder, wanted):
            if path in failed:
                continue
            try:
                return path, opener(path)
            except (ImportError, OSError) as error:
                failed.add(path)
                log.warning("%s; another is looked for, or built", error)
    return None


def _build(wanted: Wanted, opener: Callable[[Path], Opened], failed: set[Path]) -> tuple[Path, Opened]:
    """Compile in a folder of its own, then rename: no process meets half a library."""
    command = compiler()
    if command is None:
        raise CompileError(wanted.source, "no C compiler was found ($CC, cc, gcc, clang)")
    reasons = []
    for folder in folders(wanted.source):
        reason = _why_unusable(folder)
        if reason:
            reasons.append(f"{folder}: {reason}")
            continue
        try:
            with _build_folder(folder, wanted) as work:
                log.info("compiling %s with %s: once, and it takes a while", wanted.source, command)
                library = work / "library"
                features = processor_features()
                flags = [NATIVE] if features else []
                arguments = [*flags, *wanted.prepare(work)]
                run_compiler(command, wanted.source, arguments, library)
                path = _install(library, folder, wanted, features)
            if path in failed:
                raise CompileError(wanted.source, f"{path} cannot be opened, and is built so again")
            return path, opener(path)
        except (ImportError, OSError) as error:  # a full disk; a system that opens no library from here
            reasons.append(f"{folder}: {error}")
    raise CompileError(wanted.source, "; ".join(reasons))


def _intact(folder: Path, wanted: Wanted) -> list[Path]:
    """The libraries there that nobody else could have changed and this processor can run; fastest first."""
    present, found = processor_features(), []
    try:
        if _why_untrusted(folder):
            return []
        records = [name for name in os.listdir(folder) if name.startswith(f"{wanted.stem}.")]
    except OSError:  # absent, or not ours to enter
        return []
    for name in sorted(records):
        if name.endswith(wanted.suffix + RECORD):
            path = folder / name.removesuffix(RECORD)
            try:
                record = json.loads(_read_trusted(folder / name))
                needed = set(record["features"])
                if needed <= present and _read_trusted(path, record["size"], record["sha256"]):
                    found.append((-len(needed), path))
            except (OSError, ValueError, KeyError, TypeError) as error:
                log.warning("%s is not used: %s", path, error)
    return [path for _, path in sorted(found)]


def _read_trusted(path: Path, size: int | None = None, sha256: str | None = None) -> bytes:
    """A file's content, once its owner, mode, size and hash are found right. Raises ``OSError``."""
    with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC), "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode) or not _is_trusted(status):
            raise OSError(errno.EPERM, "it belongs to another user, or others may write to it")
        content = file.read() if size in (None, status.st_size) else b""
    if sha256 is not None and hashlib.sha256(content).hexdigest() != sha256:
        raise OSError(errno.EIO, "it is damaged")
    return content


def _is_trusted(status: os.stat_result) -> bool:
    """Whether only the user and root may have written there."""
    return status.st_uid in (os.geteuid(), 0) and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _why_untrusted(folder: Path) -> str:
    """Why somebody else could put files into a folder, or exchange it for another; "" where nobody can."""
    if not _is_trusted(os.stat(folder)):
        return "it belongs to another user, or others may write to it"
    above = {*folder.absolute().parents, *folder.resolve().parents}  # where links lie, and where they lead
    for parent in sorted(above):
        if _others_may_rename_in(os.stat(parent)):
            return f"others may exchange it, since they may write to {parent}"
    return ""


def _others_may_rename_in(status: os.stat_result) -> bool:
    """Whether another account of this machine may rename what is in a folder, of whoever it is."""
    if status.st_uid not in (os.geteuid(), 0, os.stat("/").st_uid) and _is_account(status.st_uid):
        return True
    if status.st_mode & stat.S_ISVTX:  # as /tmp: each may rename its own only
        return False
    by_group = status.st_mode & stat.S_IWGRP and not is_own_group(status.st_gid)
    return bool(by_group or status.st_mode & stat.S_IWOTH)


def _is_account(user: int) -> bool:
    """Whether somebody can log in as the user. A folder mounted into a container has an owner outside."""
    try:
        pwd.getpwuid(user)
    except KeyError:
        return False
    return True


def is_own_group(group: int) -> bool:
    """Whether a group is root's, or the user's private one: of its name, without members (umask 002)."""
    try:
        found, user = grp.getgrgid(group), pwd.getpwuid(os.geteuid())
    except KeyError:
        return group == 0
    private = group == user.pw_gid and found.gr_name == user.pw_name and {*found.gr_mem} <= {user.pw_name}
    return group == 0 or private


def folders(source: Path) -> list[Path]:
    """Where a library may be: beside the source, then the user's cache, where the user has a home."""
    cache = cache_folder()
    return [source.parent] if cache is None else [source.parent, cache]


def cache_folder() -> Path | None:
    """The user's own folder for libraries; ``None`` for a user without a home, as in containers."""
    try:
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    except RuntimeError:  # no $HOME, and a user without a name
        return None
    return Path(base) / "kane_dynamics_ros" / "compiled"


def _why_unusable(folder: Path) -> str:
    """Why no library may be put there; "" where one may. Makes the cache where it is absent."""
    try:
        if folder == cache_folder():
            folder.mkdir(parents=True, exist_ok=True)
            links = folder.parent.resolve() / folder.name != folder.resolve()
            if os.stat(folder).st_uid == os.geteuid() and not links:
                folder.chmod(0o700)
        if reason := _why_untrusted(folder):
            return reason
        if os.statvfs(folder).f_flag & getattr(os, "ST_NOEXEC", 0):
            return NOEXEC
    except OSError as error:
        return str(error.strerror)
    return "" if os.access(folder, os.W_OK | os.X_OK) else "it cannot be written"


@contextlib.contextmanager
def _alone(wanted: Wanted) -> Iterator[None]:
    """One process of the user's builds, the others wait.

    The lock lies in the cache, or, where there is none to write to, beside the source; it is removed after.
    """
    for folder in reversed(folders(wanted.source)):
        if _why_unusable(folder) in ("", NOEXEC):
            try:
                lock, path = _locked(folder, wanted), _lock_path(folder, wanted)
            except OSError:  # a full disk
                continue
            try:
                yield
            finally:
                path.unlink(missing_ok=True)
                os.close(lock)
            return
    yield  # there is no folder to build in either


def _lock_path(folder: Path, wanted: Wanted) -> Path:
    return folder / f".{wanted.stem}-{os.geteuid()}.lock"


def _locked(folder: Path, wanted: Wanted) -> int:
    """The lock's file, open and locked, once nobody else holds it. Raises ``OSError``."""
    path = _lock_path(folder, wanted)
    while True:
        lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            if not _lock(lock):
                log.info("waiting for another process that compiles %s", wanted.source)
                fcntl.flock(lock, fcntl.LOCK_EX)
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(lock), os.lstat(path)):
                    return lock
        except BaseException:
            os.close(lock)
            raise
        os.close(lock)  # who held it has removed it meanwhile


def _lock(file: int) -> bool:
    """Lock an open file; whether nobody else holds it."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        pass
    return True


@contextlib.contextmanager
def _build_folder(folder: Path, wanted: Wanted) -> Iterator[Path]:
    """A folder of one's own to compile in; what a build left that lost its power is removed.

    It is locked, so that a build under way is told from one that ended, also by who has no lock in common.
    """
    prefix = f".build-{wanted.stem}-{os.geteuid()}-"
    for name in os.listdir(folder):
        if name.startswith(prefix):
            _remove_ended_build(folder / name)
    with tempfile.TemporaryDirectory(dir=folder, prefix=prefix, ignore_cleanup_errors=True) as work:
        opened = os.open(work, os.O_RDONLY | os.O_CLOEXEC)
        try:
            _lock(opened)
            yield Path(work)
        finally:
            os.close(opened)


def _remove_ended_build(folder: Path) -> None:
    try:
        opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:  # gone, or no folder
        return
    try:
        if _lock(opened):
            shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(opened)


def _install(library: Path, folder: Path, wanted: Wanted, features: frozenset[str]) -> Path:
    """Move a library and, last, its record into place; both are on the disk before they have names."""
    content = library.read_bytes()
    sha256 = hashlib.sha256(content).hexdigest()
    name = f"{wanted.stem}.{sha256[:16]}{wanted.suffix}"
    record = library.with_name("record")
    facts = {"size": len(content), "sha256": sha256, "features": sorted(features)}
    record.write_text(json.dumps(facts), encoding="utf-8")
    for built, target in ((library, folder / name), (record, folder / (name + RECORD))):
        built.chmod(0o755 if built is library else 0o644)
        with built.open("rb") as file:
            os.fsync(file.fileno())
        built.replace(target)
    return folder / name


def _import(name: str, path: Path) -> ModuleType:
    """Import an extension; one already imported from this path is used again. Raises ``ImportError``."""
    key = f"{PACKAGE}.{path}"
    if key not in sys.modules:
        loader = importlib.machinery.ExtensionFileLoader(f"{PACKAGE}.{name}", str(path))
        spec = importlib.util.spec_from_file_location(f"{PACKAGE}.{name}", path, loader=loader)
        if spec is None:
            raise ImportError(f"{path} has no loader")
        module = importlib.util.module_from_spec(spec)
        loader.exec_module(module)
        sys.modules[key] = module
    return sys.modules[key]


# The compiler, and the processor that it compiles for.


def compiler() -> str | None:
    """The C compiler: $CC, or the first of cc, gcc, clang on the PATH that answers."""
    names = filter(None, (os.environ.get("CC"), "cc", "gcc", "clang"))
    return next((path for path in map(shutil.which, names) if path and _answers(path)), None)


def _answers(path: str) -> bool:
    try:
        return subprocess.run([path, "--version"], capture_output=True, check=False).returncode == 0
    except OSError:  # no program of this machine
        return False


def processor_features() -> frozenset[str]:
    """The instruction sets of this processor; empty where the system does not tell.

    They decide what a library of ``-march=native`` runs on. Where they are unknown (RISC-V, POWER, others)
    the compiler's portable default is used, which runs on every machine of the kind.
    """
    machine = platform.machine().lower()
    x86 = machine in ("x86_64", "amd64", "i386", "i686")
    if not x86 and not machine.startswith(("aarch64", "arm")):
        return frozenset()
    if sys.platform == "darwin":
        return _features_of_darwin()
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return frozenset()
    line = re.search(r"^(?:flags|features)\s*:(.*)$", text, re.IGNORECASE | re.MULTILINE)
    words = line.group(1).split() if line else []
    return frozenset(word for word in words if not x86 or X86_FEATURES.match(word))


def _features_of_darwin() -> frozenset[str]:
    """``hw.optional`` of macOS: names whose value is 1, on Intel's processors and Apple's."""
    try:
        run = subprocess.run(["sysctl", "hw.optional"], capture_output=True, text=True, check=False)
    except OSError:
        return frozenset()
    pairs = (line.rpartition(":") for line in run.stdout.splitlines())
    return frozenset(name for name, _, value in pairs if value.strip() == "1")


def run_compiler(command: str, source: Path, arguments: Sequence[str], target: Path) -> None:
    """Compile ``source`` into a shared library, in the target's folder.

    The compiler ends with this process, however that ends, and leaves nothing in the folder.

    Args:
        command: from ``compiler``.
        source: what error messages name.
        arguments: the files, and options beside ``FLAGS``.
        target: the library.

    Raises:
        CompileError: the compiler's words, or that it did not end. OSError: the disk is full.
    """
    words = [command, *FLAGS, *arguments, "-o", str(target), "-lm"]
    theirs, ours = os.pipe()  # when ours is closed, by whatever ends this process, the compiler is killed
    try:
        with subprocess.Popen(
            [sys.executable, "-I", "-S", str(SUPERVISOR), str(target.parent), *words],
            stdin=theirs,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,  # apart from the terminal's Ctrl-C, which this process handles
            text=True,
            errors="replace",
        ) as process:
            try:
                _, said = process.communicate(timeout=MOST_SECONDS)
            except subprocess.TimeoutExpired:
                raise CompileError(source, f"the compiler did not end within {MOST_SECONDS} s") from None
            finally:
                os.close(ours)
    finally:
        os.close(theirs)
    for number in NO_ROOM:
        if os.strerror(number) in said:
            raise OSError(number, os.strerror(number), str(target.parent))
    ended_by = -process.returncode if process.returncode < 0 else process.returncode - 128
    if ended_by > 0 and not said.strip():
        name = signal.Signals(ended_by).name
        raise CompileError(source, f"the compiler was ended by {name}; is there enough memory?")
    if process.returncode != 0:
        raise CompileError(source, f"the compiler says: {said.strip()[-800:] or 'nothing'}")


@contextlib.contextmanager
def _interruptible(source: Path) -> Iterator[None]:
    """Let the first SIGINT or SIGTERM end a build at once, also where its handler only takes a note.

    Raises:
        BuildInterruptedError: after the handler, which may raise its own exception.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    kept = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def interrupt(number: int, frame: FrameType | None) -> None:
        handler = kept[signal.Signals(number)]
        if callable(handler):
            handler(number, frame)
        raise BuildInterruptedError(source)

    for number, handler in kept.items():
        if callable(handler):
            signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number, handler in kept.items():
            if callable(handler):
                signal.signal(number, handler)
