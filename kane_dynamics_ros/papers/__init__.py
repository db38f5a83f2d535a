"""What only reproduces the three papers: their figures, systems and counts."""
