"""Scalar straight-line programs, their printers, and the module writer."""
