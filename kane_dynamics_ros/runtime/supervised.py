"""Run a command that ends, with all that it started, when the process that asked for it ends.

A script of its own, for a Python without site packages: ``supervised.py FOLDER COMMAND ...``. Its standard
input is a pipe that the caller keeps open. When the caller closes it, or is killed, the command and its
children are killed and FOLDER, where they work, is removed. They say what they say in English, which the
caller understands. Exit code: the command's, or 128 + the number of the signal that ended it.
"""

import os
import shutil
import signal
import subprocess
import sys
import threading


def wait_for_caller(caller_ended: threading.Event, process: "subprocess.Popen[bytes]") -> None:
    """Kill the command once standard input ends."""
    while os.read(0, 64):
        pass
    caller_ended.set()
    os.killpg(process.pid, signal.SIGKILL)  # its own session: cc, and the cc1 and ld that it runs


def main() -> int:
    """The process; its exit code."""
    folder, command = sys.argv[1], sys.argv[2:]
    environment = {**os.environ, "TMPDIR": folder, "LC_ALL": "C"}
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, env=environment, start_new_session=True)
    caller_ended = threading.Event()
    threading.Thread(target=wait_for_caller, args=(caller_ended, process), daemon=True).start()
    code = process.wait()
    if caller_ended.is_set():
        shutil.rmtree(folder, ignore_errors=True)
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main())
