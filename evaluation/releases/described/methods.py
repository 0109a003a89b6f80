"""``methods.md`` and ``methods.tex``: a paragraph for a paper's methods section, with the study's own numbers and its references."""

from __future__ import annotations

from annotator.core.words import listed, plural
from evaluation.releases.described.description import Description, StudyFacts
from evaluation.reports.exports.tex_characters import escape

#: What a HIT type's source names -> the reference.
_PROTOCOLS = {
    "Chen et al. 2024": "Chen, Y., Zhong, R., Ri, N., Zhao, C., He, H., Steinhardt, J., Yu, Z., & McKeown, K. (2024). Do models explain "
    "themselves? Counterfactual simulatability of natural language explanations. Proceedings of ICML.",
    "Limpijankit et al. 2025": "Limpijankit, M., Chen, Y., Subbiah, M., Deas, N., & McKeown, K. (2025). Counterfactual simulatability of "
    "LLM explanations for generation tasks.",
    "Joshi et al. 2023": "Joshi, B., Liu, Z., Ramnath, S., Chan, A., Tong, Z., Nie, S., Wang, Q., Choi, Y., & Ren, X. (2023). Are machine "
    "rationales (not) useful to humans? Measuring and improving human utility of free-text rationales. Proceedings of ACL.",
    "Hase and Bansal 2020": "Hase, P., & Bansal, M. (2020). Evaluating explainable AI: Which algorithmic explanations help users predict "
    "model behavior? Proceedings of ACL.",
    "Doshi-Velez and Kim 2017": "Doshi-Velez, F., & Kim, B. (2017). Towards a rigorous science of interpretable machine learning. "
    "arXiv 1702.08608.",
}  # fmt: skip
_STATISTICS = (
    "Cohen, J. (1960). A coefficient of agreement for nominal scales. Educational and Psychological Measurement, 20(1), 37-46.",
    "Krippendorff, K. (2011). Computing Krippendorff's alpha-reliability. University of Pennsylvania.",
)


def methods_markdown(facts: Description) -> str:
    """The paragraph and its references as Markdown."""
    listing = "\n".join(f"- {reference}" for reference in references(facts))
    return f"# Methods\n\n{paragraph(facts)}\n\n## References\n\n{listing}\n"


def methods_latex(facts: Description) -> str:
    """The same as LaTeX, in ASCII, without a preamble."""
    items = "\n".join(f"\\item {escape(reference)}" for reference in references(facts))
    return f"{escape(paragraph(facts))}\n\n\\begin{{itemize}}\n{items}\n\\end{{itemize}}\n"


def paragraph(facts: Description) -> str:
    """How the data were collected and analysed, in sentences."""
    method = facts.sentences.get("method", ())
    parts = [*map(_study, facts.studies), *facts.sentences.get("conduct", ()), *method[:1]]
    return " ".join([*parts, f"Data were collected and analysed with {facts.software}."])


def _study(study: StudyFacts) -> str:
    raters = plural(study.people, "person", "people")
    if study.simulators:
        raters += f" and {plural(len(study.simulators), 'simulator')} ({listed(list(study.simulators))})"
    said = (
        f"In “{study.title}”, {raters} gave {plural(study.judgments, 'judgment')} on {plural(study.items, 'item')} of the task "
        f"“{study.task}” ({study.source}); each item was to be judged by {plural(study.redundancy, 'person', 'people')}."
    )
    if study.exam:
        said += f" Annotators first had to answer {study.exam} of a qualification exam correctly."
    return said + (f" They were paid {study.pay}." if study.pay else "")


def references(facts: Description) -> list[str]:
    """The protocols' papers and those of the agreement statistics, sorted."""
    sources = " ".join(study.source for study in facts.studies)
    return sorted([text for name, text in _PROTOCOLS.items() if name in sources] + list(_STATISTICS))
