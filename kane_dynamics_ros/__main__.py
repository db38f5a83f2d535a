"""``python -m kane_dynamics_ros`` is the ``kane_dynamics`` command."""

import sys

from kane_dynamics_ros.cli import command

if __name__ == "__main__":
    sys.exit(command())
