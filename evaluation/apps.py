from django.apps import AppConfig


class EvaluationConfig(AppConfig):
    name = "evaluation"
    verbose_name = "Evaluation"

    def ready(self) -> None:
        from annotator.core.background import work_source
        from evaluation.selectors.background import runs_as_work

        work_source("runs", runs_as_work)
