"""Links that bend: finite elements by Kane's equations."""
