import math
import sys

import numpy as np
import pytest
import sacrebleu
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics.pairwise import cosine_similarity

from evaluation.metrics import (
    Bleu,
    CachedEncoder,
    Cosine,
    FollowUps,
    Jaccard,
    SentenceTransformerEncoder,
    TfidfEncoder,
    all_similarities,
    diversity_by_generator,
    generality,
    similarity,
)
from evaluation.metrics.stop_words import NLTK_ENGLISH
from tests.evaluation.metrics.factories import GUESS, followups, random_followups, random_texts, shuffled

ROWS = [
    ("e1", "x1", "s", "yes", "yes"),
    ("e1", "x1", "s", "no", "yes"),
    ("e1", "x1", "s", GUESS, "yes"),
    ("e2", "x2", "s", "no", None),
]
TEXTS = ["Birds, swim!", "Birds fly south", "Owls", "Bears sleep"]


class Fixed:
    """An encoder with vectors of our own."""

    name, version = "fixed", "1"

    def __init__(self, vectors):
        self.vectors, self.asked = vectors, []

    def encode(self, texts):
        self.asked += list(texts)
        return np.array([self.vectors[text] for text in texts], dtype=float)


def test_jaccard_by_hand():
    found = generality(followups(ROWS, text=TEXTS), Jaccard())
    # e1's C*: {Birds, swim} and {Birds, fly, south}: 1 shared of 4, so 1 - 1/4; e2 has one follow-up only
    assert found.generality.value == pytest.approx(0.75)
    assert found.generality.n == 1
    assert found.generality.left_out == {"fewer than two simulatable follow-ups": 1}
    assert found.pairs.tolist() == [2, 0]


def test_jaccard_strips_punctuation_and_keeps_case_by_default():
    kept, folded = Jaccard(), Jaccard(lower=True)
    assert kept.words("Can owls' eyes “see”?") == {"Can", "owls", "eyes"} | {"see"}
    assert kept.matrix(["Owl", "owl"])[0, 1] == 0.0
    assert folded.matrix(["Owl", "owl"])[0, 1] == 1.0
    assert "can" not in folded.words("Can owls")


def test_two_empty_word_sets_are_undefined_not_a_division_by_zero():
    found = generality(followups(ROWS[:2], text=["is it the", "and?"]), Jaccard())
    assert math.isnan(found.generality.value)
    assert found.generality.left_out["no pair with a defined similarity"] == 1
    three = followups([ROWS[0]] * 3, text=["is it", "and", "owl"])
    # of 6 ordered pairs the 2 between the empty sets are undefined, the other 4 share nothing
    found = generality(three, Jaccard())
    assert found.generality.value == 1.0
    assert found.generality.left_out == {"pairs without a defined similarity": 2}


@pytest.mark.parametrize("seed", range(4))
def test_bleu_equals_sacrebleu_in_both_directions(seed):
    rng = np.random.default_rng(seed)
    texts = random_texts(rng, 8)
    scorer = sacrebleu.BLEU(effective_order=True)
    expected = [[scorer.sentence_score(a, [b]).score / 100 for b in texts] for a in texts]
    found = Bleu().matrix(texts)
    assert found == pytest.approx(np.array(expected), abs=1e-12)
    assert not np.allclose(found, found.T)  # the two directions differ


def test_bleu_of_many_long_texts_is_computed_in_parts_with_the_same_result(monkeypatch):
    rng = np.random.default_rng(1)
    texts = [" ".join(rng.choice(list("abcdefgh"), 30)) for _ in range(12)]
    whole = Bleu().matrix(texts)
    monkeypatch.setattr(similarity, "_MOST_AT_ONCE", 1)
    assert Bleu().matrix(texts) == pytest.approx(whole, abs=1e-15)


def test_cosine_equals_scikit_learn():
    table = random_followups(np.random.default_rng(3), instances=12)
    vectors = TfidfVectorizer().fit(sorted(set(table.text)))
    values = []
    for name in sorted(set(table.explanation)):
        inside = [
            t
            for t, e, ok in zip(table.text, table.explanation, table.simulatable, strict=True)
            if ok and e == name
        ]
        if len(inside) > 1:
            alpha = cosine_similarity(vectors.transform(inside))
            values.append(1 - alpha[~np.eye(len(inside), dtype=bool)].mean())
    assert generality(table, Cosine()).generality.value == pytest.approx(np.mean(values), abs=1e-12)


def test_cosine_by_hand_and_its_version_is_stated():
    encoder = Fixed(
        {"Birds, swim!": [1, 0], "Birds fly south": [3, 4], "Owls": [0, 1], "Bears sleep": [1, 1]}
    )
    found = generality(followups(ROWS, text=TEXTS), Cosine(encoder))
    assert found.generality.value == pytest.approx(1 - 3 / 5)  # (1,0).(3,4) / 5
    assert found.version == "fixed, 1"
    assert "TF-IDF" in Cosine().version
    assert "scikit-learn" in Cosine().version


