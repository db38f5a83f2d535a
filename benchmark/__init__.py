"""Speed against other libraries, measured side by side: `make benchmark`, or `python -m benchmark`."""
