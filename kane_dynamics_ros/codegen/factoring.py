"""Fewer operations for the same values: sums of products, factored.

A derivation goes body by body, and does not see what its results have in common: that a sum takes away what
an operand added, that two products share a factor, that the rest of them is a sum that another body formed.
Here the outputs of a function become sums of products, which three rules shorten as long as that pays:

    a - (a + b)       = -b                    a sum is put in where its terms cancel or merge,
    a b + a c         = a (b + c)             a common factor is taken out, best where b + c occurs again,
    a b c, a b d, ... : p = a b, p c, p d     a product that occurs again is formed once.

The last two are chosen greedily, by the operations that they save in the whole function [Hosangadi2006]. Only
these identities are used: no value is approximated, and no product of sums is expanded.
"""

import heapq
import itertools
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from kane_dynamics_ros.codegen.graph import (
    ADD,
    CALL,
    CONSTANT,
    DIVIDE,
    MULTIPLY,
    SUBTRACT,
    SYMBOL,
    Expression,
    Graph,
    live_nodes,
    operations,
)
from kane_dynamics_ros.codegen.passes import OPERATORS

Product = tuple[int, ...]  # factors in order: nodes and sums; first, where it is negative, a constant
Terms = dict[Product, float]  # a sum: the coefficient of each product; () is the constant term


def simplified(outputs: Sequence[Expression]) -> tuple[Expression, ...]:
    """The outputs with fewer operations, or as they are.

    The result is on a graph of its own; the outputs must not depend on ``prepared`` values.

    Args:
        outputs: of one function, on one graph.
    """
    program = _Program(outputs)
    program.put_in()
    program.factor()
    program.put_in()
    return min(tuple(outputs), program.written(), key=lambda found: operations(found).total)


class _Kernel(NamedTuple):
    """What a common factor leaves of two terms: a sum of two products, the second with a sign."""

    a: Product
    b: Product
    sign: int

    @property
    def cost(self) -> int:
        return 1 + _multiplications(self.a) + _multiplications(self.b)


class _Pair(NamedTuple):
    """A product of two factors."""

    a: int
    b: int

    @property
    def cost(self) -> int:
        return 1


Candidate = tuple[int, _Kernel | _Pair]  # with 0 or 1: of those that save as much, kernels come first


