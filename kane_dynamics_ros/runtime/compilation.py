"""Compile C into a library, once for each text, kind of processor and Python, and open it.

A library is code that runs with the user's rights. So there is one place for all of them, the user's own
cache (``$XDG_CACHE_HOME/kane_dynamics_ros/compiled``), which no other user may enter: it belongs to the user,
mode 0700.

A library is called NAME.KEY.HASH. KEY says what it was made from, HASH what it holds, so that what is mapped
into a process is never replaced, and what was damaged is not opened. Beside it stands a list of the
processor's features that it was compiled for: a cache may be shared by computers, and copied to one without a
compiler.
"""

import contextlib
import ctypes
import errno
import functools
import hashlib
import importlib.machinery
import importlib.util
import logging
import os
import platform
import re
import shutil
import signal
import stat
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any, NamedTuple, TypeVar

import numpy as np

from kane_dynamics_ros.errors import KaneDynamicsError

# What looks for the same expression in several blocks finds nothing in straight-line code, and takes long.
OPTIMISED = ("-O3", "-fno-gcse", "-fno-gcse-after-reload", "-fno-tree-pre")
FLAGS = ("-std=c99", *OPTIMISED, "-ffp-contract=fast", "-fno-math-errno", "-fPIC", "-shared", "-pthread")
# The processor's instructions without its cost model: tuned for AMD's Zen or Intel's servers, GCC's code for
# five joints is a tenth slower (docs/speed.md).
NATIVE = ("-march=native", "-mtune=generic")
MOST_SECONDS = 900  # for a compiler that hangs
UNUSED_SECONDS = 90 * 86400  # after which a library is removed
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
SUPERVISOR = Path(__file__).with_name("supervised.py")
BINDING = Path(__file__).with_name("extension.c")
UNIT = BINDING.with_name("unit.c")
HEADERS = (BINDING.with_name("run-batches.h"), BINDING.with_name("wrappers.h"))
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
    """The compiled form was asked for and cannot be had.

    Codes: ``no_compiler``, ``compiler_failed``, ``timeout``, ``no_cache``, ``not_built`` (a full disk, or a
    library that does not open), ``changed`` (the C text does not belong to the module), ``missing`` (a file
    or package).
    """


class Unit(NamedTuple):
    """The functions that a library has: their forms for one state, and those for many."""

    one: tuple[str, ...]
    many: tuple[str, ...]


class BuildInterruptedError(KaneDynamicsError):
    """A signal ended the process's wait for the compiler."""


def _cannot(path: Path, reason: str, code: str) -> CompileError:
    message = f"{path}: cannot be compiled: {reason}; use backend='python' or fix the cause"
    return CompileError(message, code, path=path, reason=reason)


@dataclass(frozen=True)
class Wanted:
    """A library that is to be had."""

    source: Path  # of C: what messages name
    texts: Mapping[str, bytes]  # the files that are compiled, in a folder of their own
    arguments: Sequence[str]  # for the compiler, which runs in that folder
    includes: Sequence[str] = ()  # more of them, on which the library does not depend
    suffix: str = ".so"

    @functools.cached_property
    def stem(self) -> str:
        """What the names of the library and its lock begin with: NAME.KEY."""
        version = np.__version__.split(".")[0]
        facts = (sorted(self.texts.items()), self.arguments, self.suffix, version, FLAGS)
        of_machine = (os.environ.get("CC", ""), sys.platform, platform.machine())
        return f"{self.source.stem}.{hashlib.sha256(repr((facts, of_machine)).encode()).hexdigest()[:16]}"


# What is wanted: the extension of a generated module, or a C file of this package for ctypes.


def extension(source: Path, c_sha256: str, functions: Collection[str], unit: Unit) -> tuple[Path, ModuleType]:
    """The extension for NAME.c, imported, and where it is; compiled where it is absent.

    Args:
        source: NAME.c, with NAME.h beside it.
        c_sha256: the hash of both texts, as NAME.py states it.
        functions: all that it declares.
        unit: those that are compiled.

    Raises:
        CompileError: it cannot be compiled, or what was compiled cannot be imported.
    """
    texts, arguments = _with_wrappers(source, c_sha256, functions, unit, BINDING)
    arguments += [f"-DKD_INIT=PyInit_{source.stem}", source.name]
    includes = [f"-I{sysconfig.get_path('include')}", f"-I{np.get_include()}"]
    wanted = Wanted(source, texts, arguments, includes, str(sysconfig.get_config_var("EXT_SUFFIX")))
    return _obtain(wanted, lambda path: _import(source.stem, path))


