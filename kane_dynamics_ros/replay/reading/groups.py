"""Blocks sorted by layout: thousands of messages decoded at once, and one by one where the layout changes."""

from collections.abc import Iterator

import numpy as np

from kane_dynamics_ros.replay.reading.blocks import Block, Integers
from kane_dynamics_ros.replay.reading.cdr import MalformedMessageError
from kane_dynamics_ros.replay.reading.layout import Layout, Parse

KEPT = 64  # layouts remembered; publishers that shuffle their joints have many


class Grouper:
    """Sorts the messages of one topic by layout, and remembers the layouts from block to block."""

    def __init__(self, parse: Parse) -> None:
        self._parse = parse
        self._layouts: list[Layout] = []
        self.malformed = 0

    def groups(self, block: Block) -> Iterator[tuple[Layout, Integers]]:
        """Pairs of a layout and the indices of its messages; malformed ones are counted and left out."""
        rest = np.arange(len(block.offsets))
        for layout in tuple(self._layouts):
            if not len(rest):
                return
            same = layout.match(block, rest)
            if same.any():
                self._remember(layout)
                yield layout, rest[same]
                rest = rest[~same]
        while len(rest):
            try:
                layout = self._parse(block.message(int(rest[0])))
            except MalformedMessageError:
                self.malformed += 1
                rest = rest[1:]
                continue
            self._remember(layout)
            same = layout.match(block, rest)
            yield layout, rest[same]
            rest = rest[~same]

    def _remember(self, layout: Layout) -> None:
        """Most recently used first."""
        self._layouts = [layout, *(other for other in self._layouts if other is not layout)][:KEPT]
