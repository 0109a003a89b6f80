"""A small world with one object of each kind, and the address of every page, read from the resolver.

A new page is found automatically if its arguments are known here; otherwise the test of every page fails.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from django.conf import settings
from django.contrib.auth.tokens import default_token_generator
from django.contrib.auth.views import INTERNAL_RESET_SESSION_TOKEN
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, reverse
from django.utils.http import urlsafe_base64_encode

from annotator.core.canonical import text_digest
from annotator.models import Dataset, ExamQuestion, LedgerEntry, Participation, Rater, Study, User
from annotator.selectors.participation import participation_step
from annotator.selectors.study import study_hit_type
from annotator.services.assignment import assignment_next
from annotator.services.exam import exam_start, exam_submit, qualification_grant
from annotator.services.exclusion import exclusion_make
from annotator.services.exports import export_request
from annotator.services.message import message_reply, message_send
from annotator.services.participation import (
    consent_give,
    instructions_finish,
    participation_finish,
    participation_join,
    practice_advance,
    practice_answer,
)
from annotator.services.rehearsal.fill import right_answers, take_steps
from annotator.services.study import study_launch
from annotator.services.submit_and_next import turn_take
from evaluation.models import Call, Endpoint, FineTuning, KeptJob, KeptStudy, Pipeline
from evaluation.pipelines.create import recipe_save
from evaluation.runs.lifecycle import run_start
from evaluation.services.release import release_compute, release_create
from evaluation.simulators.start import simulation_create
from foretell import env
from tests.annotator.declared import clarity
from tests.annotator.questionnaires import questionnaire_saved
from tests.e2e.world_panel import panel_studies
from tests.evaluation.reports.studies import stored
from tests.factories import make_file_import, make_item, make_judgment, make_rater, make_study, make_user

#: The step that a person has reached -> which of their pages are opened at that step.
STEPS = ("consent", "instructions", "practice", "exam", "exam_result", "tasks", "done")


@dataclass
class World:
    """The objects and people of the world. ``people`` maps each step of a study to a user who has reached it."""

    researcher: User
    study: Study
    draft: Study
    people: dict[str, User] = field(default_factory=dict)
    objects: dict[str, Any] = field(default_factory=dict)
    #: Who -> the session of their log-in.
    sessions: dict[str, str] = field(default_factory=dict)

    def log_in(self) -> None:
        for who, user in [("researcher", self.researcher), *self.people.items()]:
            client = Client()
            client.force_login(user)
            session = client.session
            session[INTERNAL_RESET_SESSION_TOKEN] = default_token_generator.make_token(
                user
            )  # as after the mail's link
            session.save()
            self.sessions[who] = client.cookies[settings.SESSION_COOKIE_NAME].value


def world_make() -> World:
    researcher = make_user("ada", staff=True, is_superuser=True, email="ada@example.org")
    rules = {
        "consent_text": "We keep **your answers**.", "practice_required": True, "exam_required": True, "pay_per_item": "0.5",
        "redundancy": 9, "completion_code": "C0DE-77", "summary": "Read, and say what the robot will do.",
    }  # fmt: skip
    study = make_study(by=researcher, slug="owls", **rules)
    for number in range(4):
        make_item(
            study,
            key=f"owl-{number}",
            condition="normal" if number % 2 else "forced",
            system=f"robot-{number % 2}",
        )
    study_launch(study=study)
    study.refresh_from_db()
    asked = {"questionnaire_before": "demographics", "questionnaire_after": "trust"}
    world = World(researcher, study, make_study(by=researcher, slug="draft", items=2, **asked))
    for step in STEPS:
        world.people[step] = make_user(f"at-{step}")
        stand_at(step, participation_join(study=study, user=world.people[step]))
    with_rows(world)
    with_runs(world)
    world.objects |= panel_studies(researcher)
    world.log_in()
    return world


def stand_at(step: str, participation: Participation) -> None:
    """Bring a participation to a step of the study."""
    if step == "consent":
        return
    if step in ("tasks", "done"):
        take_steps(participation)
    else:
        consent_give(participation=participation, digest=text_digest(participation.study.consent_text))
        if step != "instructions":
            instructions_finish(participation=participation)
    if step in ("exam", "exam_result"):
        while participation_step(participation) == "practice":
            practice_answer(participation=participation, number=participation.practice_done)
            practice_advance(participation=participation, number=participation.practice_done)
            participation.refresh_from_db()
    if step == "exam_result":
        attempt = exam_start(participation=participation)
        right = right_answers(participation, attempt.drawn)
        wrong = {
            key: {"helpful": "no"} if "answer" in value else {"helpful": "yes", "answer": "no"}
            for key, value in right.items()
        }
        exam_submit(attempt=attempt, answers=wrong)
    participation.refresh_from_db()
    while step == "done" and (assignment := assignment_next(participation=participation)):
        turn_take(
            user_id=participation.rater.user_id, assignment_pk=assignment.pk, stage=0, raw={"helpful": "yes", "answer": "no"}
        )  # fmt: skip
    if step == "done":
        participation_finish(participation=participation)


def with_rows(world: World) -> None:
    """Messages, exclusions, money, an export, a qualification; and judgments of some more raters."""
    study, researcher = world.study, world.researcher
    participation = study.participations.get(rater__user=world.people["tasks"])
    item = study.items.order_by("id")[0]
    message_send(participation=participation, kind="flag", text="A <b>word</b> is missing.", item=item)
    asked = message_send(participation=participation, kind="question", text="Do bats count?", item=item)
    message_reply(message=asked, by=researcher, text="They do.")
    message_send(participation=participation, kind="question", text="And moths?")
    for name, word in (("kim", "yes"), ("lee", "no"), ("gpt", "yes")):
        for one in study.items.all():
            make_judgment(one, make_rater(name, kind="simulator" if name == "gpt" else "human"), word)
    exclusion = exclusion_make(
        study=study, by=researcher, reason="always no", rater=Rater.objects.get(name="lee")
    )
    for kind in ("bonus", "payment"):
        entry = LedgerEntry.objects.create(
            study=study,
            rater=participation.rater,
            kind=kind,
            amount="1.5",
            reason="thanks",
            created_by=researcher,
        )
    kept = KeptStudy.objects.create(
        workspace=study.workspace, study=10**6, slug="kept", title="Kept", place="kept.foretell", sha256="0" * 64, bytes=1,
        passphrase=True, people=1, kept_by=researcher,
    )  # fmt: skip
    job = KeptJob.objects.create(
        kind=KeptJob.Kind.KEEP, workspace=study.workspace, study=10**6, slug="kept", kept=kept, state=KeptJob.State.DONE,
        created_by=researcher,
    )  # fmt: skip
    # First, because "study" is a part of its name.
    world.objects |= {"kept_study": kept, "kept_job": job}
    world.objects |= {
        "declaredtype": clarity(study.workspace, researcher).type,
        "declaredquestionnaire": questionnaire_saved(study.workspace, researcher),
        "item": item, "judgment": study.judgments.order_by("id")[0], "exclusion": exclusion, "ledgerentry": entry,
        "import": make_file_import(study, researcher),
        "export": export_request(study=study, by=researcher, form="judgments", format="jsonl", filters={}),
        "qualification": qualification_grant(rater=participation.rater, hit_type="simulation", workspace=study.workspace, by=researcher, reason="known"),
        "examquestion": ExamQuestion.objects.order_by("id")[0], "message": asked, "study": study,
        "rater": Rater.objects.get(name="kim"), "participation": participation, "user": world.people["tasks"],
    }  # fmt: skip


def with_runs(world: World) -> None:
    """An endpoint, a run with its calls, a pipeline, two finished reports, a release."""
    endpoint = Endpoint.objects.create(
        workspace=world.study.workspace,
        name="nobody",
        base_url="http://127.0.0.1:9/v1",
        model="scripted",
        price_in=1,
        price_out=2,
    )
    run = run_start(run=simulation_create(study=world.study, endpoint=endpoint))
    world.objects |= {"endpoint": endpoint, "run": run, "call": Call.objects.order_by("id").first()}
    world.objects |= {"report": stored(world.study), "other_report": stored(world.study, min_overlap=2)}
    release = release_create(report=world.objects["report"], title="Data", user=world.researcher, send=False)
    release_compute(release_pk=release.pk)
    world.objects["release"] = release
    content = json.loads(
        (env.ROOT / "evaluation/pipelines/recipes/p1-yes-no.json").read_text(encoding="utf-8")
    )
    recipe = recipe_save(content=content, created_by=world.researcher, workspace=world.study.workspace)
    dataset = Dataset.objects.get(name=world.study.slug)
    pipeline = Pipeline.objects.create(
        recipe=recipe, dataset=dataset, endpoint=endpoint, study=world.study, created_by=world.researcher
    )
    tuning = FineTuning.objects.create(
        pipeline=pipeline,
        endpoint=endpoint,
        step="tune-1",
        base_model="scripted",
        examples=24,
        file='{"messages": []}\n',
        file_id="file-1",
        job_id="ftjob-1",
        state=FineTuning.State.FAILED,
        error="The job failed on the training cluster.",
    )
    world.objects |= {"recipe": recipe, "pipeline": pipeline, "tuning": tuning}


# -- addresses -------------------------------------------------------------------------------------------


def names(resolver: URLResolver | None = None, space: str = "") -> Iterator[tuple[str, URLPattern]]:
    """Every named address of the product, with its namespace. The API is left out because it answers in JSON."""
    for one in (resolver or get_resolver()).url_patterns:
        if isinstance(one, URLResolver):
            if not str(one.pattern).startswith("api/"):
                yield from names(one, space + (f"{one.namespace}:" if one.namespace else ""))
        elif one.name:
            yield space + one.name, one


def every_name() -> list[str]:
    return sorted({name for name, _ in names()})


#: Arguments of addresses that follow from no rule: name -> several sets of them.
SEVERAL: dict[str, list[list[Any]]] = {
    "admin:annotator_study_do": [["study", "pause"], ["study", "close"], ["draft", "launch"]],
    "admin:annotator_study_import": [["draft"]],
    "admin:annotator_study_export": [["study", "judgments", "csv"]],
    "admin:app_list": [["annotator"]],
    "annotator:offline": [["offline"], ["away"]],
    "annotator:invitation": [["token"]],
    "annotator:place_alert": [["token"]],
    "annotator:preview": [["study"], ["draft"]],
    "annotator:preview_questions": [["study", "exam"], ["study", "practice"]],
    "annotator:password_reset_confirm": [["uid", "set-password"]],
    "evaluation:report_file": [["report", "no-such-file"]],
    "evaluation:report_export": [["report", "html"]],
    "evaluation:releases": [["report"]],
    "annotator:preview_step": [
        ["study", step]
        for step in ("invitation", "consent", "declined", "passed", "failed", "stopped", "done")
    ]
    + [["draft", "before"], ["draft", "after"]],
    "annotator:questionnaire": [],  # only between two steps; the preview of the draft shows it
    "annotator:notices_stop": [],  # only with the link of an email; tests/annotator/services/test_notices.py opens it
    # Only for contested items; tests/annotator/admin/test_adjudication_page.py opens them.
    "annotator:adjudicate": [],
    "annotator:adjudicate_undo": [],
    "annotator:panel_webhook": [],  # only posts; tests/annotator/web/test_prolific_webhooks.py sends them
    "annotator:return": [],  # only for people without a password; tests/annotator/web/test_guests.py opens it
    "annotator:receipt": [],  # only after a request for deletion; tests/annotator/web/test_receipt.py opens it
    "annotator:colleague": [],  # only with an invitation; tests/annotator/admin/test_members_page.py opens it
    **{
        key: [] for key in ("admin:hit_type_copy", "admin:questionnaire_copy", "admin:hit_type_try")
    },  # only post
    "evaluation:kept_study_download": [],  # a file; tests/evaluation/views/test_kept_pages.py reads it
    "evaluation:kept_file_delete": [],  # only posts; the same test sends one
    # Files; tests/annotator/admin/test_hit_type_pages.py and test_questionnaire_pages.py read them.
    **{key: [] for key in ("admin:hit_type_download", "admin:questionnaire_download")},
    **{key: [] for key in ("annotator:preview_hit_type", "annotator:preview_questionnaire")},  # only post
    "admin:annotator_workspace_change": [["workspace"]],
    "admin:workspace_members": [["workspace"]],
    "admin:workspace_audit": [["workspace"]],
    # Pages of the second factor and single sign-on that only follow from what somebody did before.
    "mfa_authenticate": [],
    "mfa_reauthenticate": [],
    "mfa_deactivate_totp": [],
    "mfa_login_webauthn": [],  # sends options to a script; tests/e2e/test_passkeys.py uses these
    "mfa_edit_webauthn": [],
    "mfa_remove_webauthn": [],
    "mfa_reauthenticate_webauthn": [],
    "mfa_view_recovery_codes": [],
    "mfa_generate_recovery_codes": [],
    "mfa_download_recovery_codes": [],
    "openid_connect_login": [],
    "openid_connect_callback": [],
    "account_logout": [],
    "account_login": [],  # these lead to the login page
    "account_signup": [],
    "socialaccount_signup": [],
    "socialaccount_login_error": [],  # 401
    "admin:study_bonus": [["study", "participant"]],
    "admin:study_recruitment": [["study"], ["at_panel"], ["before_panel"]],
    "admin:study_panel_new": [["before_panel"]],
    "admin:study_pay_panel": [["at_panel"]],
    "admin:study_question": [["study", "exam", "question"]],
    "admin:study_translation": [["study", "de"], ["draft", "ar"]],
    "admin:study_translation_question": [["study", "de", "exam", "question"]],
    "admin:study_question_new": [["study", "exam"], ["study", "practice"]],
    "admin:study_questions_file": [["study", "exam"]],
    "admin:study_questions_sample": [["study", "exam"]],
    "annotator:image": [],  # a picture; tests/e2e/test_images.py opens it
    "annotator:left": [],  # only for people who have left; tests/annotator/web/test_leaving.py opens it
    "admin:view_on_site": [],  # redirects to another page; Foretell doesn't use it
    "admin:jsi18n": [[]],
    # Only served with DEBUG on; test_style.py checks them.
    "style": [],
    "style_screen": [],
}
QUERIES = {
    "evaluation:report_compare": "?a={report.pk}&b={other_report.pk}",
    "admin:study_exclude_judgments": "?pk={judgment.pk}",
    "annotator:exam": "",
}
#: Pages that only somebody at a certain step sees; the rest is seen by everybody, and by somebody at work.
AT_STEP = {f"annotator:{step}": step for step in STEPS}


def addresses(name: str, world: World) -> list[tuple[str, str]]:
    """(visitor, path) of every page of this name. Raises ``LookupError`` if no rule gives its arguments.

    History and deletion have one admin template for all models, so only the study's are visited.
    """
    if name.endswith(("_history", "_delete")) and name.startswith("admin:") and "_study_" not in name:
        return []
    pattern = next(one for found, one in names() if found == name)
    sets = SEVERAL.get(name)
    if sets is None:
        sets = [[argument(name, one, world) for one in pattern.pattern.converters or groups(pattern)]]
    paths = [reverse(name, args=[_value(one, world) for one in arguments]) for arguments in sets]
    query = QUERIES.get(name, "").format(**world.objects)
    return [(who, path + query) for path in paths for who in viewers(name)]


def groups(pattern: URLPattern) -> list[str]:
    regex = getattr(pattern.pattern, "regex", None)
    return list(regex.groupindex) if regex else []


def viewers(name: str) -> list[str]:
    if name in AT_STEP:
        return [AT_STEP[name]]
    if name in (
        "mfa_index",
        "annotator:sessions",
        "mfa_activate_totp",
        "mfa_list_webauthn",
        "mfa_add_webauthn",
        "account_reauthenticate",
        "socialaccount_connections",
    ):
        return ["researcher"]
    if name.startswith("admin:") and name not in ("admin:login",):
        return ["researcher"]
    if name.startswith(("evaluation:", "annotator:preview")):
        return ["researcher"]
    if name in (
        "annotator:home",
        "annotator:invitation",
        "annotator:login",
        "annotator:signup",
        "annotator:return",
        "annotator:receipt",
        "admin:login",
        "style",
    ):
        return ["anybody"]
    return ["tasks"] if name.startswith("annotator:") else ["anybody"]


def argument(name: str, argument: str, world: World) -> Any:
    """The value of a URL argument, by the names of the argument and the page."""
    short = name.split(":")[-1]
    if argument == "name" and short.endswith("_do"):
        return "cancel"
    if argument == "slug":
        return world.study.slug
    if argument in ("study_pk",) or (
        argument in ("pk", "object_id") and short.startswith(("study_", "annotator_study"))
    ):
        return world.study.pk
    if argument == "target_pk":
        return world.objects[short.rsplit("_", 1)[1]].pk
    if argument.removesuffix("_pk") in world.objects:
        return world.objects[argument.removesuffix("_pk")].pk
    if argument in ("pk", "object_id", "id"):
        model = next(
            (one for one in world.objects if f"_{one}_" in f"_{short}_" or short.startswith(one)), None
        )
        if model is None and short in ("submit", "draft", "undo", "skip", "more_time", "flag", "ask"):
            return 1  # these only take what is sent
        if model is None and short == "preview_instructions":
            return world.study.pk
        if model is not None and world.objects[model] is not None:
            return world.objects[model].pk
    raise LookupError(f"{name}: say in tests/e2e/world.py what its {argument!r} is")


def _value(one: Any, world: World) -> Any:
    if one == "uid":
        return urlsafe_base64_encode(str(world.people["tasks"].pk).encode())
    if one == "workspace":
        return world.study.workspace_id
    if one == "participant":
        return world.objects["participation"].rater_id
    if one == "question":
        return study_hit_type(world.study).exam[0].key
    if one == "token":
        return world.study.join_token
    if one in ("at_panel", "before_panel"):
        return world.objects[one].pk
    return {"study": world.study.pk, "draft": world.draft.pk, "report": getattr(world.objects.get("report"), "pk", 0)}.get(one, one) if isinstance(one, str) else one  # fmt: skip