class _Program:
    """The outputs of a function as sums of products of leaves and of each other.

    Leaves are symbols, calls and quotients.
    """

    def __init__(self, outputs: Sequence[Expression]) -> None:
        self.graph, self.outputs = outputs[0].graph, outputs
        self.sums: dict[int, Terms] = {}
        self.kept = {output.index for output in outputs}  # those that are needed themselves
        self.fresh = itertools.count(len(self.graph.nodes))
        self.trees: dict[int, Terms] = {}  # sums as they were read, where nothing cancelled on the way
        self.magnitudes: list[float] = []  # of constants: the factor -1 stands for the first, and so on
        self.constants: dict[float, int] = {}  # the factor of each magnitude
        self._read()

    def _read(self) -> None:
        """Sums of their own: outputs, sums in products, what is used twice."""
        nodes, live = self.graph.nodes, live_nodes(self.graph, self.outputs)
        uses = Counter(i for index in live for i in nodes[index][1:3])
        terms: dict[int, Terms] = {}  # of each node, for those that use it
        leaves: dict[int, int] = {}  # how many terms each node had before any merged
        self.postures: set[int] = set()  # nodes that depend on positions alone
        for index in live:
            kind, a, b, label, value = nodes[index]
            moving = any(i >= 0 and i not in self.postures for i in (a, b))
            if label.startswith("q[") or (kind != SYMBOL and not moving):
                self.postures.add(index)
            own: Terms = {(index,): 1.0}
            if kind == CONSTANT:
                own = {(): value}
            elif kind in (ADD, SUBTRACT, MULTIPLY):
                if kind == MULTIPLY:
                    own = _times(*(self._as_factor(i, terms, leaves) for i in (a, b)))
                else:
                    own = _gained(terms[a], terms[b], 1.0 if kind == ADD else -1.0)
                    leaves[index] = leaves.get(a, 1) + leaves.get(b, 1)
                if index in self.kept or uses[index] > 1:
                    terms[index] = own
                    own = self._own_sum(index, terms, leaves)
            elif kind == DIVIDE:
                for i in (a, b):
                    self.kept.add(i)
                    if terms[i] != {(i,): 1.0}:
                        self.sums[i] = terms[i]
            terms[index] = own

    def _as_factor(self, index: int, terms: dict[int, Terms], leaves: dict[int, int]) -> Terms:
        """A node where it is a factor, with a sum of its own where it has several terms."""
        if len(terms[index]) != 1:
            terms[index] = self._own_sum(index, terms, leaves)
        return terms[index]

    def _own_sum(self, index: int, terms: dict[int, Terms], leaves: dict[int, int]) -> Terms:
        """A node becomes a sum of its own: what stands for it."""
        self.sums[index] = terms[index]
        if leaves.pop(index, 1) == len(terms[index]):
            self.trees[index] = terms[index]
        return {(index,): 1.0}

    # Sums put in where terms cancel or merge

    def put_in(self) -> None:
        """Put sums into those that use them, where that saves operations or a sum; drop unused ones."""
        changed = True
        while changed:
            changed = False
            uses: dict[int, list[tuple[int, Product]]] = defaultdict(list)
            for user, terms in self.sums.items():
                for product in terms:
                    for factor in product:
                        uses[factor].append((user, product))
            for index in list(self.sums):
                if index in uses:
                    changed |= self._put_in_users(index, uses[index])
                elif index not in self.kept:
                    del self.sums[index]
                    changed = True

    def _put_in_users(self, index: int, places: Sequence[tuple[int, Product]]) -> bool:
        """Whether a sum was put into one that uses it; ``places``: those, and which of their products."""
        own, changed = self.sums[index], False
        cost, once = _cost(own), len(places) == 1 and index not in self.kept
        for user, product in places:
            terms = self.sums.get(user, {})
            meets = len(product) == 1 < len(own) and not terms.keys().isdisjoint(own)
            if product not in terms or not (meets or once or not cost):  # or else the user has changed
                continue
            rest = _without(product, (index,))
            put = {tuple(sorted((*each, *rest))): c * terms[product] for each, c in own.items()}
            found = _gained({each: c for each, c in terms.items() if each != product}, put)
            before, after = _cost(terms) + cost * once, _cost(found)
            if after < before or (after == before and (once or not cost)):
                self.sums[user] = found
                changed = True
        return changed

    # Common factors, and products that occur again

    def factor(self) -> None:
        """Form what saves most, again and again, until nothing saves any more."""
        self.found: dict[Candidate, dict[int, list[tuple[Product, ...]]]] = defaultdict(dict)
        self.savings: Counter[Candidate] = Counter()
        self.of_sum: dict[int, dict[Candidate, int]] = {}
        self.heap: list[tuple[int, Candidate]] = []
        for index in self.sums:
            self._look_through(index)
        while self.heap:
            negative, candidate = heapq.heappop(self.heap)
            saved = self.savings[candidate] - candidate[1].cost
            if saved > 0 and saved == -negative:
                self._form(candidate)
            elif saved > 0:
                heapq.heappush(self.heap, (-saved, candidate))

    def _look_through(self, index: int) -> None:
        """Find the candidates in a sum, again after it has changed."""
        for candidate, saving in self.of_sum.pop(index, {}).items():
            self.savings[candidate] -= saving
            del self.found[candidate][index]
        own = self.of_sum[index] = defaultdict(int)
        terms = [(self._factors(product, c), c > 0) for product, c in self.sums[index].items()]
        for k, (one, positive) in enumerate(terms):
            for pair in set(itertools.combinations(one, 2)):
                times = min(map(one.count, pair)) // (2 if pair[0] == pair[1] else 1)
                self._candidate(own, (1, _Pair(*pair)), index, times, one)
            for other, also in terms[:k]:
                common, rest, others_rest = _split(one, other)
                sign = 1 if positive == also else -1
                saving = 1 + _multiplications(one) + _multiplications(other) - common
                if rest < others_rest:
                    self._candidate(own, (0, _Kernel(rest, others_rest, sign)), index, saving, one, other)
                else:
                    self._candidate(own, (0, _Kernel(others_rest, rest, sign)), index, saving, other, one)
        for candidate in own:
            saved = self.savings[candidate] - candidate[1].cost
            if saved > 0:
                heapq.heappush(self.heap, (-saved, candidate))

    def _candidate(
        self, own: dict[Candidate, int], candidate: Candidate, index: int, saving: int, *terms: Product
    ) -> None:
        """Terms of a sum that a candidate would serve."""
        own[candidate] += saving
        self.savings[candidate] += saving
        self.found[candidate].setdefault(index, []).append(terms)

    def _form(self, candidate: Candidate) -> None:
        """Make a candidate a sum of its own, and use it wherever it was found."""
        new, made = next(self.fresh), candidate[1]
        if isinstance(made, _Pair):
            own = self._terms((made.a, made.b), 1.0)
        else:
            own = _gained(self._terms(made.a, 1.0), self._terms(made.b, made.sign))
        users = dict(self.found[candidate])
        for user, places in users.items():
            for place in places:
                self._replace(user, place, made, new)
        self.sums[new] = own
        for index in (*users, new):
            self._look_through(index)

    def _replace(self, user: int, place: tuple[Product, ...], made: _Kernel | _Pair, new: int) -> None:
        """Write terms of a sum with what was made, where they are still there."""
        terms = self.sums[user]
        plain = [next(iter(self._terms(each, 1.0))) for each in place]
        if any(each not in terms for each in plain):
            return
        rest, sign = list(place[0]), 1.0 if terms[plain[0]] > 0 else -1.0
        taken = made.a if isinstance(made, _Kernel) else (made.a, made.b)
        while not Counter(taken) - Counter(rest):
            rest = [*_without(tuple(rest), taken), new]
            if isinstance(made, _Kernel):
                break
        others = {each: c for each, c in terms.items() if each not in plain}
        self.sums[user] = _gained(others, self._terms(tuple(sorted(rest)), sign))

    def _factors(self, product: Product, coefficient: float) -> Product:
        """A term's factors, its constant among them unless it is 1 or -1."""
        size = abs(coefficient)
        if size == 1.0:
            return product
        if size not in self.constants:
            self.constants[size] = -1 - len(self.magnitudes)
            self.magnitudes.append(size)
        return (self.constants[size], *product)

    def _terms(self, factors: Product, sign: float) -> Terms:
        """The inverse of ``_factors``."""
        if factors and factors[0] < 0:
            return {factors[1:]: sign * self.magnitudes[-1 - factors[0]]}
        return {factors: sign}

    # Back to expressions

    def written(self) -> tuple[Expression, ...]:
        """The outputs as expressions on a new graph, whose nodes stand in the order of statements.

        The order is as it was, but what depends on positions alone waits until it is needed, as new sums do.
        Sums that have not changed are added up as they were.
        """
        self.target = Graph()
        self.values: dict[int, Expression] = {}  # of sums and leaves
        self.depths: list[int] = []  # of the nodes of that graph: operations one after the other
        moving = sorted((i for i in self.trees if i in self.sums and i not in self.postures), reverse=True)
        stack = [*(output.index for output in self.outputs), *moving]
        while stack:
            needed = [i for i in self._operands(stack[-1]) if i not in self.values]
            if needed:
                stack += reversed(needed)
                continue
            index = stack.pop()
            if index not in self.values:
                unchanged = self.sums.get(index) == self.trees.get(index)
                self.values[index] = self._as_read(index) if unchanged else self._added_up(index)
        return tuple(-self.values[o.index] if o.negative else self.values[o.index] for o in self.outputs)

    def _operands(self, index: int) -> list[int]:
        """The sums and leaves that a sum or a leaf is made of."""
        if index in self.sums:
            return [factor for product in self.sums[index] for factor in product]
        node = self.graph.nodes[index]
        return [i for i in (node.a, node.b) if node.kind == DIVIDE and i in self.kept]

    def _as_read(self, index: int) -> Expression:
        """A node's expression, made of its operands'."""
        kind, a, b, label, value = self.graph.nodes[index]
        if kind == SYMBOL:
            return self.target.symbol(label)
        if kind == CONSTANT:
            return self.target.constant(value)
        first, *second = (self.values[i] if i in self.values else self._as_read(i) for i in (a, b) if i >= 0)
        return self.target.call(label, first) if kind == CALL else OPERATORS[kind](first, *second)

    def _added_up(self, index: int) -> Expression:
        """A sum's expression: what is ready late is added last."""
        for _, a, b, _, _ in self.target.nodes[len(self.depths) :]:
            self.depths.append(1 + max(self.depths[i] if i >= 0 else -1 for i in (a, b)))
        total = self.target.zero

        def depth(factor: int) -> int:
            return self.depths[self.values[factor].index]

        terms = self.sums[index]
        for product in sorted(terms, key=lambda product: max(map(depth, product), default=0)):
            value = self.target.constant(terms[product])
            for factor in sorted(product, key=depth):
                value = value * self.values[factor]
            total = total + value
        return total


