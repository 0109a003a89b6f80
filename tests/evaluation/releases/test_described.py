"""A release describes itself to other tools, in files that their own libraries accept, and its scripts give the report's numbers."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import zipfile
from pathlib import Path
from shutil import which
from typing import Any

import pytest
import yaml

from evaluation.releases.creators import CreatorInvalid, creators_read
from evaluation.releases.described.files import DESCRIBED
from evaluation.releases.reading import release_open
from evaluation.releases.reproduce import release_reproduce
from tests.evaluation.releases.releases import built, rebuilt
from tests.evaluation.reports import paper_studies
from tests.evaluation.reports.studies import cells_of, small_study, stored

pytestmark = pytest.mark.django_db
ABOUT: dict[str, Any] = {
    "title": "Owls: a study",
    "description": "Judgments of explanations about owls.",
    "licence": "CC BY 4.0",
    "citation": "Doe (2026): Owls.",
    "creators": ("Doe, Jane; 0000-0002-1825-0097; University of Owls", "Owl Lab"),
    "date": "2026-11-26",
}


_RELEASES: dict[str, bytes] = {}


def p1_release(**about: Any) -> io.BytesIO:
    """Built once for each ``about``: reading and checking it needs none of the rows that it was made from."""
    key = repr(sorted(about.items()))
    if key not in _RELEASES:
        report = stored(paper_studies.p1_study(), replicates=100)
        _RELEASES[key] = built(report, **(ABOUT | about))[1].getvalue()
    return io.BytesIO(_RELEASES[key])


def unpacked(file: io.BytesIO, folder: Path) -> Path:
    archive = zipfile.ZipFile(file)
    for name in archive.namelist():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(archive.read(name))
    return folder


def json_of(folder: Path, name: str) -> Any:
    return json.loads((folder / name).read_text(encoding="utf-8"))


def test_croissant_is_valid_and_gives_every_rating(tmp_path: Path) -> None:
    import mlcroissant

    folder = unpacked(p1_release(), tmp_path)
    found = mlcroissant.Dataset(jsonld=str(folder / "croissant.json"))
    assert not found.metadata.ctx.issues.errors
    assert not found.metadata.ctx.issues.warnings
    assert found.metadata.ctx.is_v1_1()
    records = list(found.records("ratings"))
    lines = (folder / "ratings.csv").read_text(encoding="utf-8").splitlines()
    assert len(records) == len(lines) - 1
    assert {record["ratings/value"] for record in records} == {b"yes", b"no"}
    said = json_of(folder, "croissant.json")
    assert "2 people" in said["rai:dataCollection"]
    assert "Krippendorff" in said["rai:dataCollection"]
    assert said["rai:annotationsPerItem"].startswith("3 (")
    assert said["creator"][0]["affiliation"]["name"] == "University of Owls"


def test_frictionless_is_valid_and_notices_a_changed_file(tmp_path: Path) -> None:
    import frictionless

    folder = unpacked(p1_release(), tmp_path)
    found = frictionless.validate(str(folder / "datapackage.json"))
    assert found.valid, found.flatten(["title", "message"])
    with (folder / "ratings.csv").open("a", encoding="utf-8") as file:
        file.write("one,more\n")
    assert not frictionless.validate(str(folder / "datapackage.json")).valid


def test_ro_crate_is_read_with_its_files_and_authors(tmp_path: Path) -> None:
    from rocrate.rocrate import ROCrate

    folder = unpacked(p1_release(), tmp_path)
    crate = ROCrate(str(folder))
    assert crate.name == "Owls: a study"
    assert [one["name"] for one in crate.root_dataset["author"]] == ["Jane Doe", "Owl Lab"]
    named = {entity.id for entity in crate.data_entities}
    inside = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    assert named == inside - {"ro-crate-metadata.json", "croissant.json", "datapackage.json", "manifest.json", "SHA256SUMS",
                              "SHA256SUMS.sig", "signing-key.pem"}  # fmt: skip


def test_hugging_faces_datasets_loads_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = unpacked(p1_release(), tmp_path / "release")
    code = (
        "import sys\nfrom datasets import load_dataset\n"
        "found = load_dataset(sys.argv[1])\nprint(found['train'].num_rows, found['train'].column_names)"
    )
    where = {"HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path / "home"), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(
        [sys.executable, "-c", code, str(folder)], env=where, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("36 ['study', 'item', 'unit'")


def test_citation_and_datacite(tmp_path: Path) -> None:
    folder = unpacked(p1_release(), tmp_path)
    cited = yaml.safe_load((folder / "CITATION.cff").read_text(encoding="utf-8"))
    assert cited["cff-version"] == "1.2.0"
    assert cited["license"] == "CC-BY-4.0"
    assert cited["date-released"] == "2026-11-26"
    assert cited["authors"][0]["orcid"] == "https://orcid.org/0000-0002-1825-0097"
    assert cited["authors"][1] == {"name": "Owl Lab"}
    record = json_of(folder, "datacite.json")
    assert record["publicationYear"] == "2026"
    assert record["rightsList"] == [
        {"rights": "CC BY 4.0", "rightsUri": "https://creativecommons.org/licenses/by/4.0/", "rightsIdentifier": "CC-BY-4.0",
         "rightsIdentifierScheme": "SPDX"}
    ]  # fmt: skip
    assert [one["nameType"] for one in record["creators"]] == ["Personal", "Organizational"]


def test_without_authors_and_licence_the_files_say_so(tmp_path: Path) -> None:
    import mlcroissant

    folder = unpacked(p1_release(creators=(), licence="", citation="", description="", title=""), tmp_path)
    assert not mlcroissant.Dataset(jsonld=str(folder / "croissant.json")).metadata.ctx.issues.errors
    assert "Authors not named" in (folder / "CITATION.cff").read_text(encoding="utf-8")
    assert "not stated" in (folder / "croissant.json").read_text(encoding="utf-8")


def test_the_script_gives_the_reports_numbers(tmp_path: Path) -> None:
    report = stored(small_study(), replicates=0)
    folder = unpacked(built(report, **ABOUT)[1], tmp_path)
    done = subprocess.run(
        [sys.executable, str(folder / "analysis/headline.py"), "--json"],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    [numbers] = json.loads(done.stdout).values()
    found = numbers["simulation"]
    content = report.content or {}
    shown = cells_of(content, "p1-table-4-details")
    assert set(found["precision"]) == {"robot-a", "robot-b"}
    for system, computed in found["precision"].items():
        cell = shown[f"People {system}", "Macro precision All instances"]
        assert (computed["precision"], computed["explanations"]) == (cell["value"], cell["n"])
    alpha = cells_of(content, "agreement-simulation")["Krippendorff’s α, people", "All labels Value"]
    assert found["krippendorff_alpha"] == pytest.approx(alpha["value"])


@pytest.mark.skipif(which("Rscript") is None, reason="needs R with lme4 and jsonlite")
def test_the_mixed_models_are_fitted(tmp_path: Path) -> None:
    folder = unpacked(p1_release(), tmp_path)
    done = subprocess.run(
        ["Rscript", str(folder / "analysis/mixed_models.R")], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert "right" in done.stdout


def test_the_methods_paragraph_has_the_studys_numbers_and_references(tmp_path: Path) -> None:
    folder = unpacked(p1_release(), tmp_path)
    text = (folder / "methods.md").read_text(encoding="utf-8")
    assert "2 people and 1 simulator" in text
    assert "36 judgments on 12 items" in text
    assert "Counterfactual simulatability of natural language explanations" in text
    latex = (folder / "methods.tex").read_text(encoding="utf-8")
    assert latex.isascii()
    assert "\\begin{itemize}" in latex


def test_a_change_of_any_description_is_noticed() -> None:
    """Even where the manifest and the sums are made to fit."""
    file = p1_release()

    def change(files: dict[str, bytes]) -> None:
        for name in DESCRIBED:
            before = files[name]
            for word in (b"owl", b"pandas", b"lme4", b"simulation", b"study"):
                files[name] = files[name].replace(word, word.upper())
            assert files[name] != before

    found = release_reproduce(release_open(rebuilt(file, change, manifest=True, sums=True)))
    for name in DESCRIBED:
        assert any(name in problem for problem in found.problems), name


def test_an_untouched_release_is_reproduced() -> None:
    file = p1_release()
    found = release_reproduce(release_open(file))
    assert found.exact
    assert not [one for one in found.problems if one]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("Doe, Jane; 0000-0002-1825-0098", "is no ORCID"),
        (", Jane", "expected a family name first"),
        ("Doe, Jane; A; B", "neither ORCID nor affiliation"),
        ("Doe\x1b[31m, Jane", "a control character"),
        ("x" * 301, "longer than 300 characters"),
    ],
)
def test_a_line_that_names_nobody(line: str, said: str) -> None:
    with pytest.raises(CreatorInvalid, match="line 2: ") as caught:
        creators_read(["Owl Lab", line])
    assert said in str(caught.value)


def test_names_in_any_script_and_special_characters_stay_themselves(tmp_path: Path) -> None:
    report = stored(small_study(), replicates=100)
    title = 'Eulen "nachts": 100 % & {mehr} \\ #1 – 梟'
    about = ABOUT | {"title": title, "creators": ("Ökçün, Ayşe", "李, 明")}
    folder = unpacked(built(report, **about)[1], tmp_path)
    cited = yaml.safe_load((folder / "CITATION.cff").read_text(encoding="utf-8"))
    assert cited["title"] == title
    assert cited["authors"][1] == {"family-names": "李", "given-names": "明"}
    assert json_of(folder, "datapackage.json")["title"] == title
    card = (folder / "README.md").read_text(encoding="utf-8")
    front = yaml.safe_load(card.split("---")[1])
    assert front["pretty_name"] == title
    assert io.StringIO(card).readline() == "---\n"
