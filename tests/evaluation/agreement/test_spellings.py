"""Labels of a file of ratings in several spellings: which are read as one, and which get a remark."""

import io

from annotator.core.labels import Spelling
from evaluation.agreement import read_ratings


def read(text: str, **more):
    return read_ratings(
        io.BytesIO(text.encode()), rater="who", unit="what", value="says", name="r.csv", **more
    )


def test_whole_numbers_that_pandas_wrote_with_a_fraction():
    text = "who,what,says\na,1,3.0\nb,1,3\na,2,1.0\n"
    assert read(text).ratings.labels == ("1", "3")
    assert read(text, order=["1", "2", "3"], level="ordinal").ratings.labels == ("1", "2", "3")
    mixed = read("who,what,says\na,1,3.0\nb,1,3\na,2,none\n")
    assert mixed.ratings.labels == ("3", "3.0", "none")  # a version number, for all we know
    assert "are one number; --recode" in mixed.notes[0]


def test_identifiers_of_many_digits_stay_apart():
    """As floating-point numbers these two are equal."""
    text = "who,what,says\na,1,9007199254740993\nb,1,9007199254740992.0\na,2,9007199254740992\n"
    found = read(text)
    assert (found.ratings.labels, found.notes) == (("9007199254740992", "9007199254740993"), ())
    spelling = Spelling(recode={"9007199254740993": "x"})
    assert read(text, spelling=spelling).ratings.labels == ("9007199254740992", "9007199254740992.0", "x")


def test_remarks_on_many_labels_are_cut_short():
    rows = "".join(f"a,{n},Word {n}\nb,{n},word {n}\n" for n in range(250))
    notes = read("who,what,says\n" + rows).notes
    assert (len(notes), notes[-1]) == (11, "says: 240 more groups of labels differ in case or form only")
