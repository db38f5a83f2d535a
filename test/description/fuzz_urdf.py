"""Feeds mutated URDFs of real robots to the reader: only this package's own errors may come out.

    python test/description/fuzz_urdf.py --count 20000 --seed 0

Each case is made from the seed and its number alone, so that a failure can be made again.
"""

import argparse
import itertools
import random
import re
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from example_robots import ROBOTS
from text_mutations import NASTY, Mutation, change_bytes, move_line, replace_number, replace_word

from kane_dynamics_ros.description import Chain, DescriptionError, parse_robot, physics_hash, serial_chain

LARGEST_SEED = 60_000  # [bytes] of a file that is mutated: larger ones only take longer


def replace_value(random: random.Random, text: bytes) -> bytes:
    """The value of an attribute becomes that of another, or a nasty number."""
    values = list(re.finditer(rb'="([^"<]*)"', text))
    if not values:
        return text
    value, other = random.choice(values), random.choice(values)[1]
    return text[: value.start(1)] + random.choice([other, other, other, *NASTY]) + text[value.end(1) :]


def move_element(random: random.Random, text: bytes) -> bytes:
    """A whole <link> or <joint> is removed, or put somewhere else."""
    elements = list(re.finditer(rb"<(link|joint)\b[^>]*(/>|>.*?</\1>)", text, re.DOTALL))
    if not elements:
        return text
    element, target = random.choice(elements), random.choice(elements)
    removed = text[: element.start()] + text[element.end() :]
    return removed if random.random() < 0.5 else text[: target.start()] + element[0] + text[target.start() :]


MUTATIONS: dict[Mutation, int] = {  # with their weights: the last three mostly break the XML itself
    replace_number: 8,
    replace_value: 8,
    move_element: 5,
    move_line: 1,
    replace_word: 1,
    change_bytes: 1,
}


def seeds() -> list[bytes]:
    """The example robots that are not too large, in a fixed order."""
    texts = [path.read_bytes() for path in sorted(ROBOTS.rglob("*.urdf"))]
    return [text for text in texts if len(text) <= LARGEST_SEED]


def cases(seed: int) -> Iterator[bytes]:
    """Mutated URDFs without end; the k-th depends on ``seed`` and k alone."""
    corpus = seeds()
    for number in itertools.count():
        generator = random.Random(f"{seed}/{number}")
        text = generator.choice(corpus)
        count = generator.choice([1, 1, 2, 4, 8])
        for mutate in generator.choices([*MUTATIONS], [*MUTATIONS.values()], k=count):
            text = mutate(generator, text)
        yield text


def outcome(text: bytes) -> str:
    """``accepted``, or the code of the error. Anything else that comes out is a bug, and does come out."""
    try:
        robot = parse_robot(text, "fuzz.urdf")
        for tip in (None, robot.links[-1].name):
            check(serial_chain(robot, tip))
    except DescriptionError as error:
        return error.code
    return "accepted"


def check(chain: Chain) -> None:
    """What every accepted chain must be: finite throughout, with a hash."""
    assert len(physics_hash(chain)) == 64
    for joint in chain.joints:
        numbers = (*joint.R_PJ, joint.p_PoJo_P, joint.axis, joint.inertia.com, *joint.inertia.tensor)
        assert np.isfinite(np.array(numbers)).all(), joint
        assert np.isfinite([joint.inertia.mass, joint.multiplier, joint.offset, joint.rotor_inertia]).all(), (
            joint
        )


def fuzz(texts: Iterable[bytes]) -> Counter[str]:
    """How often each outcome came. Raises, with the case's number, what the reader should not have raised."""
    counts: Counter[str] = Counter()
    for number, text in enumerate(texts):
        try:
            counts[outcome(text)] += 1
        except Exception as error:
            Path(f"fuzz_{number}.urdf").write_bytes(text)
            raise AssertionError(f"case {number}, kept in fuzz_{number}.urdf") from error
    return counts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    start = time.monotonic()
    counts = fuzz(itertools.islice(cases(arguments.seed), arguments.count))
    print(f"{arguments.count} mutated URDFs, seed {arguments.seed}, {time.monotonic() - start:.0f} s")
    for code, count in counts.most_common():
        print(f"{count:7d}  {code}")


if __name__ == "__main__":
    main()
