"""The kane_dynamics command: joins the rooms."""

import os

# Read when NumPy is imported: threads that wait for each other take longer than small matrices do, on a busy
# machine several times as long.
os.environ.setdefault("OMP_NUM_THREADS", "1")
