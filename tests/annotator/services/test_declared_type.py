from __future__ import annotations

import pytest

from annotator.services.declared_checks import declared_checks
from annotator.services.declared_type import declared_type_check
from tests.annotator.declared import CLARITY


def test_checks():
    for name in ["/tmp/w/h-types/annotator/hit_types/gallery/summary_quality.yaml","/tmp/w/h-types/annotator/hit_types/gallery/pairwise_preference.yaml","/tmp/w/h-types/annotator/hit_types/gallery/reasoning_quality.yaml"]:
        kind, checks = declared_type_check(open(name,'rb').read())
        print(*checks, sep="\n")
    kind, checks = declared_type_check(CLARITY)
    print(*checks, sep="\n")
