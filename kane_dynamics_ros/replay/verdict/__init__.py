"""Measured against predicted effort: how well, on which joint, and which term is at fault."""
