"""Uniform, filtered motion and effort from irregular joint states."""
