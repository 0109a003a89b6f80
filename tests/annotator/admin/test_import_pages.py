"""Files are previewed and imported on a study's pages."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from annotator.hit_types.registry import hit_types
from annotator.models import Item, Judgment, Membership, Study, User
from annotator.services.imports import pending_uploads
from annotator.services.study import study_create
from tests.annotator.admin.study_forms import NASTY, ROOT, sent_form, upload
from tests.annotator.services.imports.material_rows import ROW
from tests.factories import make_item, make_study, make_user

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("stored_files")]


def test_material_is_previewed_before_it_is_imported(researcher_client: Client, study: Study) -> None:
    text = "Input.question,explanation,answer,follow_up,nll\nOwls?,Birds.,no,Ducks?,1\n"
    html = researcher_client.post(
        f"{ROOT}{study.pk}/import/", {"file": upload(text, "hits.csv")}
    ).content.decode()
    assert "hits.csv: 1 item from 1 row" in html
    assert "Unused columns: <code>nll</code>" in html
    assert not Item.objects.exists(), "a look writes nothing"
    data = sent_form(html)
    assert data["column-question"] == "Input.question"
    data["value-system"] = "robot-x"
    reply = researcher_client.post(f"{ROOT}{study.pk}/import/", data | {"import": "1"})
    assert reply["Location"] == f"{ROOT}{study.pk}/live/"
    assert Item.objects.get().explanation.system.name == "robot-x"
    again = researcher_client.post(f"{ROOT}{study.pk}/import/", data | {"import": "1"}, follow=True)
    assert "The uploaded file has expired" in again.content.decode()


@pytest.mark.parametrize("name", sorted(name for name, kind in hit_types().items() if not kind.external))
def test_the_sample_file_of_every_hit_type_is_previewed(
    name: str, researcher_client: Client, researcher: User
) -> None:
    study = make_study(by=researcher, hit_type=name)
    sample = researcher_client.get(reverse("admin:study_import_sample", args=[study.pk]))
    text = b"".join(sample) if sample.streaming else sample.content  # type: ignore[attr-defined]
    reply = researcher_client.post(f"{ROOT}{study.pk}/import/", {"file": upload(text)})
    html = reply.content.decode()
    assert reply.status_code == 200
    assert "First" in html
    assert "<h2>m.jsonl: " in html
    assert "[&#x27;" not in html, "a list is shown as a person writes one"


def test_the_columns_of_a_file_are_listed_once(researcher_client: Client, study: Study) -> None:
    html = researcher_client.post(
        f"{ROOT}{study.pk}/import/", {"file": upload("zebra,yak\n1,2\n", "x.csv")}
    ).content.decode()
    assert html.count("this column is missing") == 4
    assert html.count("the file has: zebra, yak") == 1


def test_own_columns_of_material_are_kept_as_attributes(researcher_client: Client, study: Study) -> None:
    text = "Input.question,explanation,answer,follow_up,domain,nll\nOwls?,Birds.,no,Ducks?,birds,1\n"
    html = researcher_client.post(
        f"{ROOT}{study.pk}/import/", {"file": upload(text, "hits.csv")}
    ).content.decode()
    assert "Unused columns: <code>domain</code>, <code>nll</code>" in html
    data = sent_form(html) | {"attributes": ["domain"]}
    html = researcher_client.post(f"{ROOT}{study.pk}/import/", data | {"look": "1"}).content.decode()
    assert "Unused columns: <code>nll</code>" in html
    researcher_client.post(f"{ROOT}{study.pk}/import/", data | {"import": "1"})
    assert Item.objects.get().attributes == {"domain": "birds"}


def test_spellings_of_labels_are_recoded(researcher_client: Client, researcher: User) -> None:
    study = study_create(by=researcher, hit_type="external_labels", slug="labels", title="Labels")
    address = f"{ROOT}{study.pk}/import-judgments/"
    text = "item,rater,value\nq,a,1.0\nq,b,0.0\n"
    html = researcher_client.post(address, {"file": upload(text, "j.csv")}).content.decode()
    data = sent_form(html) | {"item": ["item"], "values": ["value"], "rater": "rater"}
    html = researcher_client.post(address, data | {"recode": "yes", "look": "1"}).content.decode()
    assert "Expected OLD=NEW" in html
    researcher_client.post(address, data | {"recode": "1=yes, 0=no", "import": "1"})
    assert sorted(j.response["value"] for j in Judgment.objects.all()) == ["no", "yes"]


def test_every_fault_is_listed_with_its_line(researcher_client: Client, study: Study) -> None:
    rows = [ROW, ROW | {"answer": NASTY, "key": "b"}, ROW | {"question": "", "key": "c"}]
    text = "\n".join(map(json.dumps, rows))
    html = researcher_client.post(f"{ROOT}{study.pk}/import/", {"file": upload(text)}).content.decode()
    assert "m.jsonl has 2 problems. Fix them to import the file" in html
    assert re.search(r">2</td><td><code>answer</code>", html)
    assert re.search(r">3</td><td><code>question</code></td>.*?is missing", html, re.S)
    assert "<script>alert" not in html
    data = sent_form(html) | {"import": "1"}
    assert "2 problems" in researcher_client.post(f"{ROOT}{study.pk}/import/", data).content.decode()
    assert not Item.objects.exists()


@pytest.mark.parametrize(
    ("file", "message"),
    [
        (None, "This field is required"),
        (("m.csv", b""), "submitted file is empty"),
        (("m.exe", b"x"), "expected a file ending in"),
        (("m.csv", b"PK\x03\x04"), "zip archive"),
        (("m.csv", b"a,a\n1,2\n"), "two columns have this name"),
        (("m.jsonl", b"nonsense\n"), "is not JSON"),
        (("m.json", b'{"Can owls fly?": [["x", "y"]], "Can ducks?": []}'), "is one JSON object with 2 keys"),
        (("m.json", b'[\n  {\n    "question": "Owls?"\n  }\n]\n'), "begins a JSON document of several lines"),
    ],
)
def test_invalid_files_are_refused(researcher_client: Client, study: Study, file: Any, message: str) -> None:
    data = {"file": upload(file[1], file[0])} if file else {}
    reply = researcher_client.post(f"{ROOT}{study.pk}/import/", data)
    assert reply.status_code == 400
    assert message in reply.content.decode()


def test_upload_tickets_belong_to_one_user(researcher_client: Client, study: Study, researcher: User) -> None:
    html = researcher_client.post(
        f"{ROOT}{study.pk}/import/", {"file": upload(json.dumps(ROW))}
    ).content.decode()
    data = sent_form(html) | {"import": "1"}
    otto = make_user("otto", staff=True)
    Membership.objects.create(study=study, user=otto, role="editor")
    client = Client()
    client.force_login(otto)
    other = study_create(by=researcher, hit_type="toy", slug="other", title="Other")
    for who, where, ticket in (
        (client, study, data["ticket"]),
        (researcher_client, other, data["ticket"]),
        (researcher_client, study, data["ticket"] + "x"),
        (researcher_client, study, ""),
    ):
        reply = who.post(f"{ROOT}{where.pk}/import/", data | {"ticket": ticket}, follow=True)
        assert "The uploaded file has expired" in reply.content.decode()
    assert not Item.objects.exists()


def test_files_of_abandoned_imports_are_removed(
    researcher_client: Client, study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    researcher_client.post(f"{ROOT}{study.pk}/import/", {"file": upload(json.dumps(ROW))})
    assert pending_uploads.pending_uploads_sweep() == 0
    monkeypatch.setattr(pending_uploads, "HOURS", -1)
    assert pending_uploads.pending_uploads_sweep() == 1


def test_an_upload_that_is_too_large_is_refused_before_it_is_read(
    researcher_client: Client, study: Study, settings: Any
) -> None:
    settings.IMPORT_MAX_BYTES = -999_000  # the form's own slack is 1 MB
    reply = researcher_client.post(f"{ROOT}{study.pk}/import/", {"file": upload(b"x" * 2_000, "m.csv")})
    assert reply.status_code in (400, 413)


def test_judgments_collected_elsewhere_are_imported(researcher_client: Client, researcher: User) -> None:
    study = study_create(by=researcher, hit_type="external_labels", slug="labels", title="Labels")
    text = "Input.id,Input.text,Answer.good\nq1,Owls?,yes\nq1,Owls?,no\nq2,Ducks?,yes\n"
    html = researcher_client.post(
        f"{ROOT}{study.pk}/import-judgments/", {"file": upload(text, "batch.csv")}
    ).content.decode()
    assert "batch.csv: 3 judgments from 3 rows" in html
    assert "<strong>good</strong> (nominal): no, yes" in html
    assert "no such name is a person" in html
    assert not Judgment.objects.exists()
    researcher_client.post(f"{ROOT}{study.pk}/import-judgments/", sent_form(html) | {"import": "1"})
    assert (study.items.count(), study.judgments.count()) == (2, 3)


def test_judgments_with_gold_instances_attributes_and_items_of_two_columns(
    researcher_client: Client, researcher: User
) -> None:
    study = study_create(by=researcher, hit_type="external_labels", slug="labels", title="Labels")
    where = f"{ROOT}{study.pk}/import-judgments/"
    text = (
        "q,sys,who,label,tone,right,doc,kind,age\nq1,a,ann,yes,1,no,d1,easy,30\nq1,b,bob,no,2,no,d1,hard,41\n"
    )
    form = sent_form(researcher_client.post(where, {"file": upload(text, "all.csv")}).content.decode())
    chosen = form | {
        "item": ["q", "sys"], "rater": "who", "values": ["label", "tone"], "cluster": "doc",
        "attributes": ["kind"], "rater_attributes": ["age"],
    }  # fmt: skip
    for gold, message in (
        ("right", "expected VALUE=COLUMN, with VALUE one of: label, tone"),
        ("label=wrong", "“wrong” is not a column of the file"),
    ):
        refused = researcher_client.post(where, chosen | {"gold": gold, "import": "1"}).content.decode()
        assert message in refused
    assert not Judgment.objects.exists()
    researcher_client.post(where, chosen | {"gold": "label=right", "import": "1"})
    items = study.items.order_by("key")
    assert [(one.key, one.gold, one.attributes) for one in items] == [
        ("q1 · a", {"label": "no"}, {"kind": "easy"}), ("q1 · b", {"label": "no"}, {"kind": "hard"}),
    ]  # fmt: skip
    assert {one.instance.key for one in items} == {"d1"}
    assert set(study.judgments.values_list("rater__name", "rater__attributes__age")) == {
        ("ann", "30"), ("bob", "41"),
    }  # fmt: skip


def test_tables_of_label_counts(researcher_client: Client, researcher: User) -> None:
    study = study_create(by=researcher, hit_type="external_labels", slug="labels", title="Labels")
    where = f"{ROOT}{study.pk}/import-judgments/"
    text = "item,no,yes,right\nq1,1,2,yes\nq2,,1,no\nq3,3,x,\n"
    form = sent_form(researcher_client.post(where, {"file": upload(text, "c.csv")}).content.decode())
    neither = researcher_client.post(where, form | {"values": []}).content.decode()
    assert "Choose the columns that hold labels." in neither
    counts = {key: value for key, value in form.items() if key != "values"} | {"counts": ["no", "yes"]}
    both = researcher_client.post(where, counts | {"values": ["no"]}).content.decode()
    assert "Choose values or label counts, not both." in both
    wrong = researcher_client.post(where, counts).content.decode()
    assert "expected a count, a whole number from 0" in wrong
    form = sent_form(
        researcher_client.post(where, {"file": upload(text.replace("x", "0"), "c.csv")}).content.decode()
    )
    counts = {key: value for key, value in form.items() if key != "values"} | {"counts": ["no", "yes"]}
    several = researcher_client.post(where, counts | {"gold": "a=right"}).content.decode()
    assert "Expected one column: a table of label counts has one variable." in several
    comma = researcher_client.post(where, counts | {"decimal_comma": "on"}).content.decode()
    assert "A table of label counts doesn&#x27;t take this." in comma
    researcher_client.post(where, counts | {"gold": "right", "import": "1"})
    assert dict(study.items.values_list("key", "gold")) == {
        "q1": {"label": "yes"}, "q2": {"label": "no"}, "q3": None,
    }  # fmt: skip
    found = study.judgments.order_by("item__key", "rater__name")
    assert [(one.item.key, one.rater.name, one.response) for one in found] == [
        ("q1", "unnamed 1", {"label": "no"}), ("q1", "unnamed 2", {"label": "yes"}), ("q1", "unnamed 3", {"label": "yes"}),
        ("q2", "unnamed 1", {"label": "yes"}),
        ("q3", "unnamed 1", {"label": "no"}), ("q3", "unnamed 2", {"label": "no"}), ("q3", "unnamed 3", {"label": "no"}),
    ]  # fmt: skip


def test_judgments_of_a_single_named_rater_are_imported(researcher_client: Client, researcher: User) -> None:
    study = study_create(by=researcher, hit_type="external_labels", slug="labels", title="Labels")
    where = f"{ROOT}{study.pk}/import-judgments/"
    text = "item,label\nq1,yes\nq2,no\n"
    form = sent_form(researcher_client.post(where, {"file": upload(text, "one.csv")}).content.decode())
    one = form | {"rater": "(one rater for all rows)"}
    unnamed = researcher_client.post(where, one | {"import": "1"}).content.decode()
    assert "Enter the rater&#x27;s name." in unnamed
    unused = researcher_client.post(where, form | {"rater_name": "ann", "import": "1"}).content.decode()
    assert "Leave this empty, or choose" in unused
    assert not Judgment.objects.exists()
    researcher_client.post(where, one | {"rater_name": "ann", "import": "1"})
    assert set(study.judgments.values_list("rater__name", "item__key")) == {("ann", "q1"), ("ann", "q2")}


def test_judgments_are_imported_into_an_annotated_study(researcher_client: Client, researcher: User) -> None:
    study = make_study(by=researcher)
    make_item(study, key="a")
    text = "item,worker,label\na,w1,yes\nb,w1,no\n"
    html = researcher_client.post(
        f"{ROOT}{study.pk}/import-judgments/", {"file": upload(text, "j.csv")}
    ).content.decode()
    assert "there is no such item in the study" in html
    data = sent_form(html)
    assert (data["item"], data["rater"], data["values"]) == (["item"], "worker", ["label"])
