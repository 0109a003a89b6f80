"""What the operators' documents name exists."""

from __future__ import annotations

import re

import pytest

from foretell import env

DOCS = env.ROOT / "docs"
NAMED = re.compile(r"`(tests/[\w/]+\.py)?::(\w+)`")


def named_tests() -> list[tuple[str, str]]:
    """(file, test) of every test that docs/security.md names; ``::test`` alone is in the file named before it."""
    found, file = [], ""
    for path, name in NAMED.findall((DOCS / "security.md").read_text()):
        file = path or file
        found.append((file, name))
    return found


@pytest.mark.parametrize(("file", "name"), named_tests())
def test_every_test_that_the_security_page_names_exists(file: str, name: str) -> None:
    assert re.search(rf"^def {name}\(", (env.ROOT / file).read_text(), re.MULTILINE)


def test_every_met_requirement_names_a_test() -> None:
    rows = re.findall(
        r"^\| \d+\.\d.*?\| (met|partly|missing).*?\| (.*) \|$", (DOCS / "security.md").read_text(), re.M
    )
    assert len(rows) > 50
    for state, measure in rows:
        assert state != "met" or "test_" in measure or "the same" in measure or documented(measure), measure


def documented(measure: str) -> bool:
    """Whether it's a page, or a section of this one, that exists."""
    page = (DOCS / "security.md").read_text()
    sections = [f"## {name}" in page for name in re.findall(r"\*([^*]+)\*", measure) if "](" not in measure]
    return any(sections) or any((DOCS / name).is_file() for name in re.findall(r"\]\(([\w.]+)\)", measure))


def test_every_section_of_the_standard_is_in_the_table_or_left_out_with_a_reason() -> None:
    """The numbers of sections of OWASP ASVS 5.0 in each chapter but 17, of which there's nothing here."""
    sections = dict(enumerate((5, 4, 7, 4, 4, 8, 6, 4, 2, 7, 7, 3, 4, 3, 4, 5), start=1))
    text = (DOCS / "security.md").read_text().partition("## OWASP ASVS")[2].partition("## Logging in")[0]
    text = text.replace("10.1 to 10.4", "10.1, 10.2, 10.3, 10.4")
    found = set(re.findall(r"(?<![\d.])(\d+\.\d+)(?![\d.]*\d)", text))
    assert {
        f"{chapter}.{n}" for chapter, most in sections.items() for n in range(1, most + 1)
    } - found == set()


def test_commands_and_files_of_the_operations_page_exist() -> None:
    text = (DOCS / "operations.md").read_text()
    for command in set(re.findall(r"manage\.py (\w+)", text)) - {"migrate", "collectstatic"}:
        assert list(env.ROOT.glob(f"*/management/commands/{command}.py")), command
    for path in set(re.findall(r"`((?:tests|docs)/[\w/.]+)`", text)):
        assert (env.ROOT / path).exists(), path
    from foretell import metrics

    known = (env.ROOT / "foretell/metrics.py").read_text()
    for name in set(re.findall(r"foretell_([a-z_]+)", text)):
        assert f'"{name}"' in known, name
    assert metrics.QUEUES


def test_figures_of_the_scale_page_are_in_the_results_of_benchmarks() -> None:
    results = "".join(path.read_text() for path in sorted((env.ROOT / "benchmarks").rglob("README.md")))
    results += (env.ROOT / "benchmarks/llm/throughput.json").read_text()
    text = (DOCS / "scale.md").read_text().partition("## Per day")[0].partition("## Measured")[2]
    figures = set(re.findall(r"\d+\.\d+", text))
    assert len(figures) > 12
    assert {figure for figure in figures if figure not in results} == set()


def test_every_test_that_the_table_of_faults_names_exists() -> None:
    missing, file = [], ""
    text = (env.ROOT / "tests/faults/README.md").read_text()
    for path, name in re.findall(r"`([\w/]+\.py)?::(\w+)", text):
        file = path or file
        if f"def {name}(" not in (env.ROOT / "tests" / file).read_text():
            missing.append(f"{file}::{name}")
    assert missing == []
