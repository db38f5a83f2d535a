"""A large function cut into parts that a compiler takes one by one.

What a compiler spends on one function grows with the square of its length. Parts of a bounded length keep the
cost of the whole proportional to its statements, at full optimisation. Values that a later part needs pass
through an array; a place in it is used again once nobody needs the value any more.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from kane_dynamics_ros.codegen.passes import Listing

LARGE = 6_000  # statements from which on a function is cut
LARGE_OF_MANY = 4_000  # the same of one with MANY results; fewer hang on one chain, which a cut holds up
MANY = 20
LONGEST = 500  # statements of a part, and outputs that it writes


@dataclass(frozen=True)
class FunctionPart:
    """Some consecutive statements of a function.

    ``listing`` names values of earlier parts ``m[place]``; ``given`` says in which place of m a value for
    later parts belongs; ``outputs`` numbers the outputs of the whole function that the listing has.
    """

    listing: Listing
    given: Mapping[int, int]
    outputs: Sequence[int]


def is_large(listing: Listing) -> bool:
    """Whether a function is to be cut."""
    return len(listing.statements) >= (LARGE_OF_MANY if len(listing.outputs) >= MANY else LARGE)


def cut_in_parts(listing: Listing, longest: int = LONGEST) -> tuple[list[FunctionPart], int]:
    """The parts in order, and how many places m has.

    Outputs are written where they are computed; those that are inputs or constants, in parts of their own.
    """
    statements = listing.statements
    pieces = [statements[k : k + longest] for k in range(0, len(statements), longest)]
    home = {index: k for k, piece in enumerate(pieces) for index in piece}
    written: list[list[int]] = [[] for _ in pieces]
    unchanged: list[int] = []
    for number, output in enumerate(listing.outputs):
        (written[home[output.index]] if output.index in home else unchanged).append(number)
    operands = [{i for index in piece for i in listing.node(index)[1:3] if i >= 0} for piece in pieces]
    taken = [sorted(i for i in met if home.get(i, k) != k) for k, met in enumerate(operands)]
    last = {i: k for k, needed in enumerate(taken) for i in needed}  # the part that needs a value last
    place: dict[int, int] = {}
    free: list[int] = []
    room = 0
    parts = []
    for k, piece in enumerate(pieces):
        names = {i: listing.names[i] for i in operands[k] if i in listing.names}
        names |= {i: f"m[{place[i]}]" for i in taken[k]}
        given = {}
        for index in piece:
            if index in last:
                if not free:
                    free, room = [room], room + 1
                place[index] = given[index] = free.pop()
        free += [place[i] for i in taken[k] if last[i] == k]
        parts.append(_part(listing, names, piece, given, written[k]))
    for k in range(0, len(unchanged), longest):
        numbers = unchanged[k : k + longest]
        names = {i: listing.names[i] for i in (listing.outputs[number].index for number in numbers)}
        parts.append(_part(listing, names, (), {}, numbers))
    return parts, room


def _part(
    whole: Listing,
    names: Mapping[int, str],
    statements: Sequence[int],
    given: Mapping[int, int],
    outputs: Sequence[int],
) -> FunctionPart:
    own = replace(whole, names=names, statements=statements, outputs=[whole.outputs[k] for k in outputs])
    return FunctionPart(own, given, outputs)
