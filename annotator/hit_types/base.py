"""The contract of every HIT type.

A HIT type says what is shown, what is asked, how a response is checked, graded and turned into
ratings, and how the same question is put to a language model. It is pure: it imports neither Django
nor Celery, and it never touches the database. Everything that differs between types is behind this
contract; everything else in the product treats all types alike.

One item is a *payload*: a JSON object with everything that any of its stages shows. A HIT has one or more
*stages*, answered in order; what a stage shows leaves the server only when the stage before it is committed.
A response is a JSON object ``{field name: value}`` with the fields of all stages.

A type is one folder beside this file: ``hit_type.py``, ``schema.py`` and ``scoring.py`` (pure),
``instructions.md`` (see ``instruction_parts``), ``prompt.md`` (see ``render_prompt`` and ``prompt_part``),
``exam.json``, ``practice.json`` and ``examples/``. The form is drawn from the stages' fields, alike for all types.
Types import this module and nothing else of the product; ``docs/add-a-hit-type.md`` shows how to add one.
"""

from __future__ import annotations

from annotator.hit_types.answers import YES_NO_WORDS, Answers
from annotator.hit_types.arms import ANSWER_ONLY, NOTHING
from annotator.hit_types.columns import ITEM_COLUMNS, SYSTEM_COLUMNS, system_name
from annotator.hit_types.contract import HitType
from annotator.hit_types.declared import DeclaredStage, Shown
from annotator.hit_types.formats import format_of
from annotator.hit_types.instructions import Example, Text, for_variant, instruction_parts
from annotator.hit_types.making import (
    ItemSource,
    MadeFrom,
    choice_parts,
    preference_parts,
    question_columns,
)
from annotator.hit_types.prompting import answered_numbers, prompt_part, render_prompt
from annotator.hit_types.reading import (
    MAX_TEXT,
    NEITHER,
    NO_ANSWER,
    REFUSAL,
    YES_NO,
    Row,
    clean_text,
    is_blank,
    parse_fields,
    stable_key,
)
from annotator.hit_types.replies import (
    MARKER,
    YES_NO_LABELS,
    Labels,
    label_of,
    read_answer,
    read_answers,
    read_line,
    read_object,
    write_answer,
    write_answers,
)
from annotator.hit_types.shapes import (
    JSON,
    AnsweredTwice,
    Block,
    ChatMessage,
    Column,
    Defaults,
    Demo,
    Field,
    FieldErrors,
    Grade,
    ItemDraft,
    Level,
    Material,
    Option,
    Passages,
    Question,
    Rating,
    Stage,
    Unparsable,
    Variable,
    answers_in_words,
)
from annotator.hit_types.simulating import (
    CANNOT_GUESS,
    GENERATOR_COLUMN,
    KIND_COLUMN,
    ROBOT_WILL,
    SimulationType,
    TwoStepSimulation,
    guessable,
    helpful,
    helpful_answer,
    predicted,
    simulated,
)
from annotator.hit_types.wording import translatable, translated
from annotator.hit_types.yes_no_simulation import (
    QUESTION_ONLY,
    QUESTION_ONLY_LEAD,
    YesNoSimulation,
    explained_stage,
    question_only_fields,
)

__all__ = [
    "ANSWER_ONLY",
    "CANNOT_GUESS",
    "GENERATOR_COLUMN",
    "ITEM_COLUMNS",
    "JSON",
    "KIND_COLUMN",
    "MARKER",
    "MAX_TEXT",
    "NEITHER",
    "NOTHING",
    "NO_ANSWER",
    "QUESTION_ONLY",
    "QUESTION_ONLY_LEAD",
    "REFUSAL",
    "ROBOT_WILL",
    "SYSTEM_COLUMNS",
    "YES_NO",
    "YES_NO_LABELS",
    "YES_NO_WORDS",
    "AnsweredTwice",
    "Answers",
    "Block",
    "ChatMessage",
    "Column",
    "DeclaredStage",
    "Defaults",
    "Demo",
    "Example",
    "Field",
    "FieldErrors",
    "Grade",
    "HitType",
    "ItemDraft",
    "ItemSource",
    "Labels",
    "Level",
    "MadeFrom",
    "Material",
    "Option",
    "Passages",
    "Question",
    "Rating",
    "Row",
    "Shown",
    "SimulationType",
    "Stage",
    "Text",
    "TwoStepSimulation",
    "Unparsable",
    "Variable",
    "YesNoSimulation",
    "answered_numbers",
    "answers_in_words",
    "choice_parts",
    "clean_text",
    "explained_stage",
    "for_variant",
    "format_of",
    "guessable",
    "helpful",
    "helpful_answer",
    "instruction_parts",
    "is_blank",
    "label_of",
    "parse_fields",
    "predicted",
    "preference_parts",
    "prompt_part",
    "question_columns",
    "question_only_fields",
    "read_answer",
    "read_answers",
    "read_line",
    "read_object",
    "render_prompt",
    "simulated",
    "stable_key",
    "system_name",
    "translatable",
    "translated",
    "write_answer",
    "write_answers",
]