def library(
    source: Path, c_sha256: str, functions: Collection[str], unit: Unit, elsewhere: Collection[str]
) -> ctypes.CDLL:
    """The library of some functions of NAME.c, ``run_NAME`` and ``batch_NAME``, as ``extension`` calls them.

    Arguments as there; ``elsewhere``: functions of other libraries that these call, by the pointer
    ``NAME_gravity_elsewhere``, which is null at first. Raises ``CompileError``.
    """
    texts, arguments = _with_wrappers(source, c_sha256, functions, unit, UNIT)
    pointers = [f"-D{source.stem}_{each}=(*{source.stem}_{each}_elsewhere)" for each in elsewhere]
    arguments += ["-DKD_WITHOUT_parameters", f'-DKD_SOURCE="{source.name}"', *pointers]
    return _obtain(Wanted(source, texts, arguments), lambda path: ctypes.CDLL(str(path)))[1]


def _with_wrappers(
    source: Path, c_sha256: str, functions: Collection[str], unit: Unit, ours: Path
) -> tuple[dict[str, bytes], list[str]]:
    """The files to compile and the compiler's arguments for NAME.c with ``ours``, which calls it."""
    stem, own = source.stem, f"kd-{ours.name}"  # a hyphen, which no NAME has
    arguments = [
        f"-DKD(function)={stem}_##function",
        f"-DKD_SIZE(size)={stem.upper()}_##size",
        f'-DKD_TITLE="{stem}"',
        f'-DKD_HEADER="{stem}.h"',
        *(f"-DKD_RUNS_{name}={int(name in unit.one)}" for name in functions),
        *(f"-DKD_BATCHES_{name}={int(name in unit.many)}" for name in functions),
        *(f"-DKD_WITHOUT_{name}" for name in functions if name not in unit.one + unit.many),
        *(["-DKD_WITHOUT_STATES"] if set(unit.many) - set(unit.one) else []),
        *(["-DKD_WITHOUT_BATCHES"] if set(unit.one) - set(unit.many) else []),
        own,
    ]
    texts = {own: ours.read_bytes(), **{path.name: path.read_bytes() for path in HEADERS}}
    texts |= _generated_texts(source, c_sha256)
    # The sections of these functions alone: those of long arms take long to skip.
    start = rf"(?m)^#ifndef KD_WITHOUT_({'|'.join(functions)})$".encode()
    head, *sections = re.split(start, texts[source.name])
    kept = (
        b"#ifndef KD_WITHOUT_%b%b" % (name, section)
        for name, section in zip(sections[::2], sections[1::2], strict=True)
        if name.decode() in unit.one + unit.many
    )
    texts[source.name] = b"".join((head, *kept))
    return texts, arguments


def surrounded_library(source: Path, c_sha256: str, name: str, text: str) -> Path:
    """The library of NAME.c together with C text of ours, ``name``.c, around it; compiled where absent.

    ``source`` and ``c_sha256`` as in ``extension``. Raises ``CompileError``.
    """
    texts = {**_generated_texts(source, c_sha256), f"{name}.c": text.encode()}
    wanted = Wanted(source.with_name(f"{name}.c"), texts, [f"{name}.c", source.name])
    return _obtain(wanted, lambda path: ctypes.CDLL(str(path)))[0]


def _generated_texts(source: Path, c_sha256: str) -> dict[str, bytes]:
    """NAME.h and NAME.c, whose hash was compared: what is compiled is what belongs to the loaded module."""
    try:
        texts = {path.name: path.read_bytes() for path in (source.with_suffix(".h"), source)}
    except OSError as error:
        reason = f"NAME.c and NAME.h cannot be read beside NAME.py ({error.strerror})"
        raise _cannot(source, reason, "missing") from error
    if hashlib.sha256(b"".join(texts.values()).replace(b"\r\n", b"\n")).hexdigest() != c_sha256:
        raise _cannot(source, "it was changed after it was generated", "changed")
    return texts


def shared_library(source: Path, *options: str) -> ctypes.CDLL:
    """The library of a C file of ours that needs libm only; compiled with ``options`` where it is absent.

    Raises ``CompileError``.
    """
    wanted = Wanted(source, {source.name: source.read_bytes()}, [*options, source.name])
    return _obtain(wanted, lambda path: ctypes.CDLL(str(path)))[1]


@functools.cache
def shared_function(source: Path, name: str, result: Any, *options: str) -> Any | None:
    """A function of such a library, which returns ctypes' ``result``; ``None``, and logged, without one."""
    try:
        function = getattr(shared_library(source, *options), name)
    except CompileError as error:
        log.warning("%s cannot be compiled (%s); NumPy gives the same, slower", source.name, error)
        return None
    function.restype = result
    return function


