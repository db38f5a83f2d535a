"""Speed against other libraries, measured side by side: `make benchmark`, or `python -m benchmark`."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # read when NumPy is imported: all are timed on one processor
