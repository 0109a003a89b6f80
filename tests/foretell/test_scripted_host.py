"""The installation's scripted model stays allowed, whichever hosts the operator lists."""

from __future__ import annotations

import pytest

from tests.processes import python


@pytest.mark.django_db
@pytest.mark.parametrize("listed", ["", "llm.lab:8000"])
def test_listed_hosts_do_not_replace_the_scripted_provider(listed: str) -> None:
    show = "from foretell import env; print(sorted(env.LLM_ALLOWED_HOSTS))"
    settings = {"SCRIPTED_PROVIDER_URL": "http://127.0.0.1:8081/v1", "LLM_ALLOWED_HOSTS": listed}
    done = python("-c", show, **settings)
    assert done.stdout.strip() == str(sorted(filter(None, ["127.0.0.1:8081", listed]))), done.stderr
