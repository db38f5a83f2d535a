"""``kane_dynamics demo``: the real nodes over DDS, three controllers on the same trajectory."""
