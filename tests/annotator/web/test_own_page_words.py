"""The own page says where a person stands in each study."""

from __future__ import annotations

import pytest
from django.test import Client
from django.utils import timezone

from tests.factories import make_participation, make_study

pytestmark = pytest.mark.django_db


def test_a_completed_study_links_to_its_final_page():
    participation = make_participation(make_study(items=1, launched=True))
    client = Client()
    client.force_login(participation.rater.user)
    open_ = client.get("/me/").content.decode()
    assert ">Continue</a>" in open_
    assert ">Open</span>" in open_
    participation.finished_at = timezone.now()
    participation.save()
    done = client.get("/me/").content.decode()
    assert ">See the final page</a>" in done
    assert ">Done</span>" in done
    assert ">Continue</a>" not in done
