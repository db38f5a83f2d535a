"""Faults that any text may have: what the fuzzers of URDFs and of trajectory and model files share."""

import os
import random
import re
from collections.abc import Callable

CASES = int(os.environ.get("KANE_DYNAMICS_FUZZ_CASES", "60"))  # of each fuzzer among the tests
SEED = os.environ.get("KANE_DYNAMICS_FUZZ_SEED", "0")
NUMBER = re.compile(rb"-?\d+\.?\d*(?:[eE][+-]?\d+)?")
_NASTY_WORDS = (
    b"nan inf -inf 1e300 -1e300 5e-324 1e-310 -0 1e999 0 -1 1,5 1e12 1e-12 0x1 "
    b"${x} &lt; {} %s \xc3\xa9 /dev/zero"
)
NASTY = [*_NASTY_WORDS.split(), b"", b" ", b"1 2 3", b"1 2 3 4"]
Mutation = Callable[[random.Random, bytes], bytes]


def replace_number(random: random.Random, text: bytes) -> bytes:
    """A number becomes a nasty one, or a scaled or negated one."""
    numbers = list(NUMBER.finditer(text))
    if not numbers:
        return text
    number = random.choice(numbers)
    scaled = repr(float(number[0]) * random.choice([-1, 10, 1e-3, 1e3, 1e6])).encode()
    return text[: number.start()] + random.choice([*NASTY, scaled, scaled, scaled]) + text[number.end() :]


def replace_word(random: random.Random, text: bytes) -> bytes:
    """A name, tag, attribute or value becomes another one of the file, or nonsense."""
    words = list(re.finditer(rb"[\w:/-]+", text))
    if not words:
        return text
    word, other = random.choice(words), random.choice(words)[0]
    return text[: word.start()] + random.choice([other, other, *NASTY]) + text[word.end() :]


def move_line(random: random.Random, text: bytes) -> bytes:
    """A line is removed, doubled or moved."""
    lines = text.split(b"\n")
    line = lines.pop(random.randrange(len(lines)))
    for _ in range(random.randrange(3)):
        lines.insert(random.randrange(len(lines) + 1), line)
    return b"\n".join(lines)


def change_bytes(random: random.Random, text: bytes) -> bytes:
    """A run of bytes is removed, repeated or replaced by random ones."""
    start = random.randrange(len(text) + 1)
    run = text[start : start + random.choice([1, 1, 1, 8, 200])]
    new = random.choice([b"", run * random.choice([2, 50]), random.randbytes(len(run))])
    return text[:start] + new + text[start + len(run) :]
