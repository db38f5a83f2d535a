"""Which joints of a chain turn about parallel axes: their angles add up, as in c_23."""

from typing import TypeAlias

import numpy as np

from kane_dynamics_ros.description.model import Chain

Groups: TypeAlias = tuple[tuple[int, ...], ...]
_PARALLEL = 1e-9  # sine of the angle between two axes


def parallel_groups(chain: Chain) -> Groups:
    """All coordinates, those of neighbouring joints about parallel axes together."""
    groups: list[set[int]] = []
    axis = np.zeros(3)  # of the last turning joint, in the present body's axes
    for joint in chain.joints:
        axis = np.array(joint.R_PJ, dtype=float).T @ axis
        own = np.array(joint.axis, dtype=float)
        if joint.kind == "prismatic":
            groups.insert(0, {joint.coordinate})  # it parts no neighbours
            continue
        if not axis.any() or np.linalg.norm(np.cross(axis, own)) > _PARALLEL:
            groups.append(set())
        groups[-1].add(joint.coordinate)
        axis = own
    return tuple(sorted(tuple(sorted(group)) for group in _disjoint(groups)))


def _disjoint(groups: list[set[int]]) -> list[set[int]]:
    """Groups that share a coordinate (a joint that follows another) joined."""
    joined: list[set[int]] = []
    for group in groups:
        meeting = [other for other in joined if other & group]
        joined = [other for other in joined if not other & group]
        joined.append(group.union(*meeting))
    return joined
