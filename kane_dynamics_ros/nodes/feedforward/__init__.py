"""``feedforward_node``: joint states and a trajectory in, joint efforts out."""
