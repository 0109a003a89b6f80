"""The settings of a study, by concern. Each is declared here and nowhere else; see ``annotator.models.setting``."""

from __future__ import annotations

from annotator.models.study_settings.allocation import Allocation
from annotator.models.study_settings.joining import Joining
from annotator.models.study_settings.pay import Pay
from annotator.models.study_settings.personal_data import PersonalData
from annotator.models.study_settings.questions import AskedOfPeople
from annotator.models.study_settings.texts import Identity, Texts
from annotator.models.study_settings.training import Training


class StudySettings(Identity, Texts, Allocation, Joining, Training, AskedOfPeople, PersonalData, Pay):
    """All settings of a study."""

    class Meta:
        abstract = True
