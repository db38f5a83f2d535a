"""The kane_dynamics command: joins the rooms."""

import importlib
import os
import signal
import sys

# Read when NumPy is imported: threads that wait for each other take longer than small matrices do, on a busy
# machine several times as long.
os.environ.setdefault("OMP_NUM_THREADS", "1")

INTERRUPTED = 130  # 128 + SIGINT, as shells report it


def command() -> int:
    """The process: Ctrl-C ends it quietly while it is still importing what it needs, too.

    Other signals that end it let it take away its folders and processes.
    """
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # as nohup leaves it
            signal.signal(number, lambda number, _: sys.exit(128 + number))
    try:
        return int(importlib.import_module("kane_dynamics_ros.cli.main").main())
    except KeyboardInterrupt:
        return INTERRUPTED
