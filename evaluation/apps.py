from collections.abc import Mapping
from typing import Any

from django.apps import AppConfig


def _posterior(study: Any) -> Mapping[int, float]:
    """Imported when somebody chooses this order, so that few processes load NumPy."""
    from evaluation.ratings.posterior import posterior_bits

    return posterior_bits(study=study)


def _plan_copy(**about: Any) -> None:
    """Imported when a study is duplicated, so that processes start without the planning of analyses."""
    from evaluation.services.analysis_plan import plan_copy

    plan_copy(**about)


class EvaluationConfig(AppConfig):
    name = "evaluation"
    verbose_name = "Evaluation"

    def ready(self) -> None:
        from annotator.core.background import work_source
        from annotator.core.copied_elsewhere import copier
        from annotator.core.kept_elsewhere import Keeper, keeper
        from annotator.core.news import news_source
        from annotator.core.workspace_use import figure_source, files_source
        from annotator.selectors.adjudication_order import order_register
        from evaluation.selectors.background import runs_as_work
        from evaluation.selectors.news import quality_news
        from evaluation.selectors.run import calls_under_way, workspace_spent_words
        from evaluation.selectors.storage import kept_bytes, release_bytes, report_bytes
        from evaluation.services.erasure import names_forget, releases_holding

        order_register("posterior", "how unsure Dawid and Skene’s model is of the label", _posterior)
        work_source("runs", runs_as_work)
        news_source("agreement and runs", quality_news, "quality")
        figure_source("calls to models under way", calls_under_way)
        figure_source("spent on models", workspace_spent_words)
        files_source("reports", report_bytes)
        files_source("releases", release_bytes)
        files_source("studies kept after archiving", kept_bytes)
        copier("analysis plan", _plan_copy)
        keeper("reports and releases", Keeper(remains=releases_holding, forget=names_forget))
