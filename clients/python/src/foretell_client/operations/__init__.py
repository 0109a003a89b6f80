"""Every operation of the API, by group. Written by clients/python/generate.py from the API's schema; don't change it by hand."""

from __future__ import annotations

from foretell_client.operations.adjudication import AdjudicationOperations
from foretell_client.operations.exclusions import ExclusionsOperations
from foretell_client.operations.exports import ExportsOperations
from foretell_client.operations.hit_types import HitTypesOperations
from foretell_client.operations.images import ImagesOperations
from foretell_client.operations.imports import ImportsOperations
from foretell_client.operations.items import ItemsOperations
from foretell_client.operations.judgments import JudgmentsOperations
from foretell_client.operations.kept_studies import KeptStudiesOperations
from foretell_client.operations.messages import MessagesOperations
from foretell_client.operations.panel import PanelOperations
from foretell_client.operations.payments import PaymentsOperations
from foretell_client.operations.people import PeopleOperations
from foretell_client.operations.pipelines import PipelinesOperations
from foretell_client.operations.plan import PlanOperations
from foretell_client.operations.questionnaires import QuestionnairesOperations
from foretell_client.operations.rehearsal import RehearsalOperations
from foretell_client.operations.releases import ReleasesOperations
from foretell_client.operations.reports import ReportsOperations
from foretell_client.operations.review import ReviewOperations
from foretell_client.operations.runs import RunsOperations
from foretell_client.operations.studies import StudiesOperations
from foretell_client.transport import Transport


class Operations:
    """The operations of the API, by what they are about."""

    def __init__(self, http: Transport) -> None:
        self.adjudication = AdjudicationOperations(http)
        self.exclusions = ExclusionsOperations(http)
        self.exports = ExportsOperations(http)
        self.hit_types = HitTypesOperations(http)
        self.images = ImagesOperations(http)
        self.imports = ImportsOperations(http)
        self.items = ItemsOperations(http)
        self.judgments = JudgmentsOperations(http)
        self.kept_studies = KeptStudiesOperations(http)
        self.messages = MessagesOperations(http)
        self.panel = PanelOperations(http)
        self.payments = PaymentsOperations(http)
        self.people = PeopleOperations(http)
        self.pipelines = PipelinesOperations(http)
        self.plan = PlanOperations(http)
        self.questionnaires = QuestionnairesOperations(http)
        self.rehearsal = RehearsalOperations(http)
        self.releases = ReleasesOperations(http)
        self.reports = ReportsOperations(http)
        self.review = ReviewOperations(http)
        self.runs = RunsOperations(http)
        self.studies = StudiesOperations(http)
