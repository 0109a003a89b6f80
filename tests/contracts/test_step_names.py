"""Only a step's own file knows the name of its kind: everything else asks the registry what a kind makes or needs."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from evaluation.core.step_kinds import STEP_KINDS
from foretell import env

STEPS = env.ROOT / "evaluation" / "pipelines" / "steps"


def literals(node: ast.AST) -> set[str]:
    """The texts in a literal, or in a tuple, list or set of literals."""
    held = getattr(node, "elts", [node])
    return {one.value for one in held if isinstance(one, ast.Constant) and isinstance(one.value, str)}


def kinds_named(tree: ast.Module, names: set[str]) -> Iterator[tuple[int, str]]:
    """The lines that compare a kind with a name, choose rows by it, or list several names."""
    tables = [node.value for node in tree.body if isinstance(node, ast.Assign | ast.AnnAssign)]
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            about_kind = any("kind" in ast.unparse(side) for side in sides if not literals(side))
            found = set().union(*map(literals, sides)) & names if about_kind else set()
        elif isinstance(node, ast.Match) and "kind" in ast.unparse(node.subject):
            patterns = [one for case in node.cases for one in ast.walk(case.pattern)]
            values = [one.value for one in patterns if isinstance(one, ast.MatchValue)]
            found = set().union(*map(literals, values)) & names
        elif isinstance(node, ast.keyword) and node.arg and "kind" in node.arg.split("__"):
            found = literals(node.value) & names
        elif isinstance(node, ast.Tuple | ast.List | ast.Set):
            found = literals(node) & names if len(literals(node) & names) > 1 else set()
        elif isinstance(node, ast.Dict) and node in tables:
            keys = {name for key in node.keys if key is not None for name in literals(key)} & names
            found = keys if len(keys) > 1 else set()
        else:
            continue
        yield from ((node.lineno if hasattr(node, "lineno") else node.value.lineno, name) for name in found)


#: Files with lists of the same names, and what they mean there.
OTHERS = {
    "evaluation/releases/card.py": "tables of a release",
}


def files() -> Iterator[Path]:
    for path in sorted((env.ROOT / "evaluation").rglob("*.py")):
        if "migrations" not in path.parts and path.relative_to(env.ROOT).as_posix() not in OTHERS:
            yield path


def test_no_other_file_knows_the_name_of_a_kind_of_step() -> None:
    names = set(STEP_KINDS.names())
    found = {}
    for path in files():
        others = names - {path.stem} if path.parent == STEPS else names
        for line, name in kinds_named(ast.parse(path.read_text("utf-8")), others):
            found[path.relative_to(env.ROOT).as_posix(), line] = name
    assert len(names) == 14
    assert found == {}


@pytest.mark.parametrize(
    "text",
    [
        'if step["kind"] == "simulate": pass',
        'if run.kind in ("study", "other"): pass',
        'Run.objects.filter(kind="reward")',
        'Call.objects.filter(run__kind__in=["explain"])',
        'FOLDERS = {"outputs": "a", "reward": "b"}',
        'OF_A_STUDY = ("simulate", "report")',
        'match kind:\n  case "units": pass',
    ],
)
def test_a_comparison_with_a_name_is_found(text: str) -> None:
    assert list(kinds_named(ast.parse(text), set(STEP_KINDS.names())))


def test_what_is_not_about_a_kind_is_allowed() -> None:
    text = 'if "study" in result: pass\nif block.kind == "table": pass\nstep["options"]["study"]'
    assert not list(kinds_named(ast.parse(text), set(STEP_KINDS.names())))
