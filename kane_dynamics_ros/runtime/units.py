"""NAME.c in units: what a controller calls is compiled first, the rest when it is called.

Of what a compiler spends on an arm, a tenth goes into the functions that make its first torques. They are in
the extension that Python imports. Everything else is compiled into libraries of its own, whose addresses the
extension asks for: the other functions, and the forms that compute many states side by side, which take the
compiler as long again. Nothing is compiled twice: another library's function is called by a pointer, which
takes as long as a call within a library.
"""

import ctypes
import itertools
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import cache, partial
from pathlib import Path
from types import ModuleType
from typing import Any

from kane_dynamics_ros.runtime import compilation
from kane_dynamics_ros.runtime.compilation import Unit
from kane_dynamics_ros.runtime.model import GeneratedModule

FIRST = ("inverse_dynamics", "bias", "gravity", "mass_matrix", "friction")
CONTROL = (  # what nodes call between two commands, where nothing may be compiled
    *FIRST,
    *(f"{name}_with" for name in FIRST[:-1]),
    *("momentum", "tip_pose", "tip_jacobian", "tip_poses", "tip_jacobians"),
    *("external_effort", "external_effort_in_root", "energy"),
    *("inverse_dynamics_batch", "inverse_dynamics_with_batch", "external_effort_batch"),
)
WHOLE = 3_000  # operations of all functions up to which one library holds them: the compiler takes a second
MOST = 1_200  # operations of a unit, where no function alone has more


class Units:
    """The libraries of a module. ``first``: the extension; ``home``: the unit of each form that it has not.

    ``home`` is by name and whether the form is that for many states.
    """

    def __init__(self, module: GeneratedModule) -> None:
        self.source, self.c_sha256 = module.path.with_suffix(".c"), module.facts["c_sha256"]
        self.facts: Mapping[str, Mapping[str, Any]] = module.facts["functions"]
        whole = sum(int(facts["operations"]) for facts in self.facts.values()) <= WHOLE
        wide = {name for name, facts in self.facts.items() if facts["side_by_side"] and not whole}
        called = self._called([name for name in self.facts if whole or name in FIRST])
        others = [name for name in self.facts if name not in called]
        others.sort(key=lambda name: (not self.facts[name]["needs"], name not in CONTROL))
        groups = [tuple(name for name in self.facts if name in called), *self._packed(others)]
        of_one = [Unit(group, tuple(name for name in group if name not in wide)) for group in groups]
        of_many = [self._packed([name for name in group if name in wide]) for group in groups]
        self.first = of_one[0]
        units = [*of_one[1:], *(Unit((), group) for group in itertools.chain(*of_many))]
        self.home = {(name, many): unit for unit in units for many in (False, True) for name in unit[many]}
        self.extension, self.library = cache(self._extension), cache(self._library)

    def address(self, name: str) -> int:
        """The address of a function of NAME.c itself. Raises ``CompileError``."""
        return _address(self._loaded(name, many=False), f"{self.source.stem}_{name}")

    def make_ready(self, names: Collection[str]) -> None:
        """Load the libraries of these functions of NAME.h, those that it has, compiled side by side.

        Raises ``CompileError``.
        """
        from multiprocessing.pool import ThreadPool  # 10 ms that a torque need not wait for

        forms = [form for form in self.home if form[0] + "_batch" * form[1] in names]
        if forms:
            units = {self.home[form] for form in forms}
            builds: list[Callable[[], object]] = [
                self.extension,
                *(partial(self.library, unit) for unit in units),
            ]
            processors = compilation.available_processors()
            with compilation.interruptible(self.source), ThreadPool(processors) as pool:
                pool.map(lambda build: build(), builds, chunksize=1)
        for form in forms:
            self.form(*form)

    def form(self, name: str, many: bool) -> int:
        """The address of a function's form for one state or for many. Raises ``CompileError``."""
        return _address(self._loaded(name, many), f"{'batch' if many else 'run'}_{name}")

    def _extension(self) -> tuple[Path, ModuleType]:
        """The extension with the first functions, and where it is. Raises ``CompileError``."""
        return compilation.extension(self.source, self.c_sha256, self.facts, self.first)

    def _library(self, unit: Unit) -> ctypes.CDLL:
        return compilation.library(self.source, self.c_sha256, self.facts, unit, self._elsewhere(unit))

    def _elsewhere(self, unit: Unit) -> list[str]:
        """The functions of other libraries that those of a unit call."""
        return sorted({need for name in unit.one for need in self.facts[name]["needs"]}.difference(unit.one))

    def _loaded(self, name: str, many: bool) -> ctypes.CDLL:
        """The library with a form, which knows where the functions are that the form calls."""
        unit = self.home.get((name, many))
        if unit is None:
            return ctypes.CDLL(str(self.extension()[0]))
        library = self.library(unit)
        for need in self._called([name]).intersection(self._elsewhere(unit)):
            pointer = ctypes.c_void_p.in_dll(library, f"{self.source.stem}_{need}_elsewhere")
            pointer.value = self.address(need)
        return library

    def _called(self, functions: Collection[str]) -> set[str]:
        """These functions and all that they call."""
        return {each for name in functions for each in (name, *self._called(self.facts[name]["needs"]))}

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
        """Those of a function's own text; what only calls others has a few loops."""
        return 0 if self.facts[name]["needs"] else int(self.facts[name]["operations"])


def _address(library: ctypes.CDLL, symbol: str) -> int:
    return int(ctypes.cast(library[symbol], ctypes.c_void_p).value or 0)
