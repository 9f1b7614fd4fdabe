"""What holds for the modules that are compiled, and that the run is of what it says it is of."""

from __future__ import annotations

import ast
import importlib
import os
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
WHEEL = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
PATTERNS: list[str] = WHEEL["hooks"]["mypyc"]["include"]
COMPILED = sorted(path.relative_to(ROOT) for pattern in PATTERNS for path in ROOT.glob(pattern))
RUN_IS_COMPILED = bool(os.environ.get("BREAKER_TEST_COMPILED"))


def test_every_pattern_names_a_module() -> None:
    assert all(list(ROOT.glob(pattern)) for pattern in PATTERNS)


@pytest.mark.parametrize("path", COMPILED, ids=str)
def test_the_run_is_of_what_it_says(path: Path) -> None:
    module = importlib.import_module(".".join(path.with_suffix("").parts).removesuffix(".__init__"))
    assert str(module.__file__).endswith((".so", ".pyd")) == RUN_IS_COMPILED


@pytest.mark.parametrize("path", COMPILED, ids=str)
def test_no_struct_loses_its_options(path: Path) -> None:
    """mypyc leaves out what stands behind a class's bases, so that a struct would be neither frozen nor hashable."""
    classes = [node for node in ast.walk(ast.parse((ROOT / path).read_text())) if isinstance(node, ast.ClassDef)]
    assert not [one.name for one in classes if one.keywords]
    assert not [one.name for one in classes if any(ast.unparse(base).endswith("Struct") for base in one.bases)]


@pytest.mark.parametrize("path", COMPILED, ids=str)
def test_no_whole_number_is_taken_for_a_fraction(path: Path) -> None:
    """mypyc takes what ``isinstance(value, int | float)`` lets through for a float: ``is_number`` says it otherwise."""
    calls = [node for node in ast.walk(ast.parse((ROOT / path).read_text())) if isinstance(node, ast.Call)]
    asked = [ast.unparse(one.args[1]) for one in calls if ast.unparse(one.func) == "isinstance"]
    numbers = [one for one in asked if "int" in one and "float" in one]
    assert len(numbers) == (path.name == "canonical.py")
