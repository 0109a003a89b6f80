"""A file that isn't a release, or is damaged, is refused with what is wrong; a release is computed apart from everything."""

from __future__ import annotations

import io
import json
import sys
import zipfile
from collections.abc import Callable, Sequence
from itertools import cycle

import pytest
from django.db import connection

from annotator.models import Item, Judgment, Study
from annotator.selectors.snapshot import snapshot_content
from evaluation.releases.archive import ATTRIBUTES, EARLIER, EPOCH, ArchiveError, Entry
from evaluation.releases.reading import release_open
from evaluation.releases.reproduce import release_reproduce
from evaluation.releases.scratch import scratch
from tests.evaluation.releases.releases import built, files_of, rebuilt
from tests.evaluation.reports.studies import paid_study, small_study, stored

pytestmark = pytest.mark.django_db


_RELEASE: list[bytes] = []


def released() -> io.BytesIO:
    """Built once: reading it needs none of the rows that it was made from."""
    if not _RELEASE:
        _RELEASE.append(built(stored(small_study()))[1].getvalue())
    return io.BytesIO(_RELEASE[0])


def changed_answer(files: dict[str, bytes]) -> None:
    files["tables/judgment.jsonl"] = files["tables/judgment.jsonl"].replace(b'"yes"', b'"no!"', 1)


def longer(files: dict[str, bytes]) -> None:
    files["tables/item.jsonl"] += b"\n" * 1_000


def gone(files: dict[str, bytes]) -> None:
    del files["tables/rater.jsonl"]


def later_format(files: dict[str, bytes]) -> None:
    files["manifest.json"] = json.dumps(json.loads(files["manifest.json"]) | {"format": 99}).encode()


def no_manifest(files: dict[str, bytes]) -> None:
    del files["manifest.json"]


def unknown_choice(files: dict[str, bytes]) -> None:
    manifest = json.loads(files["manifest.json"])
    manifest["choices"]["rule"] = "dice"
    files["manifest.json"] = json.dumps(manifest).encode()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (changed_answer, "tables/judgment.jsonl was changed or damaged"),
        (longer, "tables/item.jsonl is larger than the manifest says"),
        (gone, "tables/rater.jsonl is missing from the release"),
        (later_format, "the release has format 99; this version of Foretell reads formats 4 to 19"),
        (no_manifest, "this is not a release"),
        (unknown_choice, "manifest.json: choices: rule"),
    ],
)
def test_a_damaged_release_is_refused(change: Callable[[dict[str, bytes]], None], words: str) -> None:
    with pytest.raises(ArchiveError, match=words):
        release_reproduce(release_open(rebuilt(released(), change)))


def test_what_is_not_an_archive_is_refused() -> None:
    with pytest.raises(ArchiveError, match="this is not a release"):
        release_open(io.BytesIO(b"item,rater,value\n"))


def test_only_the_rows_of_the_release_are_seen_and_nothing_is_left() -> None:
    study = small_study()
    file = built(stored(study))[1]
    small_study()  # another study with the same raters
    before = Judgment.objects.count(), Item.objects.count(), Study.objects.count()
    with scratch(release_open(file).rows()) as studies:
        assert [one.slug for one in studies] == [study.slug]
        assert Study.objects.count() == 1
        assert Judgment.objects.count() == 12
        Item.objects.update(payload={})
        Judgment.objects.all().delete()
    assert (Judgment.objects.count(), Item.objects.count(), Study.objects.count()) == before
    assert Item.objects.filter(payload={}).count() == 0
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_class WHERE relpersistence = 't' AND relname = 'annotator_judgment'"
        )
        assert cursor.fetchone() == (0,)


def test_a_release_does_not_read_what_the_process_remembers() -> None:
    """Contents of versions are remembered by their ids: those of a release are none of the installation's."""
    study = paid_study()
    file = built(stored(study))[1]
    assert study.snapshot is not None
    remembered = snapshot_content(study.snapshot.pk)
    with scratch(release_open(file).rows()) as (hidden,):
        assert hidden.pk != study.pk
        snapshot = hidden.snapshots.get()
        assert snapshot.pk > 2**60
        assert snapshot_content(snapshot.pk)["pay_per_item"] == remembered["pay_per_item"]
        assert snapshot_content(snapshot.pk)["exam"] is None
    assert release_reproduce(release_open(file)).exact
    assert release_reproduce(release_open(file)).exact, "as often as one likes"


def test_prepared_statements_read_the_release_too() -> None:
    file = built(stored(small_study()))[1]
    small_study()

    def studies() -> int:
        found = connection.connection.execute("SELECT count(*) FROM annotator_study", prepare=True).fetchone()
        return int(found[0])

    assert studies() == 2
    with scratch(release_open(file).rows()):
        assert studies() == 1
    assert studies() == 2


class EarlierEntry(Entry):
    """As ``zipfile`` of Python 3.11.2 writes it."""

    def FileHeader(self, zip64: bool | None = None) -> bytes:
        self.extract_version = self.create_version = EARLIER
        return self.header(earlier=True)


def archived(files: dict[str, bytes], kinds: Sequence[type[Entry]]) -> io.BytesIO:
    """An archive of these files, each written by the kind in turn."""
    new = io.BytesIO()
    with zipfile.ZipFile(new, "w") as out:
        for (name, body), kind in zip(files.items(), cycle(kinds), strict=False):
            with out.open(kind(name), "w", force_zip64=True) as part:
                part.write(body)
    return new


def test_the_python_that_wrote_a_release_makes_no_difference() -> None:
    made, files = released().getvalue(), files_of(released())
    assert archived(files, [Entry]).getvalue() == made
    assert made[:14] == b"PK\x03\x04\x2d\x00\x00\x00\x08\x00\x00\x00\x21\x00"
    assert made[18:26] == b"\xff" * 8, "the sizes are in the extension"

    earlier = archived(files, [EarlierEntry])
    assert earlier.getvalue()[4] == EARLIER
    assert release_reproduce(release_open(earlier)).exact
    assert {one.extract_version for one in zipfile.ZipFile(earlier).infolist()} == {EARLIER}
    with pytest.raises(ArchiveError, match=r"header of .* was changed"):
        release_open(archived(files, [EarlierEntry, Entry]))


@pytest.mark.skipif(
    sys.version_info >= (3, 11, 4), reason="later versions of Python write headers as releases have them"
)
def test_earlier_headers_are_those_of_this_python() -> None:
    new = io.BytesIO()
    with zipfile.ZipFile(new, "w") as out:
        info = zipfile.ZipInfo("a.txt", EPOCH)
        info.compress_type, info.external_attr = zipfile.ZIP_DEFLATED, ATTRIBUTES
        with out.open(info, "w", force_zip64=True) as part:
            part.write(b"owls")
    assert archived({"a.txt": b"owls"}, [EarlierEntry]).getvalue() == new.getvalue()