# The cache: finding, opening, building.


def cache_folder(wanted: Wanted) -> Path:
    """The user's own folder for libraries, made where it is absent. Raises ``CompileError``."""
    try:
        import platformdirs

        folder = platformdirs.user_cache_path("kane_dynamics_ros") / "compiled"
        if not folder.is_absolute():
            raise RuntimeError("no $HOME, and a user without a name, as in containers")
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = os.stat(folder)
        if status.st_uid != os.geteuid():
            reason = f"{folder} belongs to another user; set XDG_CACHE_HOME to a folder of yours"
            raise _cannot(wanted.source, reason, "no_cache")
        if stat.S_IMODE(status.st_mode) & 0o077:
            folder.chmod(0o700)
    except RuntimeError as error:  # platformdirs, too, says so of a user without a home
        reason = f"you have no folder for a cache ({error}); set XDG_CACHE_HOME"
        raise _cannot(wanted.source, reason, "no_cache") from error
    except ImportError as error:
        reason = f"the Python package {error.name!r} is not installed (pip install {error.name})"
        raise _cannot(wanted.source, reason, "missing") from error
    except OSError as error:
        reason = f"{error.filename}: {error.strerror}; set XDG_CACHE_HOME to a folder that you may write to"
        raise _cannot(wanted.source, reason, "no_cache") from error
    return folder


def _obtain(wanted: Wanted, opener: Callable[[Path], Opened]) -> tuple[Path, Opened]:
    """The first library that is intact and opens; one is built if need be. Raises ``CompileError``."""
    folder = cache_folder(wanted)
    found = _first_that_opens(folder, wanted, opener)
    if found is None:
        with interruptible(wanted.source), _alone(folder, wanted):
            found = _first_that_opens(folder, wanted, opener)  # another process may have built it meanwhile
            if found is None:
                found = _build(folder, wanted, opener)
    return found


def _first_that_opens(
    folder: Path, wanted: Wanted, opener: Callable[[Path], Opened]
) -> tuple[Path, Opened] | None:
    """Of those that are what their name says and that this processor can run, the one with most features."""
    present, intact = processor_features(), []
    for path in sorted(folder.glob(f"{wanted.stem}.*{wanted.suffix}")):
        with contextlib.suppress(OSError):
            needed = set(_features_file(path).read_text(encoding="utf-8").split())
            content = path.read_bytes()
            if needed <= present and hashlib.sha256(content).hexdigest()[:16] in path.name:
                intact.append((-len(needed), path))
    for _, path in sorted(intact):
        try:
            opened = opener(path)
        except (ImportError, OSError) as error:
            log.info("%s; another is looked for, or built", error)
        else:
            with contextlib.suppress(OSError):  # a cache that is only read
                os.utime(path)
            return path, opened
    return None


def _features_file(library: Path) -> Path:
    return Path(f"{library}.features")


def _build(folder: Path, wanted: Wanted, opener: Callable[[Path], Opened]) -> tuple[Path, Opened]:
    """Compile in a folder of its own, then rename: no process meets half a library."""
    command = compiler()
    if command is None:
        raise _cannot(wanted.source, "no C compiler was found ($CC, cc, gcc, clang)", "no_compiler")
    try:
        if os.statvfs(folder).f_flag & getattr(os, "ST_NOEXEC", 0):
            reason = f"{folder} is mounted noexec; set XDG_CACHE_HOME to a folder that is not"
            raise _cannot(wanted.source, reason, "no_cache")
        _remove_old(folder)
        with tempfile.TemporaryDirectory(dir=folder, prefix=".build-", ignore_cleanup_errors=True) as work:
            log.info("compiling %s with %s: once, and it takes a while", wanted.source, command)
            for name, text in wanted.texts.items():
                Path(work, name).write_bytes(text)
            features = processor_features()
            run_compiler(command, wanted, NATIVE if features else (), Path(work, "library"))
            path = _install(Path(work, "library"), folder, wanted, features)
        return path, opener(path)
    except (ImportError, OSError) as error:  # a full disk; a system that opens no library from here
        raise _cannot(wanted.source, f"{folder}: {error}", "not_built") from error


