"""Which angles a function takes the sine and cosine of, and its statements before and after that pass."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from kane_dynamics_ros.codegen.expression import CALL, SYMBOL
from kane_dynamics_ros.codegen.listing import Listing


@dataclass(frozen=True)
class TrigonometricPass:
    """A listing cut at its one pass of sines and cosines.

    ``angles`` are the nodes of the angles in order. ``window`` is (first, count) where they lie side by
    side in q, so that the pass reads q itself; ``place`` is each angle's place in the pass.
    """

    before: Listing
    after: Listing
    angles: tuple[int, ...]
    place: tuple[int, ...]
    window: tuple[int, int] | None


def cut_at_angles(listing: Listing, sine_name: Callable[[str, int], str]) -> TrigonometricPass:
    """Cut a listing at its sines and cosines, which are renamed.

    Args:
        listing: a function's statements; every angle is computed without a sine or cosine.
        sine_name: the text for ("s" or "c", place of the angle).
    """
    calls = [i for i in listing.statements if _is_trigonometric(listing, i)]
    angles = tuple(sorted({listing.node(i).a for i in calls}))
    nodes = [listing.node(i) for i in angles]
    place, window = tuple(range(len(angles))), None
    if angles and all(node.kind == SYMBOL for node in nodes):
        joints = [int(node.label[2:-1]) for node in nodes]  # of "q[3]"
        first = min(joints)
        place, window = tuple(j - first for j in joints), (first, max(joints) - first + 1)
    by_angle = dict(zip(angles, place, strict=True))
    names = dict(listing.names)
    for i in calls:
        node = listing.node(i)
        names[i] = sine_name(node.label[0], by_angle[node.a])
    early = _needed_by(listing, angles)
    rest = [i for i in listing.statements if i not in early and i not in names]
    before = replace(listing, statements=tuple(i for i in listing.statements if i in early), outputs=())
    return TrigonometricPass(
        before, replace(listing, names=names, statements=tuple(rest)), angles, place, window
    )


def _is_trigonometric(listing: Listing, index: int) -> bool:
    node = listing.node(index)
    return node.kind == CALL and node.label in ("sin", "cos")


def _needed_by(listing: Listing, roots: tuple[int, ...]) -> set[int]:
    statements, needed, stack = set(listing.statements), set[int](), list(roots)
    while stack:
        index = stack.pop()
        if index in statements and index not in needed:
            needed.add(index)
            node = listing.node(index)
            stack += [i for i in (node.a, node.b) if i >= 0]
    return needed
