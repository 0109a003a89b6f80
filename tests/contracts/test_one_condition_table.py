"""The default of *one condition per instance* of every type is the one that docs/protocols.md gives, with the paper's section."""

from __future__ import annotations

import re
from pathlib import Path

from annotator.hit_types.registry import hit_types

PAGE = Path(__file__).parents[2] / "docs" / "protocols.md"
HEADING = "## Did one person see several conditions of one input?"
PAPERS = ("Chen et al. 2024", "Limpijankit et al. 2025", "Joshi et al. 2023")


def table() -> dict[str, tuple[str, str, str]]:
    """HIT type -> paper and section, finding, default."""
    section = PAGE.read_text(encoding="utf-8").split(HEADING)[1].split("\n## ")[0]
    lines = re.findall(r"^\| `(\w+)` \| (.+?) \| (.+?) \| (on|off) \|$", section, re.M)
    rows = {name: (paper, finding, default) for name, paper, finding, default in lines}
    assert len(rows) == len(lines), "a type is listed twice"
    return rows


def test_every_type_is_in_the_table_with_its_default() -> None:
    defaults = {
        name: "on" if kind.defaults.one_condition_per_instance else "off"
        for name, kind in hit_types().items()
    }
    assert {name: default for name, (_, _, default) in table().items()} == defaults


def test_every_paper_has_a_section() -> None:
    """A type whose source is one of the papers names the section, figure or table that was read; others say that they have none."""
    rows = table()
    for name, (paper, finding, _) in rows.items():
        own = paper.startswith(PAPERS)
        assert own or paper == "none", name
        assert not own or re.search(r"section \d|Appendix [A-Z]|[A-Z]\.\d", paper), name
        assert not own or finding.startswith(("Yes", "No", "Not said", "Perhaps")), name
        source = hit_types()[name].source
        assert own or not source.startswith(PAPERS) or name == "simulation_revised", name


def test_the_default_is_off_where_the_papers_raters_saw_several() -> None:
    saw_several = {
        name: default for name, (_, finding, default) in table().items() if finding.startswith("Yes")
    }
    assert set(saw_several) == {"plausibility", "atomic_units"}
    assert set(saw_several.values()) == {"off"}
