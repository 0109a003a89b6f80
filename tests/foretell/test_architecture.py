"""The layout: what docs/architecture.md names exists, tests mirror the code, files are short, private attributes stay private."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from annotator.recruitment.registry import PANELS
from evaluation.providers.registry import DEFAULT, PROVIDERS
from foretell import env

PRODUCT = ("annotator", "evaluation", "foretell")
TEXT = (env.ROOT / "docs/architecture.md").read_text()
NAMED = sorted(set(re.findall(r"`((?:annotator|evaluation|foretell|templates)/[\w/.]+)(?:::(\w+))?`", TEXT)))


def test_the_walks_name_enough_files() -> None:
    assert len(NAMED) > 35


@pytest.mark.parametrize(("path", "name"), NAMED)
def test_named_files_and_functions_exist(path: str, name: str) -> None:
    file = env.ROOT / path
    assert file.exists()
    if name:
        source = file.read_text()
        assert re.search(rf"^(?:def |class )?{name}\b", source, re.MULTILINE), "not defined at the top level"


@pytest.mark.parametrize("application", ["annotator", "evaluation"])
def test_an_application_has_only_djangos_own_module_names_at_the_top(application: str) -> None:
    found = {path.stem for path in (env.ROOT / application).glob("*.py")}
    assert found <= {"__init__", "apps", "urls", "tasks"}


@pytest.mark.parametrize("application", PRODUCT)
def test_each_folder_of_tests_has_the_name_of_the_code_that_it_tests(application: str) -> None:
    folders = {path.parent for path in (env.ROOT / "tests" / application).rglob("test_*.py")}
    paths = {folder.relative_to(env.ROOT / "tests") for folder in folders}
    assert paths
    assert [path for path in paths if not (env.ROOT / path).is_dir()] == []


#: Lines of code, style and script that can be read in one sitting. Migrations stay as they were written.
MOST_LINES = 420


def own_files(folders: Iterable[str], *endings: str) -> list[Path]:
    found = (path for folder in folders for path in (env.ROOT / folder).rglob("*"))
    return [path for path in found if path.suffix in endings and "vendor" not in path.parts]


#: The contracts that tests/annotator apply to a HIT type and a recruitment panel of their own.
APPLIED = {
    "tests.contracts.test_hit_type_prompts",
    "tests.contracts.test_hit_type_questions",
    "tests.contracts.test_hit_types",
    "tests.contracts.test_panels",
}


def imported(tree: ast.Module) -> Iterator[str]:
    """The full name of every module, or name in a module, that a file imports."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{one.name}" for one in node.names)
        elif isinstance(node, ast.Import):
            yield from (one.name for one in node.names)


def test_what_tests_share_is_not_in_files_of_tests() -> None:
    """A test can then be moved or deleted without breaking another file, and a helper is found by its module's name."""
    files = own_files(("tests", "benchmarks"), ".py")
    names = {name for path in files for name in imported(ast.parse(path.read_text("utf-8")))}
    assert len(names) > 1000
    assert {name for name in names if re.match(r"tests\.(.+\.)?test_", name)} == APPLIED


def test_files_can_be_read_in_one_sitting() -> None:
    folders = (*PRODUCT, "clients", "tests", "benchmarks", "static", "templates", "docs")
    files = own_files(folders, ".py", ".js", ".css", ".html")
    files = [path for path in files if path.parent.name != "migrations"]
    lengths = {str(path): len(path.read_text("utf-8").splitlines()) for path in files}
    assert len(lengths) > 500
    assert {name: lines for name, lines in lengths.items() if lines > MOST_LINES} == {}


def test_only_its_own_file_names_a_panel() -> None:
    """A second panel is then one file, or one and its parts beside it. Migrations stay as they were written; documentation may have examples."""
    files = [
        *own_files(PRODUCT, ".py"),
        *own_files(("templates", "static"), ".html", ".txt", ".js", ".css"),
    ]
    files = [path for path in files if "migrations" not in path.parts]
    # The stand-in speaks Prolific's protocol. Links that people were sent have no panel behind them, and are called by ordinary words.
    stand_in = {path for path in files if "stand_in" in path.as_posix()}
    files = [path for path in files if path not in stand_in]
    for panel in (one for one in PANELS if one.named):
        names = re.compile("|".join((rf"(?i:(?<![a-z]){panel.name}(?![a-z]))", *panel.parameters)))
        naming = {path.relative_to(env.ROOT) for path in files if names.search(path.read_text("utf-8"))}
        own = Path("annotator/recruitment/panels")
        parts = {path.relative_to(env.ROOT) for path in (env.ROOT / own).glob(f"_{panel.name}_*.py")}
        assert naming == {own / f"{panel.name}.py"} | parts


#: Attributes with an underscore that their libraries document, or name in place of a public one.
DOCUMENTED = {"_meta", "_state", "_default_manager", "_exit"}
#: The only file that uses undocumented ones; it does so with known versions of Django only, and a test fails at any other.
UNDOCUMENTED = {
    ("annotator/core/prepared.py", "_prepare_cursor"),
    ("annotator/core/prepared.py", "_convert_query"),
}


