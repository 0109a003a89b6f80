"""Create a study at a recruitment panel from ours, publish, pause, resume, stop and enlarge it, and bring both sides together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils import timezone
from django.utils.crypto import salted_hmac

from annotator.core.jobs import lock_held
from annotator.models import AuditAction, PanelConnection, PanelStudy, Study, User
from annotator.recruitment.api import (
    DRAFT,
    LIVE,
    PAUSE,
    PAUSED,
    PUBLISH,
    REACHED,
    RESUME,
    SCREEN_OUT,
    STOP,
    TRANSITIONS,
    AccountBalance,
    Chosen,
    PanelApi,
    PanelApiError,
    PlannedCode,
    RemoteStudy,
    StudyPlan,
)
from annotator.recruitment.plans import FiltersRefused, differences, filters_read, plan_json, remote_json
from annotator.recruitment.registry import PANELS
from annotator.selectors.panel import panel_studies
from annotator.selectors.panel_connection import connection_of
from annotator.selectors.panel_plan import (
    actions_of,
    codes_of,
    draft_places,
    group_people,
    other_studies,
    people_needed,
    plan_now,
)
from annotator.services.audit import audit_write
from annotator.services.panel_connection import connection_api
from annotator.services.study import study_update

#: Values that can be changed at a panel once a study is published there: places, and those only upwards.
AFTER_PUBLICATION = ("places",)


@dataclass(frozen=True)
class PanelStudyPreview:
    """What would be created, before anything is sent: the plan, the request's content, its cost with fees, the panel's prediction, what
    the account has, and how many participants' ids would be put into a group."""

    plan: StudyPlan
    payload: dict[str, Any]
    cost: Decimal
    time: str
    balance: AccountBalance
    group: int

    @property
    def rewards(self) -> Decimal:
        """What all participants get together."""
        return self.plan.reward * self.plan.places

    @property
    def fees(self) -> Decimal:
        return self.cost - self.rewards

    @property
    def per_hour(self) -> Decimal:
        return (self.plan.reward * 60 / self.plan.minutes).quantize(Decimal("0.01"))


@contextmanager
def panel_errors(connection: PanelConnection) -> Iterator[PanelApi]:
    """The connection's API; its errors become a ``ValidationError``, and a refused token is noted with the connection."""
    try:
        yield connection_api(connection)
    except PanelApiError as error:
        if error.token_refused:
            PanelConnection.objects.filter(pk=connection.pk).update(fault=str(error)[:800])
        raise ValidationError(str(error)) from error


def panel_study_preview(
    *, study: Study, connection: PanelConnection, values: Mapping[str, Any], link: str
) -> PanelStudyPreview:
    """The plan of a new study at the panel with its cost. Creates nothing. Raises ``ValidationError``, keyed by the form's field."""
    with panel_errors(connection) as api:
        plan = _plan(study, connection, api, values, link)
        people = group_people(study, values["group"]) if values.get("group") else []
        if values.get("group") and not people:
            raise ValidationError(
                {"group": "Nobody from the panel whom it has vouched for holds this qualification."}
            )
        try:
            time = api.recruitment_time(plan)
        except PanelApiError:  # a prediction isn't needed
            time = ""
        return PanelStudyPreview(
            plan,
            api.payload(plan),
            api.cost(plan),
            time,
            api.balance(connection.remote_workspace),
            len(people),
        )


def panel_study_create(
    *, study: Study, connection: PanelConnection, values: Mapping[str, Any], link: str, by: User | None
) -> PanelStudy:
    """Create the study at the panel as a draft, and accept its participants' links here. Raises ``ValidationError``.

    If an earlier attempt created it and only the reply was lost, that draft is taken.
    """
    with lock_held("panel study of", study.pk) as mine:
        if not mine:
            raise ValidationError("The study is being created on the panel. Reload the page in a moment.")
        with panel_errors(connection) as api:
            plan = _plan(study, connection, api, values, link)
            if values.get("group"):
                people = group_people(study, values["group"])
                name = f"{study.workspace}: {values['group']}"[:100]
                group = api.group_fill(
                    workspace=connection.remote_workspace, group="", name=name, people=people
                )
                plan = replace(plan, filters=(*plan.filters, Chosen(api.group_filter, (group,))))
                audit_write(
                    action=AuditAction.PANEL_GROUP_FILLED, study=study, by=by, target=group,
                    after={"qualification": values["group"], "people": len(people)},
                )  # fmt: skip
            remote = api.study_create(plan)
        with transaction.atomic():
            row, _ = PanelStudy.objects.update_or_create(
                study=study, panel=study.panel, remote_id=remote.id,
                defaults={"plan": plan_json(plan), "created_by": by, **_seen(remote)},
            )  # fmt: skip
            ids = panel_studies(study)
            if remote.id not in ids:
                study_update(study=study, by=by, panel_study_ids=", ".join([*sorted(ids), remote.id]))
            audit_write(
                action=AuditAction.PANEL_STUDY_CREATED, study=study, by=by, target=remote.id,
                after={"places": plan.places, "reward": plan.reward, "minutes": plan.minutes},
            )  # fmt: skip
    return row


