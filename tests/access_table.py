"""Writes docs/access.md from the lists of the access tests: ``python -m tests.access_table``."""

from __future__ import annotations

import os
from pathlib import Path

PAGE = Path(__file__).resolve().parent.parent / "docs" / "access.md"
HEAD = """\
# Who may do what

<!-- Written by `python -m tests.access_table` from the lists of the access tests. Change those, not this page. -->

A **workspace** (a lab) owns studies, datasets, systems, qualifications, endpoints with their keys, and recipes. Pipelines and
runs belong where their dataset or study does. Names are unique within a workspace, so two labs on one server can use the same
ones without noticing each other. Only a study's short name is unique on the server, because it is the study's address.

- **Members** of a workspace have a role: viewer, reviewer, editor or owner. It is their role in each of its studies too.
- **A study's own members** come from outside the workspace, or have a larger role in this study. They reach this study only.
- **An endpoint can be shared** with other workspaces, whose runs may then use it. They can't see its page or change it.
- **A qualification** counts in the studies of its workspace only.
- **An API token** reaches what its person reaches, within its scopes: read, write, run models, personal data.
- Everyone else gets "not found", and it is logged. Superusers reach everything: they run the server.

Each researcher has a workspace of their own. What was made before there were workspaces is in one for each set of people who
owned studies together, so nobody sees more than before. Whoever leaves a workspace also loses their roles in its studies.

Each role may do what the ones before it may: viewer, reviewer, editor, owner. Every line is tested as anonymous, as an annotator,
as the owner of another lab with the same names, and in each role.
"""


def access_page() -> str:
    """The page as it should be."""
    from tests.annotator.admin import hit_type_pages as types
    from tests.annotator.admin import study_pages as admin
    from tests.annotator.api import addresses as api
    from tests.evaluation import pages as evaluation

    study = "/admin/annotator/study/STUDY/"
    lines = [(f"{study}{page}", "GET", role) for page, role in admin.PAGES.items()]
    lines += [(f"{study}{page}", "POST", role) for page, role in admin.SENT.items()]
    lines += [
        (f"/admin/annotator/declaredtype/TYPE/{page}", "GET", role) for page, role in types.PAGES.items()
    ]
    lines += [
        (f"/admin/annotator/declaredtype/TYPE/{page}", "POST", role) for page, role in types.SENT.items()
    ]
    lines += [
        (f"/admin/annotator/declaredquestionnaire/QUESTIONNAIRE/{page}", "GET", role)
        for page, role in types.PAGES.items()
    ]
    lines += [
        (f"/admin/annotator/declaredquestionnaire/QUESTIONNAIRE/{page}", "POST", role)
        for page, role in types.SENT.items()
    ]
    lines += [(f"API: {name}", method.upper(), role) for name, method, role in [*api.OF_STUDY, *api.OF_TYPE]]
    lines += [(f"API: {name}", method.upper(), "who asked for it") for name, method in api.OF_OWNER]
    lines += [(page, "GET", role) for page, role in evaluation.PAGES.items()]
    lines += [(page, "POST", role) for page, role in evaluation.SENT.items()]
    rows = "\n".join(f"| `{page}` | {method} | {role} |" for page, method, role in lines)
    return f"{HEAD}\n| what | method | needs |\n|---|---|---|\n{rows}\n"


if __name__ == "__main__":
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "foretell.settings")
    django.setup()
    PAGE.write_text(access_page(), encoding="utf-8")
