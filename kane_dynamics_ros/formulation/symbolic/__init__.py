"""Equations of motion in symbols, to be read."""