def panel_study_refresh(*, row: PanelStudy) -> PanelStudy:
    """Ask the panel for the study's state and values. Raises ``ValidationError``."""
    with _told(row) as api:
        return _store(row, api.study(row.remote_id))


def panel_study_move(*, row: PanelStudy, transition: str, by: User | None) -> PanelStudy:
    """Publish, pause, resume or stop the panel's study. People are only sent to a study that is live here. Raises
    ``ValidationError``."""
    if transition in (PUBLISH, RESUME) and row.study.state != Study.State.LIVE:
        state = row.study.get_state_display()
        raise ValidationError(
            f"The study here is {state}: people who come would find it closed. Start it here first."
        )
    before = row.state
    if transition == PUBLISH and row.state == DRAFT:
        row = panel_draft_lower(row=row, by=by)
    with _told(row) as api:
        if row.state not in TRANSITIONS[transition]:
            row = _store(row, api.study(row.remote_id))
        # What a person stops stays stopped: following the work would begin it again.
        follows = row.follows_work and not (transition == STOP and by is not None)
        if row.state == REACHED[transition]:  # a doubled click, or it was done at the panel
            return _store(row, api.study(row.remote_id), paused_by_sweep=False, follows_work=follows)
        if row.state not in TRANSITIONS[transition]:
            raise ValidationError(
                f"The study on the panel is {row.get_state_display()}, so it can't be changed like this."
            )
        row = _store(
            row, api.study_move(row.remote_id, transition), paused_by_sweep=False, follows_work=follows
        )
    _audit(row, by, {"state": before}, {"state": row.state})
    return row


def panel_study_places_set(*, row: PanelStudy, places: int, by: User | None) -> PanelStudy:
    """Set the places of the panel's study; once it's published, they can only grow. Raises ``ValidationError``."""
    with _told(row) as api:
        row = _store(row, api.study(row.remote_id))
        before = int(row.remote.get("places") or 0)
        if places == before:
            return row
        if row.state != DRAFT and places < before:
            raise ValidationError(
                f"It has {before} places. A published study's places can only grow; pause or stop it to take fewer people."
            )
        row = _store(row, api.study_change(row.remote_id, _places_plan(places), ["places"]))
    _audit(row, by, {"places": before}, {"places": places})
    return row


def panel_draft_lower(*, row: PanelStudy, by: User | None) -> PanelStudy:
    """Lower the places of a draft if work was done since it was created: after its publication, they can only grow. Raises
    ``ValidationError``, also if nobody is needed any more."""
    needed = people_needed(row.study)
    if needed.whole and needed.complete:
        raise ValidationError("Every place of the study here is answered: nobody is needed.")
    there = int(row.remote.get("places") or 0)
    wanted = draft_places(there, needed)
    return panel_study_places_set(row=row, places=wanted, by=by) if wanted < there else row


def panel_study_follow(
    *, row: PanelStudy, follows: bool, most_places: int | None, by: User | None
) -> PanelStudy:
    """Let the sweep pause, resume, enlarge and stop the panel's study as the work goes, up to ``most_places``. Raises
    ``ValidationError``."""
    if follows and (most_places is None or not 1 <= most_places <= 100_000):
        raise ValidationError(
            {"most_places": "Enter the most places that you are willing to pay for, from 1 to 100,000."}
        )
    before = {"follows_work": row.follows_work, "most_places": row.most_places}
    row.follows_work, row.most_places = follows, most_places if follows else None
    row.save(update_fields=["follows_work", "most_places"])
    _audit(row, by, before, {"follows_work": row.follows_work, "most_places": row.most_places})
    return row


def move_due(row: PanelStudy) -> str:
    """What has to be done at the panel so that its study is in the state of ours; empty if nothing. Publishing is never due: it is a
    decision."""
    ours = row.study.state
    if ours == Study.State.CLOSED:
        return STOP if row.state in (LIVE, PAUSED) else ""
    if ours != Study.State.LIVE:
        return PAUSE if row.state == LIVE else ""
    return RESUME if row.state == PAUSED and not row.paused_by_sweep else ""


def panel_study_mend(*, row: PanelStudy, link: str, by: User | None) -> tuple[PanelStudy, list[str]]:
    """Bring the panel's study to what ours is: its state, and its values as far as the panel lets them be changed. Returns the names
    of values that stay different. Raises ``ValidationError``."""
    row = panel_study_refresh(row=row)
    needed = people_needed(row.study, only_there=only_there_at_work(row))
    plan = plan_now(row, link=link, needed=needed)
    left: list[str] = []
    if plan is not None:
        wrong = [one.name for one in differences(plan, row.remote)]
        there = int(row.remote.get("places") or 0)
        may = [
            name for name in wrong
            if row.state == DRAFT or (name in AFTER_PUBLICATION and plan.places > there and row.study.state == Study.State.LIVE)
        ]  # fmt: skip
        left = [name for name in wrong if name not in may and (name != "places" or plan.places > there)]
        if may:
            before = {name: row.remote.get(name) for name in may if name != "codes"}
            with _told(row) as api:
                row = _store(row, api.study_change(row.remote_id, plan, may), plan=plan_json(plan))
            _audit(row, by, before, {name: row.remote.get(name) for name in before} | {"changed": may})
    due = move_due(row)
    if due:
        row = panel_study_move(row=row, transition=due, by=by)
    return row, left