def test_private_attributes_of_libraries_are_used_in_one_file() -> None:
    """Attributes that nothing in the product defines belong to a library; so does what is called through ``super()``."""
    files = own_files(PRODUCT, ".py")
    trees = {str(path.relative_to(env.ROOT)): ast.parse(path.read_text("utf-8")) for path in files}
    nodes = [(name, node) for name, tree in trees.items() for node in ast.walk(tree)]
    defined = {node.name for _, node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
    defined |= {
        node.id for _, node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    defined |= {
        node.attr for _, node in nodes if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
    }
    used = {
        (name, node.attr)
        for name, node in nodes
        if isinstance(node, ast.Attribute)
        and re.match("_[a-z]", node.attr)
        and (node.attr not in defined or ast.unparse(node.value) == "super()")
    }
    assert {(name, attribute) for name, attribute in used if attribute not in DOCUMENTED} == UNDOCUMENTED


#: The modules that ask for a HIT type by its name, because there is no study: a new study, a pipeline that makes one,
#: the demo, a qualification, the trial of an endpoint and the translations that come with a type.
TYPES_BY_NAME = {
    "annotator/hit_types/registry.py", "annotator/hit_types/built_in.py", "annotator/selectors/study.py", "annotator/services/study.py",
    "annotator/services/demo.py", "annotator/services/exam.py", "evaluation/pipelines/steps/simulate.py",
    "evaluation/pipelines/steps/study.py", "evaluation/pipelines/study_rows.py", "evaluation/services/endpoint_trial.py",
}  # fmt: skip


def test_a_studys_hit_type_is_found_in_one_place() -> None:
    """``study_hit_type`` finds it: a study keeps the version that it was launched with, which a name doesn't say."""
    texts = {path: path.read_text("utf-8") for path in own_files(PRODUCT, ".py")}
    trees = {path: ast.parse(text) for path, text in texts.items() if "hit_type_get" in text}
    calls = [
        (path.relative_to(env.ROOT).as_posix(), ast.unparse(argument))
        for path, tree in trees.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] == "hit_type_get"
        for argument in node.args
    ]
    of_rows = {call for call in calls if call[1].endswith(".hit_type") or call[1].startswith("rules")}
    assert of_rows == {("annotator/selectors/study.py", "study.hit_type")}
    assert {path for path, _ in calls} <= TYPES_BY_NAME
    listed = re.compile(r"(hit_types\(\)|HIT_TYPES)(\.get\(|\[)[\w.]+\.hit_type\b")
    assert [path for path, text in texts.items() if listed.search(text)] == []


def test_a_provider_is_named_only_in_its_own_file() -> None:
    """Elsewhere its parts come from the registry, which names one provider: the one of an endpoint that names none."""
    own = {name: env.ROOT / f"evaluation/providers/apis/{name}.py" for name in PROVIDERS.names()}
    files = [path for path in own_files(["evaluation"], ".py") if path.parent.name != "migrations"]
    trees = {path: ast.parse(path.read_text("utf-8")) for path in files}
    named = {
        (path.relative_to(env.ROOT).as_posix(), node.value)
        for path, tree in trees.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and node.value in own and path != own[node.value]
    }
    assert named == {("evaluation/providers/registry.py", DEFAULT)}
    assert [
        path for path, tree in trees.items() if any("providers.apis" in name for name in imported(tree))
    ] == []
    words = re.compile(rf"""["']({"|".join(own)})["']""")
    templates = own_files(["templates"], ".html", ".txt")
    assert len(templates) > 50
    assert [path for path in templates if words.search(path.read_text("utf-8"))] == []


#: The most arguments that a function takes by position; a call with more can't be read without the definition beside it.
MOST_POSITIONAL = 6
#: Its arguments are the columns of one table.
COLUMNS = {("evaluation/metrics/generalization.py", "generalization_accuracy")}


def test_functions_take_few_arguments_by_position() -> None:
    found = set()
    for path in own_files(PRODUCT, ".py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                given = [one.arg for one in (*node.args.posonlyargs, *node.args.args)]
                if len([name for name in given if name not in ("self", "cls")]) > MOST_POSITIONAL:
                    found.add((path.relative_to(env.ROOT).as_posix(), node.name))
    assert found == COLUMNS


def test_tests_replace_only_public_names() -> None:
    """A private function can then be renamed or inlined. The one exception is of kombu, which has no other seam."""
    replaced = {
        (path.relative_to(env.ROOT).as_posix(), argument.value.rpartition(".")[2])
        for path in own_files(["tests"], ".py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call)
        and ast.unparse(node.func).endswith((".setattr", "patch", "patch.object"))
        for argument in node.args[:2]
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str)
    }
    assert len(replaced) > 100
    private = {(path, name) for path, name in replaced if re.match("_[a-z]", name)}
    assert private == {("tests/foretell/test_broker.py", "_get_pool")}


@pytest.mark.parametrize(
    "word", ["shared_task", "send_task", "apply_async", "pg_advisory", "pg_try_advisory"]
)
def test_one_module_declares_tasks_wakes_workers_and_takes_locks(word: str) -> None:
    found = {
        path.relative_to(env.ROOT).as_posix()
        for path in own_files(PRODUCT, ".py")
        if word in path.read_text()
    }
    assert found <= {"annotator/core/jobs.py", "annotator/migrations/_money.py"}, "a trigger locks in SQL"


@pytest.mark.parametrize("application", ["annotator", "evaluation"])
def test_services_know_nothing_of_http(application: str) -> None:
    """A service returns what it did or opened; views and the API make the response."""
    files = own_files([f"{application}/services"], ".py")
    trees = [(path, ast.parse(path.read_text("utf-8"))) for path in files]
    assert files
    assert [
        path for path, tree in trees if any(name.startswith("django.http") for name in imported(tree))
    ] == []
