"""A researcher at work in the admin, page by page."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from annotator.accounts.api_tokens import token_digest
from annotator.models import ApiToken, Exclusion, Export, Item, Judgment, Membership, Study, User
from annotator.services.imports import pending_uploads
from annotator.services.stage_submit import judgment_record
from annotator.services.study import study_create
from tests.annotator.services.imports.test_material_import import ROW
from tests.factories import make_item, make_judgment, make_rater, make_study, make_user

pytestmark = pytest.mark.django_db
ROOT = "/admin/annotator/study/"
NASTY = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'{{ 7|add:7 }}"


@pytest.fixture(autouse=True)
def _files(settings: Any, tmp_path: Any) -> None:
    settings.STORAGES = settings.STORAGES | {
        "default": {
            "BACKEND": "django.core.files.storage.FileSystemStorage",
            "OPTIONS": {"location": str(tmp_path)},
        }
    }


def page(client: Client, address: str, **query: Any) -> str:
    reply = client.get(ROOT + address, query)
    assert reply.status_code == 200, (address, reply.status_code)
    return reply.content.decode()


def upload(text: str | bytes, name: str = "m.jsonl") -> SimpleUploadedFile:
    return SimpleUploadedFile(name, text.encode() if isinstance(text, str) else text)


def ticket_of(html: str) -> str:
    return re.findall(r'name="ticket" value="([^"]+)"', html)[0]


def sent_form(html: str) -> dict[str, Any]:
    """What a browser would send from the page's form as it stands."""
    data: dict[str, Any] = {"ticket": ticket_of(html)}
    for select in re.findall(r"<select.*?</select>", html, re.S):
        name = re.findall(r'name="([^"]+)"', select)[0]
        chosen = re.findall(r'value="([^"]*)" selected', select)
        data[name] = chosen[0] if chosen else ""
    for name, value in re.findall(r'type="checkbox" name="([^"]+)" value="([^"]+)"[^>]*checked', html):
        data.setdefault(name, []).append(value)
    return data


# -- import ----------------------------------------------------------------------------------------------


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
    text = "item,no,yes\nq1,1,2\nq2,,1\nq3,3,x\n"
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
    researcher_client.post(where, counts | {"import": "1"})
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


# -- looking, excluding ------------------------------------------------------------------------------------


@pytest.fixture
def full(researcher: User) -> Study:
    study = make_study(by=researcher, slug="full")
    for key in ("a", "b"):
        item = make_item(study, key=key)
        for name in ("ann", "bob"):
            make_judgment(item, make_rater(name))
    return study


def test_judgments_are_listed_in_words_and_filtered(researcher_client: Client, full: Study) -> None:
    html = page(researcher_client, f"{full.pk}/judgments/")
    assert html.count('<li title="What will the robot answer to the follow-up question?">Yes</li>') == 4
    assert page(researcher_client, f"{full.pk}/judgments/", rater="ann").count("<li title=") == 4
    assert "No judgments match these filters." in page(
        researcher_client, f"{full.pk}/judgments/", rater_kind="simulator"
    )


@pytest.mark.parametrize(
    "query", ["user__password__startswith=x", "_connector=OR", "source=x", "rater__name=ann"]
)
def test_unknown_filters_of_judgments_are_refused(researcher_client: Client, full: Study, query: str) -> None:
    reply = researcher_client.get(f"{ROOT}{full.pk}/judgments/?{query}")
    assert reply.status_code == 400
    assert "<li title=" not in reply.content.decode()
    assert researcher_client.get(f"{ROOT}{full.pk}/download/?{query}").status_code == 400