def only_there_at_work(row: PanelStudy) -> int:
    """People who have started at the panel and aren't here."""
    return sum(one["status"] == "ACTIVE" for one in row.only_there)


@contextmanager
def _told(row: PanelStudy) -> Iterator[PanelApi]:
    """The API for a panel's study; what goes wrong is noted with it."""
    connection = connection_of(row.study)
    if connection is None:
        raise ValidationError("The workspace isn't connected to the panel. Connect it first.")
    try:
        with panel_errors(connection) as api:
            yield api
    except ValidationError as error:
        if isinstance(error.__cause__, PanelApiError):
            PanelStudy.objects.filter(pk=row.pk).update(fault=" ".join(error.messages)[:800])
        raise


def _seen(remote: RemoteStudy) -> dict[str, Any]:
    return {
        "state": remote.state, "status": remote.status, "remote": remote_json(remote), "checked_at": timezone.now(), "fault": "",
    }  # fmt: skip


def _store(row: PanelStudy, remote: RemoteStudy, **more: Any) -> PanelStudy:
    values = _seen(remote) | more
    for name, value in values.items():
        setattr(row, name, value)
    row.save(update_fields=list(values))
    return row


def _audit(row: PanelStudy, by: User | None, before: Mapping[str, Any], after: Mapping[str, Any]) -> None:
    audit_write(
        action=AuditAction.PANEL_STUDY_CHANGED,
        study=row.study,
        by=by,
        target=row.remote_id,
        before=before,
        after=after,
    )


def _places_plan(places: int) -> StudyPlan:
    """A plan of which only the places are sent."""
    return StudyPlan("", "", "", "", False, 1, Decimal(0), places)


def _plan(
    study: Study, connection: PanelConnection, api: PanelApi, values: Mapping[str, Any], link: str
) -> StudyPlan:
    """The plan of the form's values. Raises ``ValidationError`` keyed by field."""
    panel = PANELS.get(study.panel)
    codes = [
        PlannedCode(
            getattr(study, code.field), code.field, values[f"action_{code.field}"],
            reward=values.get("screen_out_reward") if values[f"action_{code.field}"] == SCREEN_OUT else None,
            slots=values.get("slots") or 0,
        )
        for code in codes_of(study, panel)
    ]  # fmt: skip
    errors: dict[str, str] = {}
    if not codes or codes[0].field != "completion_code":
        errors["title"] = "Enter the code for completing in the study's settings first."
    if len({code.code for code in codes}) < len(codes):
        errors["title"] = "Two ways to end have the same code. Give each its own in the study's settings."
    if connection.currency and connection.currency != study.currency:
        errors["reward"] = (
            f"The study pays in {study.currency}, and the panel's account in {connection.currency}."
        )
    pays_out = any(code.action == SCREEN_OUT for code in codes)
    if pays_out and not (values.get("screen_out_reward") and values.get("slots")):
        errors["screen_out_reward"] = (
            "Enter the screen-out reward, and how many people may get it before the study pauses."
        )
    elif pays_out and values["screen_out_reward"] >= values["reward"]:
        errors["screen_out_reward"] = "It must be less than the reward."
    for code in panel.codes:
        action = values.get(f"action_{code.field}")
        if action and action not in actions_of(code):
            errors[f"action_{code.field}"] = "Choose one of the list."
    if errors:
        raise ValidationError(errors)
    filters: tuple[Chosen, ...] = ()
    if values.get("filters"):
        try:
            filters = filters_read(values["filters"], api.filters(connection.remote_workspace))
        except FiltersRefused as refused:
            raise ValidationError({"filters": refused.faults}) from None
    others = other_studies(study) if values.get("keep_out") else []
    if others:
        filters = (*filters, Chosen(api.earlier_filter, tuple(others)))
    number = study.panel_study_rows.count() + 1
    marker = salted_hmac("annotator.panel_study", f"{study.pk}:{number}", algorithm="sha256").hexdigest()[:8]
    return StudyPlan(
        reference=f"Foretell {study.slug} {marker}", title=values["title"], description=values["description"], url=link,
        secured=study.panel_links == "signed", minutes=values["minutes"], reward=values["reward"], places=values["places"],
        devices=() if set(values["devices"]) == set(panel.devices) else tuple(values["devices"]), filters=filters, codes=tuple(codes),
        workspace=connection.remote_workspace, project=connection.project,
    )  # fmt: skip
