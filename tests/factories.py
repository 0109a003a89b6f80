"""Plain functions that make what tests need, through the product's own services where there is one."""

from __future__ import annotations

from itertools import count
from typing import Any, TypeVar

from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.db.models import Model

from annotator.hit_types.base import JSON
from annotator.models import (
    Dataset,
    Explanation,
    FileImport,
    FollowUp,
    Instance,
    Item,
    Judgment,
    Output,
    Participation,
    Rater,
    Study,
    StudyImage,
    System,
    User,
)
from annotator.services.judgments_record import Given, judgments_record
from annotator.services.participation import participation_join
from annotator.services.study import study_create, study_launch

M = TypeVar("M", bound=Model)
_numbers = count(1)
#: All annotators of a test come from one address.
EASY: dict[str, Any] = {
    "consent_text": "",
    "practice_required": False,
    "exam_required": False,
    "joins_per_address": None,
    "undo_seconds": 600,  # on a busy machine, a test can take longer than the ten seconds that people have
}


def make_user(name: str = "", *, staff: bool = False, **fields: Any) -> User:
    name = name or f"user-{next(_numbers)}"
    return User.objects.create_user(username=name, password="a-long-password-7", is_staff=staff, **fields)


def make_study(*, items: int = 0, by: User | None = None, launched: bool = False, **fields: Any) -> Study:
    """A simulation study without consent, practice and exam, unless they are asked for."""
    slug = fields.pop("slug", f"study-{next(_numbers)}")
    values: dict[str, Any] = EASY | {"hit_type": "simulation", "title": slug.capitalize()} | fields
    study = study_create(by=by, slug=slug, **values)
    for number in range(items):
        make_item(study, key=f"item-{number}")
    if launched:
        study_launch(study=study)
        study.refresh_from_db()
    return study


def make_file_import(study: Study, by: User, **fields: Any) -> FileImport:
    """A large import that was refused, with its list of problems."""
    problem = {"file": "m.csv", "line": 3, "field": "answer", "value": "maybe", "expected": "one of: yes, no"}
    values: dict[str, Any] = {
        "kind": "material", "name": "m.csv", "size": 30_000_000, "state": "refused", "problems": [problem],
        "problem_count": 1,
        "problems_file": default_storage.save("imports-problems/test.csv", ContentFile(b"line,column,value,problem\r\n")),
    }  # fmt: skip
    return FileImport.objects.create(study=study, created_by=by, **values | fields)


def make_image(study: Study, **fields: Any) -> StudyImage:
    """The row of a study's image, without a file."""
    values: dict[str, Any] = {
        "name": "owl.png", "digest": "ab" * 32, "media_type": "image/png", "width": 40, "height": 30, "size": 99,
        "file": f"images/study-{study.pk}/owl",
    }  # fmt: skip
    return StudyImage.objects.create(study=study, **values | fields)


def simulation_payload(number: int | str = 1) -> dict[str, str]:
    return {
        "question": f"Can bird number {number} fly?",
        "explanation": f"All birds can fly. Number {number} is a bird. So the answer is yes.",
        "answer": "yes",
        "follow_up": f"Can the chick of bird number {number} fly?",
    }


def make_item(
    study: Study,
    *,
    key: str = "",
    gold: dict[str, Any] | None = None,
    instance: str = "",
    system: str = "robot-a",
    real_output: str = "yes",
    payload: dict[str, Any] | None = None,
    generator: str = "generator-1",
    **fields: Any,
) -> Item:
    """A simulation item with the material behind it: instance, explanation, follow-up and real output."""
    key = key or f"item-{next(_numbers)}"
    payload = payload or simulation_payload(key)
    dataset = _found_or_made(Dataset, workspace=study.workspace, name=study.slug)
    what = _found_or_made(
        Instance, {"input": payload.get("question", key)}, dataset=dataset, key=instance or key
    )
    maker = _found_or_made(System, workspace=study.workspace, name=system)
    explained = {"text": payload.get("explanation", ""), "output": "yes"}
    explanation = _found_or_made(Explanation, explained, instance=what, system=maker, digest=system)
    follow_up = FollowUp.objects.create(
        instance=what,
        explanation=explanation,
        text=payload.get("follow_up", key),
        generator=generator,
        kind="counterfactual",
        digest=key,
    )
    if real_output:
        Output.objects.create(follow_up=follow_up, system=maker, text=real_output)
    return Item.objects.create(
        study=study,
        key=key,
        payload=payload,
        gold=gold,
        instance=what,
        explanation=explanation,
        follow_up=follow_up,
        **fields,
    )


def _found_or_made(model: type[M], other_values: dict[str, Any] | None = None, **named: Any) -> M:
    """The row with these values, or a new one.

    A test is alone with its tables, so that it needs none of the savepoints by which ``get_or_create`` survives another
    process that creates the same row.
    """
    manager = model._default_manager
    return manager.filter(**named).first() or manager.create(**named, **(other_values or {}))


def lab_copy(study: Study, owner: User) -> Study:
    """A copy of the study in another lab, with the same names of dataset, system and items, participants and labels."""
    copy = make_study(by=owner, slug=f"{study.slug}-otherlab", title="The study of otherlab")
    Dataset.objects.create(workspace=copy.workspace, name=study.slug)
    for item in study.items.select_related("explanation__system"):
        system = item.explanation.system.name if item.explanation else "robot-a"
        same = make_item(copy, key=item.key, system=system, payload=item.payload | {"question": "otherlab?"})
        for judgment in item.judgments.select_related("rater"):
            record_judgment(same, judgment.rater, judgment.response)
    for one in study.participations.all():
        Participation.objects.create(study=copy, rater=one.rater)
    System.objects.filter(workspace=copy.workspace).update(model="otherlab")
    return copy


def make_participation(study: Study, user: User | None = None) -> Participation:
    """Somebody who has read the instructions and may work (the study asks for nothing else by default)."""
    from annotator.services.participation import instructions_finish

    participation = participation_join(study=study, user=user or make_user())
    instructions_finish(participation=participation)
    return participation


def make_rater(name: str, *, kind: str = "human", source: str = "panel") -> Rater:
    return Rater.objects.get_or_create(kind=kind, source=source, name=name)[0]


def make_judgment(item: Item, rater: Rater, answer: str = "yes") -> Judgment:
    """A simulation judgment: yes, no or cannot_guess."""
    response = {"helpful": "no"} if answer == "cannot_guess" else {"helpful": "yes", "answer": answer}
    source = "simulator" if rater.kind == "simulator" else "import"
    return record_judgment(item, rater, response, source=source)


def record_judgment(
    item: Item, rater: Rater, response: JSON, *, source: str = "import", presentation: JSON | None = None
) -> Judgment:
    """A complete judgment of any type that wasn't made on a page."""
    judgments_record(
        study=item.study, rater=rater, given=[Given(item, response, presentation=presentation)], source=source
    )
    return Judgment.objects.get(item=item, rater=rater)
