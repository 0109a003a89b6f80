"""The pages and API addresses of the evaluation, and the role that each needs."""

from __future__ import annotations

#: page -> the role that it needs.
PAGES = {
    "/admin/evaluation/endpoint/ENDPOINT/change/": "viewer",
    "/admin/evaluation/recipe/RECIPE/change/": "viewer",
    "/admin/evaluation/pipeline/PIPELINE/change/": "viewer",
    "/admin/evaluation/pipeline/PIPELINE/progress/": "viewer",
    "/admin/evaluation/pipeline/PIPELINE/fine-tuning/TUNING/file.jsonl": "viewer",
    "/admin/evaluation/run/RUN/change/": "viewer",
    "/admin/evaluation/run/RUN/progress/": "viewer",
    "/admin/evaluation/run/STUDY_RUN/change/": "viewer",
    "/admin/evaluation/run/STUDY_RUN/transcript/": "viewer",
    "/admin/evaluation/run/prompt/STUDY/": "viewer",
    "/admin/evaluation/run/STUDY_RUN/compare/": "viewer",
    "/admin/evaluation/run/STUDY_RUN/calls.jsonl": "viewer",
    "/admin/evaluation/run/STUDY_RUN/run.eval": "viewer",
    "/admin/evaluation/run/STUDY_RUN/scores.jsonl": "viewer",
    "/admin/evaluation/call/CALL/change/": "viewer",
    "/studies/STUDY/reports/": "viewer",
    "/studies/STUDY/plan/": "viewer",
    "/studies/STUDY/disagreement/": "viewer",
    "/studies/STUDY/disagreement.csv": "viewer",
    "/api/v1/studies/mine/runs/": "viewer",
    "/api/v1/studies/mine/report-columns/": "viewer",
    "/api/v1/studies/mine/human-scores/": "viewer",
    "/api/v1/runs/STUDY_RUN/calls/": "viewer",
    "/api/v1/runs/STUDY_RUN/calls/?as=eval": "viewer",
    "/api/v1/runs/RUN/": "viewer",
    "/api/v1/runs/RUN/estimate/": "viewer",
    "/api/v1/runs/STUDY_RUN/": "viewer",
    "/api/v1/pipelines/PIPELINE/": "viewer",
}
#: What is sent by POST, and the role that it needs.
SENT = {
    "/admin/evaluation/endpoint/ENDPOINT/try/": "editor",
    "/admin/evaluation/endpoint/ENDPOINT/correct/": "owner",
    "/admin/evaluation/endpoint/ENDPOINT/change/": "owner",
    "/admin/evaluation/pipeline/PIPELINE/again/": "editor",
    "/admin/evaluation/pipeline/PIPELINE/budget/": "editor",
    "/admin/evaluation/pipeline/PIPELINE/do/cancel-job/": "editor",
    "/admin/evaluation/pipeline/PIPELINE/do/give-up-job/": "editor",
    "/api/v1/pipelines/PIPELINE/cancel-job/": "editor",
    "/api/v1/pipelines/PIPELINE/pause/": "editor",
    "/admin/evaluation/run/STUDY_RUN/do/pause/": "editor",
    "/api/v1/studies/mine/runs/": "editor",
    "/api/v1/runs/RUN/pause/": "editor",
    "/admin/evaluation/run/RUN/do/cancel/": "editor",
    "/admin/evaluation/pipeline/PIPELINE/do/cancel/": "editor",
    "/studies/STUDY/plan/": "editor",
    "/api/v1/studies/mine/plan/seal/": "editor",
}
