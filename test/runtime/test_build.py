"""Building libraries: hostile compilers, names, homes, and files that are no libraries."""

import sys
from pathlib import Path

import numpy as np
import pytest
from random_chains import random_chain

from kane_dynamics_ros.codegen.derive import derive
from kane_dynamics_ros.codegen.module import write_module
from kane_dynamics_ros.runtime import compilation, load_model
from kane_dynamics_ros.runtime.errors import CompileError

pytestmark = pytest.mark.skipif(compilation.compiler() is None, reason="no C compiler on this machine")


def module_named(name: str, folder: Path) -> Path:
    """A module of one joint, not yet compiled."""
    return write_module(derive(random_chain(np.random.default_rng(1), 1)), name, folder)[0]


def program(folder: Path, content: bytes) -> str:
    """A file that may be executed."""
    path = folder / "compiler"
    path.write_bytes(content)
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize("name", ["errno", "NULL"])
def test_names_that_mean_something_in_c_compile(name: str, tmp_path: Path) -> None:
    assert load_model(module_named(name, tmp_path), backend="c").name == name


def test_a_model_named_like_a_module_of_pythons_does_not_hide_it(tmp_path: Path) -> None:
    import json

    assert load_model(module_named("json", tmp_path), backend="c").backend == "c"
    assert sys.modules["json"] is json


@pytest.mark.parametrize("content", [b"", b"no library"])
def test_a_file_that_is_no_library_is_built_again(content: bytes, tmp_path: Path) -> None:
    module = module_named("arm", tmp_path)
    source = module.with_suffix(".c")
    library = compilation.build_library(
        source, load_model(module, backend="python")._metadata.model["c_sha256"]
    )
    good = library.read_bytes()
    library.write_bytes(content)
    assert load_model(module, backend="c").backend == "c"
    assert len(library.read_bytes()) == len(good)


@pytest.mark.parametrize(
    "content", [b"#!/bin/sh\nexit 1\n", b"\x7fELF and then rubbish", b"#!/no/such/shell\n"]
)
def test_a_compiler_that_does_not_answer_is_passed_over(
    content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CC", program(tmp_path, content))
    assert compilation.compiler() not in (None, str(tmp_path / "compiler"))


def test_the_words_of_a_compiler_that_fails_are_told_in_any_encoding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = b"#!/bin/sh\n[ $1 = --version ] || { printf 'caf\\351: no' >&2; exit 1; }\n"
    monkeypatch.setenv("CC", program(tmp_path, script))
    module = module_named("arm", tmp_path)
    with pytest.raises(CompileError) as raised:
        load_model(module, backend="c")
    assert str(raised.value) == (
        f"{module.with_suffix('.c')}: cannot be compiled: the compiler says: "
        "caf\N{REPLACEMENT CHARACTER}: no; use backend='python' or fix the cause"
    )


def test_a_user_without_a_home_needs_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", homeless)
    assert load_model(module_named("arm", tmp_path), backend="c").backend == "c"