def _remove_old(folder: Path) -> None:
    """What builds left that lost their power, as no compiler runs that long, and libraries long unused."""
    now = time.time()
    for work in folder.glob(".build-*"):
        with contextlib.suppress(OSError):  # a build of another library that ends meanwhile
            if work.stat().st_mtime < now - 2 * MOST_SECONDS:
                shutil.rmtree(work)
    for features in folder.glob("*.features"):
        library = features.with_suffix("")
        with contextlib.suppress(OSError):
            if (library if library.exists() else features).stat().st_mtime < now - UNUSED_SECONDS:
                library.unlink(missing_ok=True)
                features.unlink()


def _install(library: Path, folder: Path, wanted: Wanted, features: frozenset[str]) -> Path:
    """Move a library into place, its features first; both are on the disk before they have names."""
    sha256 = hashlib.sha256(library.read_bytes()).hexdigest()
    target = folder / f"{wanted.stem}.{sha256[:16]}{wanted.suffix}"
    needed = library.with_name("features")
    needed.write_text(" ".join(sorted(features)), encoding="utf-8")
    for built, name in ((needed, _features_file(target)), (library, target)):
        with built.open("rb") as file:
            os.fsync(file.fileno())
        built.replace(name)
    return target


@contextlib.contextmanager
def _alone(folder: Path, wanted: Wanted) -> Iterator[None]:
    """One process of the user's builds, the others wait; each builds where there are no locks."""
    try:
        import filelock
    except ImportError as error:
        reason = "the Python package 'filelock' is not installed (pip install filelock)"
        raise _cannot(wanted.source, reason, "missing") from error
    lock = filelock.FileLock(folder / f".{wanted.stem}.lock")
    try:
        lock.acquire(timeout=0)
    except filelock.Timeout:
        log.info("waiting for another process that compiles %s", wanted.source)
        lock.acquire()
    except (OSError, NotImplementedError) as error:
        log.info("%s: no lock (%s); another process may compile the same", folder, error)
    try:
        yield
    finally:
        lock.release()


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


def available_processors() -> int:
    """How many processors this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def processor_features() -> frozenset[str]:
    """The instruction sets of this processor; empty where the system does not tell.

    They decide what a library of ``-march=native`` runs on. Where they are unknown (RISC-V, POWER, macOS,
    others) the compiler's portable default is used, which runs on every machine of the kind.
    """
    machine = platform.machine().lower()
    x86 = machine in ("x86_64", "amd64", "i386", "i686")
    if not x86 and not machine.startswith(("aarch64", "arm")):
        return frozenset()
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return frozenset()
    line = re.search(r"^(?:flags|features)\s*:(.*)$", text, re.IGNORECASE | re.MULTILINE)
    words = line.group(1).split() if line else []
    return frozenset(word for word in words if not x86 or X86_FEATURES.match(word))


def run_compiler(command: str, wanted: Wanted, options: Sequence[str], target: Path) -> None:
    """Compile into a shared library, in the target's folder, where the texts are.

    The compiler ends with this process, however that ends, and leaves nothing in the folder.

    Raises:
        CompileError: the compiler's words, or that it did not end. OSError: the disk is full.
    """
    words = [command, *FLAGS, *options, *wanted.arguments, *wanted.includes, "-o", str(target), "-lm"]
    theirs, ours = os.pipe()  # when ours is closed, by whatever ends this process, the compiler is killed
    try:
        with subprocess.Popen(
            [sys.executable, "-I", "-S", str(SUPERVISOR), str(target.parent), *words],
            cwd=target.parent,
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
                reason = f"the compiler did not end within {MOST_SECONDS} s"
                raise _cannot(wanted.source, reason, "timeout") from None
            finally:
                os.close(ours)
    finally:
        os.close(theirs)
    for number in NO_ROOM:
        if os.strerror(number) in said:
            raise OSError(number, os.strerror(number), str(target.parent))
    if process.returncode == 0:
        return
    ended_by = -process.returncode if process.returncode < 0 else process.returncode - 128
    reason = f"the compiler says: {said.strip()[-800:] or 'nothing'}"
    if ended_by > 0 and not said.strip():
        reason = f"the compiler was ended by {signal.Signals(ended_by).name}; is there enough memory?"
    elif re.search(r"Python\.h'?:? (No such|file not)", said):
        reason = "Python.h was not found (Debian and Ubuntu: python3-dev)"
    raise _cannot(wanted.source, reason, "compiler_failed")


@contextlib.contextmanager
def interruptible(source: Path) -> Iterator[None]:
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
        raise BuildInterruptedError(
            f"{source}: interrupted while it was compiled; the next start compiles it"
        )

    for number, handler in kept.items():
        if callable(handler):
            signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number, handler in kept.items():
            if callable(handler):
                signal.signal(number, handler)
