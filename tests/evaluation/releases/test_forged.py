"""A release that somebody changed is noticed, and the place is named: any byte of any file, with and without a manifest made to fit."""

from __future__ import annotations

import io
import random
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import IO

import pytest
from django.core.management import CommandError, call_command

from annotator.services.exclusion import exclusion_make
from evaluation.releases.archive import ArchiveError
from evaluation.releases.described.files import DESCRIBED, INDEXES
from evaluation.releases.reading import release_open
from evaluation.releases.reproduce import release_reproduce
from evaluation.releases.reproduction import Reproduction
from evaluation.releases.signature import private_make, public_of
from tests.evaluation.releases.releases import (
    PRIVATE,
    built,
    files_of,
    flips,
    listed_again,
    rebuilt,
    unpacks_alike,
)
from tests.evaluation.reports.studies import small_study, stored
from tests.factories import make_rater

pytestmark = pytest.mark.django_db
LAB = public_of(PRIVATE)
Change = Callable[[dict[str, bytes]], None]


_RELEASE: list[bytes] = []


@pytest.fixture
def release() -> io.BytesIO:
    """Built once: checking it needs none of the rows that it was made from."""
    if not _RELEASE:
        study = small_study(title="Owls at night")
        exclusion_make(study=study, by=None, reason="ann was too fast", rater=make_rater("bob"))
        report = stored(study)
        about = {"description": "What owls do.", "licence": "CC BY 4.0", "citation": "Owl 2026"}
        _RELEASE.append(built(report, title="Owls", **about)[1].getvalue())
    return io.BytesIO(_RELEASE[0])


def checked(file: IO[bytes], key: str = LAB) -> Reproduction:
    return release_reproduce(release_open(file), key=key)


def said_of(file: IO[bytes], key: str = LAB) -> str:
    """Everything that is said about a changed release; empty if nothing is."""
    try:
        found = checked(file, key)
    except ArchiveError as error:
        return str(error)
    return "\n".join(found.problems)


def test_a_true_release_passes_and_says_what_was_checked(release: io.BytesIO) -> None:
    found = checked(release)
    assert found.exact
    assert found.problems == []
    assert found.checked[0] == "the signature, with the given key"
    assert "report.html with its figures and sentences" in found.checked[2]
    assert found.unchecked == [found.unchecked[0]]
    assert "what the authors say: the title" in found.unchecked[0]
    without = checked(release, "")
    assert without.problems == []
    assert LAB in without.checked[0]
    assert "whose key signed it" in without.unchecked[0]


def replaced(name: str, old: str, new: str) -> Change:
    def change(files: dict[str, bytes]) -> None:
        found, number = re.subn(old.encode(), new.encode(), files[name], count=1)
        assert number == 1
        files[name] = found

    return change


def new_readme(files: dict[str, bytes]) -> None:
    files["README.md"] = b"# All is well\n"


def no_warnings(files: dict[str, bytes]) -> None:
    files["report.html"] = re.sub(rb"<img[^>]*>", b"", files["report.html"])


@pytest.mark.parametrize(
    ("change", "place"),
    [
        (replaced("report.html", r"<td[^>]*>[^<]*\.[0-9]+", "<td>0.999"), r"report\.html, line \d+"),
        (replaced("report.html", "Owls at night", "Owls by day"), r"report\.html, line \d+: .*“.*day"),
        (no_warnings, r"report\.html, line \d+"),
        (replaced("ratings.csv", ",yes\r\n", ",no\r\n"), r"ratings\.csv, line \d+: “.*no"),
        (new_readme, r"README\.md, line 1: “# All is well” instead of “---”"),
        (replaced("report.json", '"value": 0.[0-9]+', '"value": 0.987'), r"report\.json: sections\[\d+\]\..*0\.987"),
        (replaced("report.json", '"title": "Report on Owls', '"title": "Report on Hawks'), r"report\.json: title"),
        (replaced("report.json", '"prose": \\[\n *"', '"prose": ["Owls are best. '), r"report\.json: sections\[\d+\]\.prose"),
        (replaced("manifest.json", '"title": "Owls"', '"title": "Hawks"'), r"README\.md, line 2: .*Owls.*Hawks"),
        (replaced("manifest.json", '"licence": "CC BY 4.0"', '"licence": "none"'), r"README\.md, line"),
        (replaced("manifest.json", '"item": 6', '"item": 7'), r"manifest\.json: rows\.item"),
        (replaced("manifest.json", '"inputs_hash": "', '"inputs_hash": "0'), r"manifest\.json: inputs_hash"),
        (replaced("manifest.json", '"seed": [0-9]+', '"seed": 99'), r"report\.json: .*"),
    ],
)  # fmt: skip
def test_a_forger_who_signs_with_another_key_is_found_out_by_the_data(
    release: io.BytesIO, change: Change, place: str
) -> None:
    """The manifest, the list of digests and the signature all fit: the data themselves give another file."""
    forged = rebuilt(release, change, manifest=True, private=private_make())
    assert re.search(place, said_of(forged, ""))
    assert "signed with another key" in said_of(forged)


