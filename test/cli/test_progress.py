"""What a command shows of its progress: nothing when it is quick, a line where it is not."""

import io
import threading
import time

import pytest

from kane_dynamics_ros.cli.progress import CLEAR, PATIENCE, Progress


class Stream(io.StringIO):
    """A stream of a terminal or of a file, which says when something has come."""

    def __init__(self, *, terminal: bool = False) -> None:
        super().__init__()
        self.terminal, self.came = terminal, threading.Condition()

    def isatty(self) -> bool:
        return self.terminal

    def write(self, text: str) -> int:
        with self.came:
            self.came.notify_all()
            return super().write(text)

    def wait_for(self, text: str) -> None:
        with self.came:
            assert self.came.wait_for(lambda: text in self.getvalue(), timeout=60), self.getvalue()


def test_a_quick_command_shows_nothing():
    stream = Stream()
    with Progress(stream=stream) as progress:
        progress.doing("reading")
    assert stream.getvalue() == ""
    assert PATIENCE == 2.0  # [s] the rule that all commands keep


def test_a_file_gets_a_line_for_each_step_that_lasts():
    stream = Stream()
    with Progress(stream=stream, patience=0.0) as progress:
        progress.doing("deriving the equations")
        stream.wait_for("deriving the equations, ")
        progress.doing("reading", total=4, unit="bags")
        stream.wait_for("reading: 0 of 4 bags, ")
        progress.doing("a step that is over at once")
        progress.doing("compiling")
        stream.wait_for("compiling")
    assert len(stream.getvalue().splitlines()) == 3
    assert CLEAR not in stream.getvalue()


def test_a_terminal_shows_one_line_with_the_share_that_is_done_and_ends_without_it():
    stream = Stream(terminal=True)
    with Progress(stream=stream, patience=0.0) as progress:
        progress.doing("reading", total=4, unit="bags")
        progress.advance(3)
        stream.wait_for("75%")
        stream.wait_for("3/4")
    assert "\n" not in stream.getvalue()
    assert stream.getvalue().endswith(CLEAR)


def test_steps_that_cannot_say_how_far_they_are_show_their_time_nevertheless(monkeypatch):
    monkeypatch.setattr("kane_dynamics_ros.cli.progress.REDRAW", 0.01)
    stream = Stream(terminal=True)
    with Progress(stream=stream, patience=0.0) as progress:
        progress.doing("compiling")
        time.sleep(1.1)  # without a word to the progress
        stream.wait_for("compiling, 1 s")


def test_an_error_leaves_the_block_and_clears_the_line():
    stream = Stream(terminal=True)

    def fails():
        with Progress(stream=stream, patience=0.0) as progress:
            progress.doing("reading")
            stream.wait_for("reading")
            raise ValueError("fault")

    with pytest.raises(ValueError, match="fault"):
        fails()
    assert stream.getvalue().endswith(CLEAR)
