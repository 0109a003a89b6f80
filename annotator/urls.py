"""Addresses of annotators' pages, and of the researchers' preview of them."""

from __future__ import annotations

from django.contrib.auth import views as auth
from django.urls import path, re_path
from django.views.generic import TemplateView

from annotator.accounts.login import LogIn
from annotator.core import converters  # noqa: F401  registers them
from annotator.web.views import (
    adjudicate,
    colleague,
    ending,
    exam,
    images,
    join,
    languages,
    me,
    notices,
    offline,
    panel,
    passwords,
    places,
    preview,
    preview_hit_type,
    preview_questionnaire,
    preview_questions,
    preview_steps,
    questionnaire,
    receipt,
    sessions,
    steps,
    task,
)

app_name = "annotator"

urlpatterns = [
    # First, because Django tries one address after the other, and these are requested for every judgment.
    path("task/<row:pk>/", task.submit, name="submit"),
    path("task/<row:pk>/draft/", task.draft, name="draft"),
    path("study/<slug:slug>/task/", task.tasks, name="tasks"),
    path("", me.home, name="home"),
    path("join/<token:token>/", join.invitation, name="invitation"),
    path("join/<token:token>/tell-me/", places.place_alert, name="place_alert"),
    path("recruitment/<slug:panel>/<token:token>/", panel.panel_webhook, name="panel_webhook"),
    path("return/<token:token>/", join.personal_link, name="return"),
    path("receipt/<token:token>/", receipt.receipt, name="receipt"),
    path("no-emails/<token:token>/", notices.stop, name="notices_stop"),
    path("colleague/<token:token>/", colleague.colleague, name="colleague"),
    path("login/", LogIn.as_view(), name="login"),
    path("logout/", auth.LogoutView.as_view(next_page="/login/"), name="logout"),
    path("two-factor/sessions/", sessions.sessions, name="sessions"),
    path("signup/", join.signup, name="signup"),
    path("password/", passwords.PasswordChange.as_view(), name="password_change"),
    path(
        "password/done/",
        TemplateView.as_view(template_name="annotator/password_done.html"),
        name="password_done",
    ),
    path("password/reset/", passwords.PasswordReset.as_view(), name="password_reset"),
    path("password/reset/sent/", passwords.PasswordResetSent.as_view(), name="password_reset_sent"),
    path(
        "password/reset/<str:uidb64>/<str:token>/",
        passwords.PasswordResetConfirm.as_view(),
        name="password_reset_confirm",
    ),
    path("me/", me.me, name="me"),
    path("me/replies-read/", me.read, name="replies_read"),
    path("me/data/", me.data, name="data"),
    path("study/<slug:slug>/", steps.study, name="study"),
    path("study/<slug:slug>/consent/", steps.consent, name="consent"),
    path("study/<slug:slug>/instructions/", steps.instructions, name="instructions"),
    path("study/<slug:slug>/instructions/drawer/", steps.instructions_drawer, name="instructions_drawer"),
    path("study/<slug:slug>/instructions/confirm/", steps.changed_instructions, name="instructions_confirm"),
    path("study/<slug:slug>/practice/", steps.practice, name="practice"),
    path("study/<slug:slug>/exam/", exam.exam, name="exam"),
    path("study/<slug:slug>/exam/result/", exam.exam_result, name="exam_result"),
    path("study/<slug:slug>/questionnaire/<slug:moment>/", questionnaire.questionnaire, name="questionnaire"),
    path("study/<slug:slug>/done/", ending.done, name="done"),
    path("study/<slug:slug>/left/", ending.left, name="left"),
    path("study/<slug:slug>/leave/", ending.leave, name="leave"),
    path("study/<slug:slug>/message/", me.message, name="message"),
    path("task/<row:pk>/undo/", task.undo, name="undo"),
    path("task/<row:pk>/skip/", task.skip, name="skip"),
    path("task/<row:pk>/more-time/", task.more_time, name="more_time"),
    path("task/<row:pk>/flag/", task.flag, name="flag"),
    path("task/<row:pk>/ask/", task.ask, name="ask"),
    path("preview/questionnaire/", preview_questionnaire.preview_questionnaire, name="preview_questionnaire"),
    path("preview/hit-type/", preview_hit_type.preview_hit_type, name="preview_hit_type"),
    path("preview/<row:pk>/", preview.preview, name="preview"),
    path("preview/<row:pk>/instructions/", preview.preview_instructions, name="preview_instructions"),
    re_path(
        "^preview/(?P<pk>[0-9]{1,18})/(?P<which>exam|practice)/$",
        preview_questions.preview_questions,
        name="preview_questions",
    ),
    path("preview/<row:pk>/page/<slug:step>/", preview_steps.preview_step, name="preview_step"),
    path("adjudicate/<row:pk>/<row:item_pk>/", adjudicate.adjudicate, name="adjudicate"),
    path(
        "adjudicate/<row:pk>/undo/<row:adjudication_pk>/", adjudicate.adjudicate_undo, name="adjudicate_undo"
    ),
    path("language/", languages.choose, name="language"),
    path("image/<token:token>/", images.image, name="image"),
    path("worker.js", offline.worker, name="worker"),
    re_path("^(?P<name>offline|away)/$", offline.page, name="offline"),
]
