"""Every service that the audit trail is about, with the entry that it writes and a way to call it."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from allauth.mfa.models import Authenticator
from django.conf import settings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import override_settings

from annotator.accounts.second_factor import SecondFactorAdapter
from annotator.models import (
    AuditAction,
    AuditEntry,
    Export,
    Judgment,
    Membership,
    Qualification,
    Rater,
    Study,
    User,
)
from annotator.selectors.owed import balances_of
from annotator.services import (
    account,
    api_tokens,
    collect_again,
    erasure,
    exam,
    exclusion,
    exports,
    items,
    membership,
    payment,
    second_factor,
    study_copy,
    study_removal,
    study_templates,
    workspace,
)
from annotator.services import study as studies
from annotator.services.assignment import assignment_next
from annotator.services.imports.judgments_import import judgments_import
from annotator.services.imports.material_import import material_import
from annotator.services.imports.value_columns import JudgmentColumns, ValueColumn
from annotator.services.review import judgments_accept
from annotator.services.stage_submit import stage_submit
from evaluation.models import Endpoint
from evaluation.services import endpoint as endpoints
from evaluation.services import endpoint_trial
from tests.factories import make_participation, make_study, make_user

A = AuditAction


@dataclass
class World:
    """A draft, a live study with a participant, and a workspace with a second researcher."""

    rosa: User
    otto: User
    draft: Study
    live: Study
    judgment: Judgment

    @property
    def rater(self) -> Rater:
        return self.judgment.rater


def make_world(researcher: User) -> World:
    draft = make_study(by=researcher, items=2, slug="draft")
    live = make_study(by=researcher, items=2, slug="live", launched=True, pay_per_item=Decimal(1))
    person = make_participation(live, make_user("zephyrine"))
    task = assignment_next(participation=person)
    assert task is not None
    stage_submit(
        user_id=person.rater.user_id, assignment_pk=task.pk, stage=0, raw={"helpful": "yes", "answer": "yes"}
    )
    return World(researcher, make_user("otto", staff=True), draft, live, live.judgments.get())


def _closed(w: World) -> Study:
    return studies.study_close(study=w.live)


def deleted(w: World) -> Study:
    return study_removal.study_delete(study=w.draft, by=w.rosa, typed="draft")


def _undone(w: World) -> object:
    payment.payments_record(study=w.live, by=w.rosa, reference="b-2", amounts=_owed(w))
    return payment.payments_undo(study=w.live, by=w.rosa, reference="b-2")


def _judgments_excluded(w: World) -> object:
    judgments = list(w.live.judgments.all()[:1])
    return exclusion.judgments_exclude(study=w.live, by=w.rosa, reason="odd", judgments=judgments)


def _excluded(w: World) -> Any:
    return exclusion.exclusion_make(study=w.live, by=w.rosa, reason="x", rater=w.rater)


def _qualified(w: World) -> Qualification:
    return exam.qualification_grant(
        rater=w.rater, hit_type="simulation", workspace=w.live.workspace, by=w.rosa, reason="known"
    )


def _invited(w: World) -> Any:
    return membership.invitation_create(study=w.live, by=w.rosa, role="viewer", email="otto@example.org")


def _member(w: World) -> Membership:
    return Membership.objects.create(study=w.live, user=w.otto, role="viewer")


def asked(w: World) -> Any:
    return erasure.data_request_open(participation=w.live.participations.get())


def _owed(w: World) -> dict[int, Decimal]:
    judgments_accept(judgments=w.live.judgments.all(), by=w.rosa)
    return {one.rater: one.payable for one in balances_of(w.live)}


def _endpoint(w: World) -> Endpoint:
    return Endpoint(workspace=w.live.workspace, name="e", base_url="https://api.openai.com/v1", model="m")


def material() -> Any:
    row = b'{"question": "Can owls fly?", "explanation": "Owls are birds.", "answer": "yes", "follow_up": "Can hens?"}\n'
    return io.BytesIO(row)


def _labels() -> Any:
    return SimpleUploadedFile("j.csv", b"item,rater,helpful,answer\nitem-0,ann,yes,no\n")


def _export(w: World) -> Export:
    export = exports.export_request(study=w.live, by=w.rosa)
    exports.export_build(export_pk=export.pk)
    export.refresh_from_db()
    return export


COLUMNS = JudgmentColumns(item="item", values=(ValueColumn("helpful"), ValueColumn("answer")), rater="rater")
#: service -> (what it records, how it is called). ``test_every_service_is_in_the_walk_or_exempt`` finds a new one.
WALK: dict[str, tuple[AuditAction, Callable[[World], Any]]] = {
    "study_create": (A.STUDY_CREATED, lambda w: make_study(by=w.rosa, slug="new")),
    "study_create_from_template": (
        A.STUDY_CREATED,
        lambda w: study_templates.study_create_from_template(
            by=w.rosa, template="simulation", slug="n", title="N"
        ),
    ),
    "study_launch": (A.STUDY_LAUNCHED, lambda w: studies.study_launch(study=w.draft, by=w.rosa)),
    "study_update": (
        A.STUDY_CHANGED,
        lambda w: studies.study_update(study=w.live, by=w.rosa, consent_text="New"),
    ),
    "study_pause": (A.STUDY_PAUSED, lambda w: studies.study_pause(study=w.live)),
    "study_resume": (
        A.STUDY_RESUMED,
        lambda w: studies.study_resume(study=studies.study_pause(study=w.live)),
    ),
    "study_close": (A.STUDY_CLOSED, _closed),
    "study_reopen": (
        A.STUDY_REOPENED,
        lambda w: studies.study_reopen(study=studies.study_close(study=w.live)),
    ),
    "study_duplicate": (
        A.STUDY_CREATED,
        lambda w: study_copy.study_duplicate(study=w.draft, by=w.rosa, slug="c", title="C", material=True),
    ),
    "study_archive": (A.STUDY_ARCHIVED, lambda w: study_removal.study_archive(study=w.draft)),
    "study_unarchive": (
        A.STUDY_UNARCHIVED,
        lambda w: study_removal.study_unarchive(study=study_removal.study_archive(study=w.draft)),
    ),
    "study_delete": (A.STUDY_DELETED, deleted),
    "study_restore": (A.STUDY_RESTORED, lambda w: study_removal.study_restore(study=deleted(w))),
    "study_purge": (A.STUDY_PURGED, lambda w: study_removal.study_purge(study_pk=deleted(w).pk)),
    "item_edit": (
        A.ITEM_CHANGED,
        lambda w: items.item_edit(item=_first(w.draft), payload=_other(w.draft), gold=None),
    ),
    "item_delete": (A.ITEM_DELETED, lambda w: items.item_delete(item=_first(w.draft))),
    "items_clear": (A.ITEMS_CLEARED, lambda w: items.items_clear(study=w.draft)),
    "item_withdraw": (
        A.ITEM_WITHDRAWN,
        lambda w: items.item_withdraw(item=_first(w.live), by=w.rosa, reason="broken"),
    ),
    "item_correct": (
        A.ITEM_CORRECTED,
        lambda w: items.item_correct(
            item=_first(w.live), by=w.rosa, reason="typo", payload=_other(w.live), gold=None
        ),
    ),
    "material_import": (
        A.ITEMS_IMPORTED,
        lambda w: material_import(study=w.draft, file=material(), name="items.jsonl"),
    ),
    "judgments_import": (
        A.JUDGMENTS_IMPORTED,
        lambda w: judgments_import(study=w.live, file=_labels(), name="j.csv", columns=COLUMNS),
    ),
    "invitation_create": (A.MEMBER_INVITED, _invited),
    "invitation_accept": (
        A.MEMBER_JOINED,
        lambda w: membership.invitation_accept(token=_invited(w)[1], user=w.otto),
    ),
    "invitation_revoke": (
        A.INVITATION_WITHDRAWN,
        lambda w: membership.invitation_revoke(invitation=_invited(w)[0]),
    ),
    "member_change": (
        A.MEMBER_CHANGED,
        lambda w: membership.member_change(membership=_member(w), role="editor"),
    ),
    "member_remove": (A.MEMBER_REMOVED, lambda w: membership.member_remove(membership=_member(w))),
    "workspace_create": (A.WORKSPACE_CREATED, lambda w: workspace.workspace_create(by=w.rosa, name="Lab")),
    "workspace_update": (
        A.WORKSPACE_CHANGED,
        lambda w: workspace.workspace_update(workspace=_lab(w), by=w.rosa, second_factor_required=True),
    ),
    "workspace_limits_set": (
        A.WORKSPACE_CHANGED,
        lambda w: workspace.workspace_limits_set(workspace=_lab(w), by=w.rosa, jobs_at_once=1),
    ),
    "workspace_delete": (
        A.WORKSPACE_DELETED,
        lambda w: workspace.workspace_delete(
            workspace=workspace.workspace_create(by=w.rosa, name="Lab"), by=w.rosa
        ),
    ),
    "second_factor_remove": (
        A.SECOND_FACTOR_CHANGED,
        lambda w: second_factor.second_factor_remove(user=_with_app(w.otto), by=w.rosa),
    ),
    "workspace_personal": (A.WORKSPACE_CREATED, lambda w: workspace.workspace_personal(user=w.otto)),
    "workspace_member_set": (
        A.MEMBER_CHANGED,
        lambda w: workspace.workspace_member_set(workspace=_lab(w), username="otto", role="viewer"),
    ),
    "workspace_member_remove": (
        A.MEMBER_REMOVED,
        lambda w: (
            workspace.workspace_member_set(workspace=_lab(w), username="otto", role="viewer"),
            workspace.workspace_member_remove(workspace=_lab(w), user_pk=w.otto.pk),
        ),
    ),
    "exclusion_make": (A.EXCLUDED, _excluded),
    "judgments_exclude": (A.EXCLUDED, _judgments_excluded),
    "exclusion_reason_set": (
        A.EXCLUSION_CHANGED,
        lambda w: exclusion.exclusion_reason_set(exclusion=_excluded(w), reason="y"),
    ),
    "collect_again": (
        A.COLLECTED_AGAIN,
        lambda w: collect_again.collect_again(exclusion=_excluded(w), by=w.rosa),
    ),
    "exclusion_lift": (A.EXCLUSION_LIFTED, lambda w: exclusion.exclusion_lift(exclusion=_excluded(w))),
    "qualification_grant": (A.QUALIFICATION_GRANTED, _qualified),
    "qualification_revoke": (
        A.QUALIFICATION_REVOKED,
        lambda w: exam.qualification_revoke(qualification=_qualified(w), reason="left", by=w.rosa),
    ),
    "work_accept": (A.WORK_ACCEPTED, lambda w: payment.work_accept(study=w.live, by=w.rosa)),
    "judgments_accept": (
        A.WORK_ACCEPTED,
        lambda w: judgments_accept(judgments=w.live.judgments.all(), by=w.rosa),
    ),
    "payments_record": (
        A.PAYMENT_RECORDED,
        lambda w: payment.payments_record(study=w.live, by=w.rosa, reference="b-1", amounts=_owed(w)),
    ),
    "payments_undo": (A.PAYMENT_UNDONE, _undone),
    "bonus_give": (
        A.BONUS_GIVEN,
        lambda w: payment.bonus_give(
            study=w.live, rater=w.rater, by=w.rosa, amount=Decimal("1.50"), reason="care"
        ),
    ),
    "owed_export": (
        A.EXPORTED,
        lambda w: payment.owed_export(study=w.live, by=w.rosa, balances=balances_of(w.live)),
    ),
    "judgments_export": (A.EXPORTED, lambda w: exports.judgments_export(study=w.live)),
    "export_request": (A.EXPORTED, _export),
    "export_download": (A.DOWNLOADED, lambda w: exports.export_download(_export(w))),
    "data_request_open": (A.DELETION_ASKED, asked),
    "data_request_decline": (
        A.DELETION_DECLINED,
        lambda w: erasure.data_request_decline(request=asked(w), by=w.rosa, note="Legal duty."),
    ),
    "data_request_carry_out": (
        A.ERASED,
        lambda w: erasure.data_request_carry_out(request=asked(w), by=w.rosa),
    ),
    "erase": (A.ERASED, lambda w: erasure.erase(study=w.live, rater=w.rater, policy="anonymise", by=w.rosa)),
    "api_token_make": (A.TOKEN_CREATED, lambda w: api_tokens.api_token_make(user=w.rosa, name="script")),
    "api_token_revoke": (
        A.TOKEN_REVOKED,
        lambda w: (
            api_tokens.api_token_make(user=w.rosa),
            api_tokens.api_token_revoke(token=w.rosa.api_tokens.get()),
        ),
    ),
    "account_save": (A.ACCOUNT_CHANGED, lambda w: account.account_save(account=_promoted(w.otto))),
    "account_delete": (A.ACCOUNT_CHANGED, lambda w: account.account_delete(account=w.otto)),
    "endpoint_save": (
        A.ENDPOINT_SAVED,
        lambda w: endpoints.endpoint_save(endpoint=_endpoint(w), key="sk-very-secret"),
    ),
    "endpoint_correct": (
        A.ENDPOINT_SAVED,
        lambda w: endpoint_trial.endpoint_correct(
            endpoint=endpoints.endpoint_save(endpoint=_endpoint(w)), profile="max-completion-tokens"
        ),
    ),
    "endpoint_keys_rotate": (A.ENDPOINT_SAVED, lambda w: _key_rotated(w)),
    "second_factors_rotate": (A.SECOND_FACTOR_CHANGED, lambda w: _factor_rotated(w)),
    "endpoint_delete": (
        A.ENDPOINT_DELETED,
        lambda w: endpoints.endpoint_delete(endpoint=endpoints.endpoint_save(endpoint=_endpoint(w))),
    ),
}
#: Services of these kinds that change nothing which the trail is about, and why.
EXEMPT = {
    "account_language_set": "a person's own choice of the language of their pages",
    "study_clean": "checks an unsaved row",
    "study_newest_type": "needs a type of the workspace: test_study_type checks its entry",
    "study_texts_clean": "checks an unsaved row",
    "study_templates": "reads",
    "invitation_digest": "computes",
    "invitation_send": "sends what invitation_create recorded",
    "invitation_find": "reads",
    "endpoint_try": "sends one request, stores nothing",
    "export_build": "builds what export_request recorded",
    "exports_sweep": "queues and removes files",
    "studies_purge": "calls study_purge",
    "study_rows_remove": "a part of study_purge and of keeping a study in a file, which are recorded",
    "erase_all": "erase calls it",
    "erasures_repeat": "calls erase_all",
    "erasures_replay": "calls erase_all",
    "items_digest": "computes",
    "qualification_states": "reads",
    "qualification_toggle": "calls qualification_grant and qualification_revoke",
    "judgments_record": "a rater's own work, which judgments hold",
    "judgments_columns": "reads",
    "judgments_options": "reads",
    "material_options": "reads",
    "judgments_stage": "a part of judgments_import",
    "judgments_stage_open": "a part of judgments_import",
    "judgments_store": "a part of judgments_import",
}
KINDS = re.compile(
    r"(study|studies|items?|invitation|member|workspace|exclusion|payments?|bonus|owed|work|qualification|judgments"
    r"|material|second_factors?|data_request|erase|erasures|api_token|account|endpoint|exports?)(_|$)"
)


def _first(study: Study) -> Any:
    return study.items.order_by("pk").filter(judgments__isnull=True).first()


def _other(study: Study) -> dict[str, Any]:
    item = _first(study)
    return {**item.payload, "follow_up": "Can hens fly?"}


def _lab(w: World) -> Any:
    assert w.live.workspace is not None
    return w.live.workspace


def _promoted(user: User) -> User:
    user.is_superuser = True
    return user


def _with_app(user: User) -> User:
    Authenticator.objects.create(user=user, type="totp", data={})
    return user


def _key_rotated(w: World) -> None:
    endpoints.endpoint_save(endpoint=_endpoint(w), key="sk-very-secret")
    before = AuditEntry.objects.count()
    with override_settings(SECRET_KEY="new", SECRET_KEY_FALLBACKS=[settings.SECRET_KEY]):
        endpoints.endpoint_keys_rotate()
    assert AuditEntry.objects.count() == before + 1


def _factor_rotated(w: World) -> None:
    sealed = SecondFactorAdapter().encrypt("JBSWY3DPEHPK3PXP")
    Authenticator.objects.create(user=w.otto, type="totp", data={"secret": sealed})
    with override_settings(SECRET_KEY="new", SECRET_KEY_FALLBACKS=[settings.SECRET_KEY]):
        assert second_factor.second_factors_rotate() == (1, [])