def test_texts_of_annotators_and_models_are_shown_as_text(
    researcher_client: Client, researcher: User
) -> None:
    study = study_create(by=researcher, hit_type="toy", slug="nasty", title=NASTY[:200])
    payload = {"question": NASTY, "explanation": NASTY, "answer": "yes", "follow_up": NASTY}
    item = make_item(
        study, key="nasty", payload=payload, condition=NASTY[:90], system=NASTY[:53], real_output=NASTY
    )
    judgment, _ = judgment_record(
        item=item, rater=make_rater(NASTY), response={"guess": "yes", "why": NASTY}, source="import"
    )
    researcher_client.post(f"{ROOT}{study.pk}/exclude/rater/{judgment.rater_id}/", {"reason": NASTY})
    assert Exclusion.objects.get().reason == NASTY
    for address in (
        "change/", "items/", f"items/{item.pk}/", "judgments/", f"judgments/{judgment.pk}/", "raters/", "exclusions/",
        "exports/", "do/launch/", f"exclude/judgment/{judgment.pk}/", "import/", "import-judgments/",
    ):  # fmt: skip
        html = page(researcher_client, f"{study.pk}/{address}")
        assert "<script>alert" not in html, address
        assert "<img src=x" not in html, address
        assert "&lt;script&gt;alert(1)" in html, address
    assert "<script>alert" not in researcher_client.get(ROOT).content.decode()


def test_exclusions_are_created_with_a_reason_and_lifted(researcher_client: Client, full: Study) -> None:
    judgment = full.judgments.first()
    assert judgment is not None
    for what, pk in (("rater", judgment.rater_id), ("item", judgment.item_id), ("judgment", judgment.pk)):
        address = f"{ROOT}{full.pk}/exclude/{what}/{pk}/"
        assert "will be left out" in researcher_client.get(address).content.decode()
        assert researcher_client.post(address, {"reason": " "}).status_code == 400
        assert researcher_client.post(address, {"reason": "Too fast."}).status_code == 302
        assert "already excluded" in researcher_client.post(address, {"reason": "Again"}).content.decode()
    assert Exclusion.objects.count() == 3
    html = page(researcher_client, f"{full.pk}/judgments/")
    assert html.count('<span class="fk-alarm">excluded:</span> Too fast.') == 3
    for exclusion in Exclusion.objects.all():
        assert researcher_client.get(f"{ROOT}{full.pk}/exclusions/{exclusion.pk}/lift/").status_code == 405
        researcher_client.post(f"{ROOT}{full.pk}/exclusions/{exclusion.pk}/lift/")
    assert not Exclusion.objects.filter(lifted_at__isnull=True).exists()


# -- exports, token -------------------------------------------------------------------------------


def test_several_judgments_are_excluded_for_one_reason(researcher_client: Client, full: Study) -> None:
    chosen = list(full.judgments.order_by("pk").values_list("pk", flat=True))[:3]
    listed = researcher_client.post(
        "/admin/annotator/judgment/", {"action": "leave_out", "_selected_action": chosen}
    )
    address = listed["Location"]
    assert address.startswith(f"{ROOT}{full.pk}/exclude/judgments/?pk=")
    assert "3 judgments will be left out" in researcher_client.get(address).content.decode()
    assert researcher_client.post(address, {"reason": ""}).status_code == 400
    assert not Exclusion.objects.exists()
    researcher_client.post(address, {"reason": "One bot."})
    assert set(Exclusion.objects.values_list("judgment_id", flat=True)) == set(chosen)
    assert (
        "0 judgments excluded; 3 were already excluded"
        in researcher_client.post(address, {"reason": "Again"}, follow=True).content.decode()
    )
    other = make_judgment(make_item(make_study()), make_rater("zoe"))
    for query in (f"pk={other.pk}", "pk=x", ""):
        assert researcher_client.get(f"{ROOT}{full.pk}/exclude/judgments/?{query}").status_code == 404


def test_small_exports_are_downloaded_at_once(researcher_client: Client, full: Study) -> None:
    choice = {"form": "ratings", "format": "csv", "rater_kind": "human", "excluded": ""}
    reply = researcher_client.post(f"{ROOT}{full.pk}/exports/", choice)
    assert reply["Location"].endswith("/download/?form=ratings&format=csv&rater_kind=human")
    content: Any = researcher_client.get(reply["Location"])
    assert b"".join(content.streaming_content).count(b"simulation") == 4
    assert researcher_client.post(f"{ROOT}{full.pk}/exports/", choice | {"format": "xlsx"}).status_code == 400


