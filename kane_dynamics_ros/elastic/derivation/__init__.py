"""Offline: the element matrices integrated symbolically once, and written as a module. Needs SymPy."""