def test_what_the_data_cannot_show_is_in_the_signature(release: io.BytesIO) -> None:
    def retitled(files: dict[str, bytes]) -> None:
        for name in ("manifest.json", "README.md", *DESCRIBED):
            before, files[name] = files[name], files[name].replace(b"Owl 2026", b"Me 2026")
            if files[name] != before and name not in ("manifest.json", *INDEXES):
                listed_again(files, name)

    assert "SHA256SUMS.sig: the signature isn't valid" in said_of(
        rebuilt(release, retitled, manifest=True, sums=True), ""
    )
    assert said_of(rebuilt(release, retitled, manifest=True, private=private_make()), "") == ""
    assert "signed with another key" in said_of(
        rebuilt(release, retitled, manifest=True, private=private_make())
    )


def test_every_byte_of_every_file_counts(release: io.BytesIO) -> None:
    dice, files = random.Random(23), files_of(release)
    for name, body in files.items():
        for changed in flips(body, 3, dice):
            said = said_of(
                rebuilt(release, lambda new, name=name, changed=changed: new.update({name: changed}))
            )  # type: ignore[misc]
            assert name in said, (name, said)


def test_every_byte_counts_when_the_manifest_is_made_to_fit(release: io.BytesIO) -> None:
    dice = random.Random(24)
    for name, body in files_of(release).items():
        for changed in flips(body, 2 if len(body) > 200 else 1, dice):
            forged = rebuilt(
                release, lambda new, name=name, changed=changed: new.update({name: changed}),  # type: ignore[misc]
                manifest=name != "manifest.json",
            )  # fmt: skip
            said = said_of(forged)
            assert name in said, (name, said)


def test_every_byte_of_the_archive_itself_counts(release: io.BytesIO, tmp_path: Path) -> None:
    """From a file on a disk, too, where a place before the beginning is another error than in memory."""
    whole, dice = release.getvalue(), random.Random(25)
    for changed in [*flips(whole, 150, dice), *flips(whole[-3000:], 300, dice)]:
        body = changed if len(changed) == len(whole) else whole[:-3000] + changed
        if unpacks_alike(body, whole):
            continue
        assert said_of(io.BytesIO(body)) != ""
        (tmp_path / "owls.zip").write_bytes(body)
        with (tmp_path / "owls.zip").open("rb") as file:
            assert said_of(file) != ""
    for body in (whole + b"\n", b"\n" + whole, whole[:-1], whole[:100]):
        assert said_of(io.BytesIO(body)) != ""


def test_another_way_to_pack_the_same_files_changes_nothing(release: io.BytesIO) -> None:
    """The last byte of a file's packed data has bits that nothing reads: the reason why not each byte of an archive counts."""
    whole = release.getvalue()
    second = sorted(zipfile.ZipFile(release).infolist(), key=lambda one: one.header_offset)[1:]
    last = [one.header_offset - 1 for one in second]
    other = [whole[:at] + bytes([whole[at] ^ 0x80]) + whole[at + 1 :] for at in last]
    alike = [body for body in other if unpacks_alike(body, whole)]
    assert alike
    assert {said_of(io.BytesIO(body)) for body in alike} == {""}
    assert all(said_of(io.BytesIO(body)) for body in other if not unpacks_alike(body, whole))


def test_a_removed_name_in_the_reason_of_an_exclusion_is_no_difference() -> None:
    study = small_study()
    exclusion_make(
        study=study, by=None, reason="owl_fan_77 (bob_1999x) asked for it", rater=make_rater("bob")
    )
    make_rater("owl_fan_77")
    ann = make_rater("ann")
    type(ann).objects.filter(pk=ann.pk).update(name="owl_fan_77x")
    found, file = built(stored(study))
    assert found.comparison.differing == 0, found.comparison.sentences
    assert checked(file).problems == []


def test_the_command_ends_with_an_error_and_says_what_was_not_checked(
    release: io.BytesIO, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, key = tmp_path / "owls.zip", tmp_path / "lab.pem"
    file.write_bytes(release.getvalue())
    key.write_bytes(files_of(release)["signing-key.pem"])
    for given in (LAB, str(key)):
        call_command("reproduce", str(file), "--key", given)
        said = capsys.readouterr().out
        assert "were reproduced to the last digit." in said
        assert "Checked: the signature, with the given key." in said
    call_command("reproduce", str(file))
    assert "Not checked: whose key signed it" in capsys.readouterr().out
    file.write_bytes(rebuilt(release, new_readme, manifest=True).getvalue())
    with pytest.raises(CommandError, match=r"README\.md, line 1"):
        call_command("reproduce", str(file))
    with pytest.raises(CommandError, match="expected a public key"):
        call_command("reproduce", str(file), "--key", "ed25519:no")