def test_large_exports_are_built_by_a_job(
    researcher_client: Client,
    full: Study,
    researcher: User,
    monkeypatch: pytest.MonkeyPatch,
    django_capture_on_commit_callbacks: Any,
) -> None:
    from annotator.services.exports import export_build

    monkeypatch.setattr("annotator.admin.study_pages.exporting.STREAMED", 3)
    monkeypatch.setattr("annotator.core.jobs.enqueue", lambda name, **ids: export_build(**ids))
    assert researcher_client.get(f"{ROOT}{full.pk}/download/").status_code == 302
    with django_capture_on_commit_callbacks(execute=True):
        researcher_client.post(f"{ROOT}{full.pk}/exports/", {"form": "judgments", "format": "jsonl"})
    export = Export.objects.get()
    assert f"exports/{export.pk}/" in page(researcher_client, f"{full.pk}/exports/")
    file: Any = researcher_client.get(f"{ROOT}{full.pk}/exports/{export.pk}/")
    assert b"".join(file.streaming_content)[:2] == b"\x1f\x8b"
    otto = make_user("otto", staff=True)
    Membership.objects.create(study=full, user=otto, role="owner")
    client = Client()
    client.force_login(otto)
    assert client.get(f"{ROOT}{full.pk}/exports/{export.pk}/").status_code == 404, "only for who asked"


def test_tokens_are_shown_once_listed_and_revoked(researcher_client: Client, researcher: User) -> None:
    assert "You don't have a token yet" in page(researcher_client, "api-token/")
    chosen = {"make": "1", "name": "nightly import", "may_write": "1", "days": "30"}
    html = researcher_client.post(ROOT + "api-token/", chosen).content.decode()
    first = re.findall(r'value="([0-9a-f]{40})"', html)
    row = ApiToken.objects.get(user=researcher)
    assert token_digest(first[0]) == row.digest
    assert (row.may_write, row.may_run, row.may_see_people) == (True, False, False)
    again = page(researcher_client, "api-token/")
    assert first[0] not in again
    assert "nightly import" in again
    assert "read, write" in again
    researcher_client.post(ROOT + "api-token/", {**chosen, "name": "another"})
    assert ApiToken.objects.filter(user=researcher).count() == 2
    otto = make_user("otto", staff=True)
    other = Client()
    other.force_login(otto)
    assert other.post(ROOT + "api-token/", {"revoke": str(row.pk)}).status_code == 404, "not theirs"
    researcher_client.post(ROOT + "api-token/", {"revoke": str(row.pk)})
    assert ApiToken.objects.get(user=researcher).name == "another"


@pytest.mark.parametrize("days", ["0", "366", "99999999999999999999", "x"])
def test_a_token_without_a_sensible_end_is_refused(researcher_client: Client, days: str) -> None:
    reply = researcher_client.post(ROOT + "api-token/", {"make": "1", "name": "n", "days": days})
    assert reply.status_code == 400
    assert not ApiToken.objects.exists()


def test_the_number_of_queries_is_independent_of_a_pages_length(
    researcher_client: Client, full: Study, researcher: User
) -> None:
    addresses = [f"{full.pk}/{name}/" for name in ("items", "judgments", "raters", "exclusions", "exports")]

    def counts() -> list[int]:
        found = []
        for address in addresses:
            with CaptureQueriesContext(connection) as queries:
                page(researcher_client, address)
            found.append(len(queries))
        return found

    counts()  # what is cached for the process
    before = counts()
    for number in range(6):
        make_study(by=researcher)
        item = make_item(full, key=f"more-{number}", system=f"s{number}")
        judgment = make_judgment(item, make_rater(f"r{number}"))
        researcher_client.post(f"{ROOT}{full.pk}/exclude/judgment/{judgment.pk}/", {"reason": "x"})
    assert counts() == before
    assert max(before) <= 20, dict(zip(addresses, before, strict=True))
