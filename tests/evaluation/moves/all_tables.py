"""Every table of the database, and names of columns that hold secrets or rights."""

from __future__ import annotations

import re

from django.apps import apps

MODELS = {
    model._meta.label: model
    for model in apps.get_models(include_auto_created=True)
    if not model._meta.proxy and model._meta.managed
}
SECRET = re.compile("password|secret|_sealed|encrypted|headers|key_variable|cache_key|superuser|staff")