def _without(product: Product, taken: Product) -> Product:
    """A product without some of its factors."""
    rest = list(product)
    for factor in taken:
        rest.remove(factor)
    return tuple(rest)


def _split(one: Product, other: Product) -> tuple[int, Product, Product]:
    """How many factors two products share, and what is left of each."""
    rest, left = [], list(other)
    for factor in one:
        if factor in left:
            left.remove(factor)
        else:
            rest.append(factor)
    return len(one) - len(rest), tuple(rest), tuple(left)


def _times(a: Terms, b: Terms) -> Terms:
    """The product of two terms."""
    ((one, c),), ((other, d),) = a.items(), b.items()
    return {tuple(sorted((*one, *other))): c * d}


def _gained(terms: Terms, more: Terms, sign: float = 1.0) -> Terms:
    """The sum of two sums, or their difference; what cancels is left out."""
    total = dict(terms)
    for product, c in more.items():
        total[product] = total.get(product, 0.0) + sign * c
        if total[product] == 0.0:
            del total[product]
    return total


def _multiplications(factors: Product) -> int:
    return max(len(factors) - 1, 0)


def _cost(terms: Terms) -> int:
    """Operations of a sum."""
    cost = len(terms) - 1 if terms else 0
    for product, c in terms.items():
        if product:
            cost += len(product) - (c == 1.0 or c == -1.0)
    return cost
