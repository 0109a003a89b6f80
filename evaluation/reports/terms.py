"""One sentence on each statistic of a report, shown as a tooltip and in the docs."""

from __future__ import annotations

TERMS = {
    "Cohen’s κ": "Agreement of two raters beyond what their own label frequencies would give by chance: 1 is perfect, 0 is chance.",
    "Conger’s κ": "Agreement of several raters beyond what each one’s own label frequencies would give by chance; ratings may be missing.",
    "Krippendorff’s α": "Agreement of any number of raters, with missing ratings, at the variable’s level of measurement: 1 is perfect, 0 is chance.",
    "Fleiss’ κ": "Agreement of several raters beyond chance, where every unit has the same number of ratings.",
    "Gwet’s AC1": "Agreement beyond chance that stays stable when nearly all ratings are the same label.",
    "Gwet’s AC2": "Gwet’s AC1 for ordered labels: near misses count in part.",
    "Intraclass correlation": "The share of the variance of the ratings that lies between units. ICC(1,·): other raters on each unit; ICC(2,·): raters drawn at random; ICC(3,·): these raters. (·,1): of one rating; (·,k): of the mean of k. Of a mixed model: over all ratings, where not everybody rated everything.",
    "Percent agreement": "The share of pairs of ratings of one unit that are the same label. It isn’t corrected for chance.",
    "weighted by shared units": "The mean over pairs of raters, each pair counted by the number of units that both rated.",
    "quadratic weights": "Labels that are far apart on the scale count as greater disagreement than neighbours.",
    "Macro precision": "For each explanation, the share of its simulatable follow-ups that were predicted correctly; then the mean over explanations.",
    "Micro precision": "The share of all simulatable follow-ups that were predicted correctly, pooled over explanations.",
    "Simulation precision": "How often raters who read the explanation predict the system’s real output, where they can predict one at all.",
    "Simulatable": "The share of follow-ups on which raters made a prediction instead of answering “cannot guess”.",
    "Generality": "One minus the mean similarity of an explanation’s simulatable follow-ups: high where it helps on varied questions.",
    "BLEU": "Similarity of two texts by the word sequences that they share.",
    "Cosine": "Similarity of two texts by the angle between their embeddings.",
    "Jaccard": "Similarity of two texts: the words that they share over all their words, without stop words.",
    "Winning rate": "The share of people that the simulator stands in for by the alternative annotator test; 0.5 or more: it may replace people.",
    "Advantage probability": "How often the simulator is at least as close to the other people as the person left out.",
    "n effective": "How many labels by people alone would give an interval as narrow.",
    "Relative AI reliance": "Of answers that were wrong at first where the model is right, the share that became right.",
    "Relative self-reliance": "Of answers that were right at first where the model is wrong, the share that stayed right.",
    "Pearson": "Linear correlation, from −1 to 1.",
    "Spearman": "Correlation of ranks, from −1 to 1.",
    "Theil’s U": "The share of the uncertainty about one variable that knowing the other removes, from 0 to 1; it has a direction.",
    "η": "Correlation ratio: how far the mean of a number differs between classes, from 0 to 1.",
    "GEN-U": "How far a rationale changes a model’s answers to generalization questions for the better (1) or the worse (−1).",
    "p (Holm)": "p value of the permutation test, corrected for the number of comparisons.",
    "p (t-test)": "p value of the paired t-test, not corrected.",
    "Median time": "Half of the judgments took less time than this.",
}


def explained(text: str) -> str:
    """The explanation of the longest term that a heading contains; empty if it contains none.

    >>> explained("Gwet’s AC1, people")[:23]
    'Agreement beyond chance'
    >>> explained("Rater")
    ''
    """
    name = term_in(text)
    return TERMS[name] if name else ""


def term_in(text: str) -> str:
    """The longest term that a heading contains; empty if it contains none."""
    lower = text.lower()
    return max((term for term in TERMS if term.lower() in lower), key=len, default="")
