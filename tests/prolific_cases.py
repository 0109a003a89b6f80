"""Every kind of request to Prolific's API with its reply, recorded: ``python -m tests.prolific_cases`` writes the file.

Where Prolific's description isn't at hand, what is sent now is compared with what was valid when it was recorded.
"""

from __future__ import annotations

import json
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

FILE = Path(__file__).resolve().parent / "annotator" / "recruitment" / "prolific_cases.jsonl"
#: Values that differ each time.
MASKED = {"value", "secret", "started_at", "return_requested"}


def cases() -> list[dict[str, Any]]:
    """Use the whole API once against the small Prolific; each different kind of request, in order."""
    from annotator.recruitment.api import PAUSE, PUBLISH, RESUME, STOP
    from annotator.recruitment.panels._prolific_api import ProlificApi
    from annotator.recruitment.requests import ApiRequests
    from tests.prolific_api import PLAN, TOKEN, WORKSPACE, prolific_api

    with prolific_api() as books:
        api = ProlificApi(ApiRequests(books.url, "Prolific", TOKEN))
        api.account()
        api.projects(WORKSPACE)
        api.balance(WORKSPACE)
        api.filters(WORKSPACE)
        api.cost(PLAN)
        api.recruitment_time(PLAN)
        group = api.group_fill(workspace=WORKSPACE, group="", name="Passed", people=["p1"])
        codes = (replace(PLAN.codes[0], group=group), *PLAN.codes[1:])
        study = api.study_create(replace(PLAN, codes=codes)).id
        api.study(study)
        api.study_change(study, PLAN, ["title", "places", "codes", "devices", "filters"])
        url = "https://lab.example/recruitment/prolific/x/"
        api.hooks_set_up(workspace=WORKSPACE, url=url)
        next(iter(books.hooks.values()))["is_enabled"] = False
        api.hooks_set_up(workspace=WORKSPACE, url=url)
        api.study_move(study, PUBLISH)
        books.complete(books.arrive(study, "p1"), "DONE")
        books.move(books.arrive(study, "p2"), "TIMED-OUT")
        api.submissions(study)
        api.submissions_approve(list(books.submissions))
        made = api.bonuses_set_up(study, [("p1", Decimal("0.35"))])
        api.bonuses_pay(made.id)
        api.bonuses_of(next(iter(books.submissions)))
        for person, decide in (("p3", "approve"), ("p4", "reject")):
            submission = books.arrive(study, person)
            books.move(submission, "AWAITING REVIEW")
            if decide == "approve":
                api.return_ask(submission, text="You answered no question.")
                books.troubles = [("request-return", "500 after")]
                api.return_ask(submission, text="You answered no question.")
                api.submission_approve(submission)
            else:
                api.submission_reject(submission, reason="FAILED_CHECK", text="x" * 100)
                api.submission_unreject(submission)
        api.message_send(study=study, people=["p3", "p4"], text="Thank you.")
        for move in (PAUSE, RESUME, STOP):
            api.study_move(study, move)
        found: dict[str, dict[str, Any]] = {}
        for method, path, body, status, reply in books.exchanges:
            case = {
                "method": method,
                "path": path,
                "body": _masked(body),
                "status": status,
                "reply": _masked(reply),
            }
            found.setdefault(json.dumps([method, path, case["body"]]), case)
    return list(found.values())


def _masked(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: "…" if name in MASKED else _masked(one) for name, one in value.items()}
    return [_masked(one) for one in value] if isinstance(value, list) else value


def main() -> None:
    from tests.prolific_description import description

    known = description()
    if known is None:
        raise SystemExit(
            "Prolific's description is needed to record cases; set PROLIFIC_OPENAPI to its folder."
        )
    lines = [
        json.dumps(case | known.schemas(case["method"], case["path"]), ensure_ascii=False) for case in cases()
    ]
    FILE.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    import os

    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "foretell.settings")
    django.setup()
    main()