def test_every_text_is_encoded_once_also_when_split_by_generator():
    table = random_followups(np.random.default_rng(4))
    encoder = Fixed({text: [len(text), 1.0] for text in table.text})
    diversity_by_generator(table, {"cosine": Cosine(encoder)})
    assert sorted(encoder.asked) == sorted(set(table.text))


def test_cached_encoder_asks_only_for_new_texts_and_refuses_tfidf():
    store, inner = {}, Fixed({"a": [1, 0], "b": [0, 1]})
    encoder = CachedEncoder(inner, store, batch=1)
    encoder.encode(["a", "b", "a"])
    assert encoder.encode(["b", "a"]).tolist() == [[0, 1], [1, 0]]
    assert inner.asked == ["a", "b"]
    with pytest.raises(ValueError, match="TF-IDF"):
        CachedEncoder(TfidfEncoder(), {})


def test_an_encoder_of_the_wrong_shape_is_named():
    class Broken(Fixed):
        def encode(self, texts):
            return np.zeros((1, 3))

    with pytest.raises(ValueError, match=r"encoder: fixed gave shape \(1, 3\)"):
        generality(followups(ROWS, text=TEXTS), Cosine(Broken({})))


def test_texts_without_any_word_are_undefined_under_tfidf():
    found = generality(followups(ROWS[:2], text=["? !", ". ,"]), Cosine())
    assert not found.generality.defined
    assert found.generality.reason == "no explanation has two simulatable follow-ups with a similarity"


@pytest.mark.parametrize("name", ["bleu", "cosine", "jaccard"])
def test_row_order_changes_nothing_and_equal_texts_have_no_generality(name):
    rng = np.random.default_rng(7)
    table = random_followups(rng)
    expected = generality(table, all_similarities()[name], rng=np.random.default_rng(1)).generality
    found = generality(
        shuffled(table, rng), all_similarities()[name], rng=np.random.default_rng(1)
    ).generality
    assert (found.value, found.low, found.high) == pytest.approx(
        (expected.value, expected.low, expected.high)
    )
    same = followups(ROWS[:2], text=["Bears sleep long"] * 2)
    assert generality(same, all_similarities()[name]).generality.value == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("name", ["bleu", "jaccard"])
def test_texts_that_share_nothing_have_full_generality(name):
    apart = followups(ROWS[:2], text=["Bears sleep", "owls fly"])
    assert generality(apart, all_similarities()[name]).generality.value == 1.0


def test_no_follow_ups_and_no_texts():
    assert not generality(followups([]), Bleu()).generality.defined
    assert not generality(followups(ROWS), Bleu()).generality.defined  # texts left empty


def test_missing_extra_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(ImportError, match=r"foretell\[encoders\]"):
        SentenceTransformerEncoder()


def test_jaccard_leaves_out_nltks_stop_words_as_the_papers_code_does() -> None:
    assert len(NLTK_ENGLISH) == 179
    nltk, sklearn = Jaccard(), Jaccard(stop_words="sklearn")
    assert nltk.words("could owls swim across the lake") == {"could", "owls", "swim", "across", "lake"}
    assert sklearn.words("could owls swim across the lake") == {"owls", "swim", "lake"}
    texts = ["could owls swim across the lake", "could owls fly"]
    assert nltk.matrix(texts)[0, 1] == 2 / 6
    assert sklearn.matrix(texts)[0, 1] == 1 / 4
    assert "NLTK's 179" in nltk.version
    assert "scikit-learn" in sklearn.version
    with pytest.raises(ValueError, match="stop_words: 'mine' is neither"):
        Jaccard(stop_words="mine")


def test_a_generality_of_exactly_one_has_no_interval():
    """No follow-ups of ten instances share a word: that is no share of right answers, whose interval would be Wilson's."""
    rows = [(f"u{n}{i}", f"e{n}", f"x{n}", "s", "yes", "yes") for n in range(10) for i in range(2)]
    table = FollowUps(
        unit=[row[0] for row in rows], explanation=[row[1] for row in rows], instance=[row[2] for row in rows],
        system=["s"] * 20, simulated=["yes"] * 20, real=["yes"] * 20, text=[f"word{n}" for n in range(20)],
    )  # fmt: skip
    found = generality(table, Jaccard(), rng=np.random.default_rng(0), replicates=100).generality
    assert (found.value, found.n) == (1.0, 10)
    assert np.isnan([found.low, found.high]).all()
    assert found.interval == "none: the instances do not vary"
