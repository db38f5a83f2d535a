"""NAME.c in units: what a controller calls is compiled first, the rest when it is called.

Of what a compiler spends on an arm, a tenth goes into the functions that make its first torques. They are in
the extension that Python imports, each in its form for one state. Everything else is compiled into libraries
of its own, whose addresses the extension asks for: their forms for many states, and the other functions. The
form of a long function for many states takes the compiler as long again: it is a library of its own.
"""

import ctypes
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from kane_dynamics_ros.runtime import compilation
from kane_dynamics_ros.runtime.model import GeneratedModule

FIRST = ("inverse_dynamics", "bias", "gravity", "mass_matrix", "friction")
CONTROL = (  # what nodes call between two commands, where nothing may be compiled
    *FIRST,
    *(f"{name}_with" for name in FIRST[:-1]),
    *("momentum", "tip_pose", "tip_jacobian", "tip_poses", "tip_jacobians"),
    *("external_effort", "external_effort_in_root", "energy"),
)
WHOLE = 3_000  # operations of all functions up to which one library holds them: the compiler takes a second
MOST = 1_200  # operations of a unit, where no function alone has more


class Units:
    """The libraries of a module. ``home``: of each function, the functions of its unit.

    A unit holds what its functions call, too.
    """

    def __init__(self, module: GeneratedModule) -> None:
        self.source, self.c_sha256 = module.path.with_suffix(".c"), module.facts["c_sha256"]
        self.facts: Mapping[str, Mapping[str, Any]] = module.facts["functions"]
        whole = sum(self._operations(name) for name in self.facts) <= WHOLE
        self.first = [name for name in self.facts if whole or name in FIRST]
        # A long function that only calls its form with parameters lives with that.
        works_in = {
            name: f"{name}_with" if f"{name}_with" in facts["needs"] else name
            for name, facts in self.facts.items()
        }
        self.home: dict[str, tuple[str, ...]] = {}
        for group in self._packed([name for name, other in works_in.items() if name == other]):
            unit = tuple(name for name, other in works_in.items() if other in group)
            self.home |= dict.fromkeys(unit, unit)
        self.library = cache(self._library)

    def extension(self) -> tuple[Path, ModuleType]:
        """The extension with the first functions, and where it is. Raises ``CompileError``."""
        return compilation.extension(self.source, self.c_sha256, self._chosen(self.first))

    def address(self, name: str) -> int:
        """The address of a function of NAME.c itself. Raises ``CompileError``."""
        if name in self.first:
            library = ctypes.CDLL(str(self.extension()[0]))
        else:
            library = self.library(self.home[name], self._without(name, many=False))
        return _address(library, f"{self.source.stem}_{name}")

    def make_ready(self, names: Collection[str]) -> None:
        """Load the libraries of these functions, those that the module has. Raises ``CompileError``."""
        for name in names:
            for many in (False, True) if name in self.home else ():
                self.form(name, many)

    def form(self, name: str, many: bool) -> int:
        """The address of a function's form for one state or for many. Raises ``CompileError``."""
        library = self.library(self.home[name], self._without(name, many))
        return _address(library, f"{'batch' if many else 'run'}_{name}")

    def _without(self, name: str, many: bool) -> tuple[str, ...]:
        """The forms that the library with one of a function has not.

        Long functions that take no parameters and call no others have their forms apart.
        """
        facts = self.facts[name]
        apart = self._operations(name) > MOST and not facts["needs"] and "prepared" not in facts["arguments"]
        return ("STATES" if many else "BATCHES",) if apart else ()

    def _library(self, functions: tuple[str, ...], without: tuple[str, ...]) -> ctypes.CDLL:
        return compilation.unit(self.source, self.c_sha256, self._chosen(functions), without)

    def _chosen(self, functions: Collection[str]) -> dict[str, bool]:
        """Of every function, whether it is among these or called by one of them."""
        chosen: set[str] = set()
        waiting = list(functions)
        while waiting:
            name = waiting.pop()
            if name not in chosen:
                chosen.add(name)
                waiting += self.facts[name]["needs"]
        return {name: name in chosen for name in self.facts}

    def _packed(self, names: Collection[str]) -> Iterator[tuple[str, ...]]:
        """The functions in order, as many together as MOST allows."""
        group: list[str] = []
        for name in names:
            if group and sum(map(self._operations, [*group, name])) > MOST:
                yield tuple(group)
                group = []
            group.append(name)
        if group:
            yield tuple(group)

    def _operations(self, name: str) -> int:
        return int(self.facts[name]["operations"])


def _address(library: ctypes.CDLL, symbol: str) -> int:
    return int(ctypes.cast(library[symbol], ctypes.c_void_p).value or 0)
