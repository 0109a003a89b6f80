from collections.abc import Mapping
from typing import Any

from django.apps import AppConfig


def _posterior_bits(study: Any) -> Mapping[int, float]:
    """Imported when somebody sorts by it, since it needs numpy, which web processes do without."""
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
        from annotator.selectors.adjudication import order_register
        from evaluation.selectors.background import runs_as_work
        from evaluation.selectors.news import quality_news
        from evaluation.services.erasure import names_forget, releases_holding

        order_register("posterior", "how unsure Dawid and Skene’s model is of the label", _posterior_bits)
        work_source("runs", runs_as_work)
        news_source("agreement and runs", quality_news, "quality")
        copier("analysis plan", _plan_copy)
        keeper("reports and releases", Keeper(remains=releases_holding, forget=names_forget))
