"""Writes docs/robots.md: every robot of example-robot-data, tried.

python test/description/robots_table.py > docs/robots.md      (minutes: it generates a module for each robot)
"""

import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1]))

from chain_torques import generated_model, inverse_dynamics
from wild_chains import FILES, disagreement, robot_and_text, tried

from kane_dynamics_ros.description import Chain, DescriptionError, Finding, Robot

HEAD = """\
# Robots tried

Every URDF of PyPI's `example-robot-data` 6.0.0, each chain from the root to a leaf: the torques of this
package against Pinocchio's `rnea` on the whole robot with the other joints locked, at random states within
1.5 rad, rad/s and rad/s^2 (m for prismatic joints). Written by `test/description/robots_table.py`;
`test_wild_robots.py` tries the same chains in every test run.

- *chains*: chains that agree, and chains that were refused with the error's code.
- *joints*, *mass*: moving joints (followers off the path too) and moving mass [kg] of the longest chain.
- *Kane*: largest difference of torques over all chains, relative to the largest torque of the state, for
  Kane's equations in floats; *module*: the same for the generated module of the longest chain.
- *findings*: codes of the longest chain's warnings and their number; docs/diagnostics.md explains them.

| robot | chains | joints | mass | Kane | module | findings |
|---|---|---|---|---|---|---|"""


class Row(NamedTuple):
    """One robot."""

    robot: str
    chains: str
    joints: str = ""
    mass: str = ""
    kane: str = ""
    module: str = ""
    findings: str = ""

    def __str__(self) -> str:
        return "| " + " | ".join(self) + " |"


def row(file: str) -> Row:
    name = (
        file.removesuffix(".urdf")
        .replace("_description/", "/")
        .replace("/urdf/", "/")
        .replace("/robots/", "/")
    )
    try:
        robot, text = robot_and_text(file)
    except DescriptionError as error:
        return Row(name, f"refused: {error.code}")
    results = list(tried(robot))
    chains = [result.chain for result in results if result.chain is not None]
    refused = Counter(result.refusal.code for result in results if result.refusal is not None)
    told = ", ".join([str(len(chains)), *(f"{count} refused: {code}" for code, count in refused.items())])
    if not chains:
        return Row(name, told)
    longest = max(chains, key=lambda chain: len(chain.joints))
    return Row(
        name,
        told,
        str(len(longest.joints)),
        f"{sum(joint.inertia.mass for joint in longest.joints):.4g}",
        f"{max(disagreement(text, robot, chain, inverse_dynamics) for chain in chains):.0e}",
        f"{module_disagreement(text, robot, longest):.0e}",
        counted(longest.findings),
    )


def module_disagreement(text: str, robot: Robot, chain: Chain) -> float:
    with tempfile.TemporaryDirectory() as folder:
        model = generated_model(chain, Path(folder))
        return disagreement(text, robot, chain, lambda _, *state: model.inverse_dynamics(*state))


def counted(findings: Iterable[Finding]) -> str:
    counts = Counter(finding.code for finding in findings if finding.severity == "warning")
    return ", ".join(f"{code} x {count}" for code, count in sorted(counts.items())) or "none"


def lines() -> Iterator[str]:
    yield HEAD
    for file in FILES:
        yield str(row(file))


def main() -> None:
    for line in lines():
        print(line, flush=True)


if __name__ == "__main__":
    main()
