"""What a command is doing and how far it is, on standard error: one rule for every command.

Nothing appears in the first two seconds. After that a terminal shows one line, which is kept up to date and
disappears at the end; a file or a pipe gets a line for each step that lasts, and one every ten seconds.
"""

import os
import shutil
import sys
import threading
import time
from types import TracebackType
from typing import TextIO

from tqdm import tqdm

PATIENCE = 2.0  # [s] without a word
REDRAW = 0.5  # [s] between two states of a terminal's line
REPEAT = 10.0  # [s] between two lines of a step in a file
CLEAR = "\r\x1b[K"  # the terminal's line


class Progress:
    """The progress of one command, from the start of its ``with`` block, the first ``step``, to the end.

    What the command prints as its result is printed after the block, so that no bar cuts through it. The line
    is written by a thread, so that it goes on where a step cannot say how far it is, as a compiler's run.

        with Progress("deriving the equations") as progress:
            equations = derive(chain)
            progress.doing("reading the bags", total=len(bags), unit="bags")
            for bag in bags:
                read(bag)
                progress.advance()

    ``doing`` and ``advance`` are what a room's ``progress: Callable[[str], object]`` or
    ``Callable[[int], object]`` takes.
    """

    def __init__(self, step: str = "", *, stream: TextIO | None = None, patience: float = PATIENCE) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._patience = patience
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._show, daemon=True)
        self._step, self._count, self._total, self._unit = step, 0, 0, ""
        self._since = self._start = time.monotonic()

    def __enter__(self) -> "Progress":
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        self._ended.set()
        self._thread.join()

    def doing(self, step: str, total: int | None = None, unit: str = "") -> None:
        """Begin a step, named in words; ``total``, where known, of the units that ``advance`` counts."""
        with self._lock:
            self._step, self._count, self._total, self._unit = step, 0, total or 0, unit
            self._since = time.monotonic()

    def advance(self, count: int = 1) -> None:
        """``count`` more of the step's units are done."""
        self._count += count

    def _show(self) -> None:
        """Write until the block ends."""
        terminal = self._stream.isatty() and os.environ.get("TERM") != "dumb"
        shown, last = "", 0.0
        self._ended.wait(self._patience)
        while not self._ended.is_set():
            with self._lock:
                step, now = self._step, time.monotonic()
                if step and terminal:
                    self._stream.write(CLEAR + self._bar(now))
                elif step and (step != shown or now - last >= REPEAT):
                    self._stream.write(self._line(now) + "\n")
                    shown, last = step, now
                self._stream.flush()
            self._ended.wait(REDRAW)
        if terminal:
            self._stream.write(CLEAR)
            self._stream.flush()

    def _bar(self, now: float) -> str:
        """The line of a terminal, as wide as that is."""
        width = shutil.get_terminal_size().columns - 1
        if not self._total:
            return self._line(now)[:width]
        elapsed = now - self._since
        return tqdm.format_meter(self._count, self._total, elapsed, width, self._step, unit=" " + self._unit)

    def _line(self, now: float) -> str:
        """``reading the bags: 3 of 10 bags, 12 s``."""
        of = f" of {self._total}" if self._total else ""
        count = f": {self._count}{of} {self._unit}".rstrip() if self._total or self._count else ""
        return f"{self._step}{count}, {now - self._start:.0f} s"
