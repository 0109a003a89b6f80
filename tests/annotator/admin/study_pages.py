"""The pages of a study, the role that each needs, and their addresses."""

from __future__ import annotations

from weakref import WeakKeyDictionary

from annotator.hit_types.registry import hit_type_get
from annotator.models import Study

#: page -> the role that it needs; every page of a study is here.
PAGES = {
    "live/": "viewer",
    "rehearsal/": "viewer",
    "payments/": "viewer",
    "payments/owed.csv": "viewer",
    "payments/panel.csv": "viewer",
    "payments/panel/": "viewer",
    "payments/top-up/": "viewer",
    "payments/bonus/PERSON/": "reviewer",
    "manage/": "viewer",
    "exam/exam/new/": "editor",
    "exam/exam/file/": "editor",
    "exam/exam/sample.csv": "editor",
    "desk/": "viewer",
    "contested/": "viewer",
    "written/": "viewer",
    "adjudication/": "reviewer",
    "members/": "viewer",
    "simulators/": "viewer",
    "duplicate/": "viewer",
    "remove/": "owner",
    "versions/": "viewer",
    "audit/": "owner",
    "messages/": "viewer",
    "messages/new/": "reviewer",
    "requests/": "reviewer",
    "items/ITEM/edit/": "editor",
    "items/ITEM/withdraw/": "editor",
    "items/ITEM/delete/": "editor",
    "exam/": "viewer",
    "languages/": "viewer",
    "languages/de/": "viewer",
    "languages/de/exam/QUESTION/": "viewer",
    "images/": "viewer",
    "images/items.csv": "viewer",
    "items/": "viewer",
    "items/ITEM/": "viewer",
    "judgments/": "viewer",
    "judgments/JUDGMENT/": "viewer",
    "participants/": "viewer",
    "questionnaires/": "viewer",
    "questionnaires/answers/": "viewer",
    "recruitment/": "viewer",
    "recruitment/links/": "editor",
    "recruitment/links.csv": "editor",
    "raters/": "viewer",
    "exclusions/": "viewer",
    "exports/": "viewer",
    "download/": "viewer",
    "exclude/rater/RATER/": "reviewer",
    "exclude/item/ITEM/": "reviewer",
    "exclude/judgment/JUDGMENT/": "reviewer",
    "exclude/judgments/?pk=JUDGMENT": "reviewer",
    "import/": "editor",
    "import/sample.jsonl": "editor",
    "imports/IMPORT/": "editor",
    "imports/IMPORT/problems.csv": "editor",
    "import-judgments/": "editor",
}
#: What is sent there by POST, and the role that it needs.
SENT = {
    "images/": "editor",
    "images/IMAGE/delete/": "editor",
    "recruitment/": "editor",
    "recruitment/new/": "editor",
    "recruitment/links/": "editor",
    "exclude/judgment/JUDGMENT/": "reviewer",
    "adjudication/gold/": "reviewer",
    "exclusions/EXCLUSION/collect/": "reviewer",
    "exclusions/EXCLUSION/lift/": "reviewer",
    "rehearsal/": "editor",
    "payments/panel/": "reviewer",
    "payments/top-up/": "reviewer",
    "payments/": "reviewer",
    "archive/": "owner",
    "newest-type/": "editor",
    "exam/exam/new/": "editor",
    "exam/exam/file/": "editor",
    "members/": "owner",
    "remove/": "owner",
    "items/ITEM/edit/": "editor",
    "items/ITEM/withdraw/": "editor",
    "items/ITEM/delete/": "editor",
    "exam/": "editor",
    "languages/de/": "editor",
    "languages/de/exam/QUESTION/": "editor",
    "desk/": "reviewer",
    "messages/": "reviewer",
    "messages/new/": "reviewer",
    "requests/": "owner",
    "import/": "editor",
    "import/upload/": "editor",
    "imports/IMPORT/": "editor",
    "import-judgments/": "editor",
    "exports/": "viewer",
}


def address(study: Study, page: str) -> str:
    """The address of one of ``PAGES`` of a study with one object of each kind."""
    for name, value in _values(study).items():
        page = page.replace(name, value)
    return f"/admin/annotator/study/{study.pk}/{page}"


#: Looked up once for each study object, because a test asks for the address of every page.
_KNOWN: WeakKeyDictionary[Study, dict[str, str]] = WeakKeyDictionary()


def _values(study: Study) -> dict[str, str]:
    if study not in _KNOWN:
        judgment = study.judgments.get()
        found = {
            "ITEM": judgment.item_id,
            "JUDGMENT": judgment.pk,
            "RATER": judgment.rater_id,
            "EXCLUSION": study.exclusions.get().pk,
            "PERSON": study.participations.get().rater_id,
            "IMAGE": study.images.get().pk,
            "QUESTION": hit_type_get(study.hit_type).exam[0].key,
            "IMPORT": study.file_imports.get().pk,
        }
        _KNOWN[study] = {name: str(value) for name, value in found.items()}
    return _KNOWN[study]
