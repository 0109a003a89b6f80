"""Invented tasks for the style gallery: one of each form that a stage can take."""

from __future__ import annotations

from annotator.hit_types.base import Block, Field, Option, Stage

HELPFUL = Field(
    "helpful",
    "Do the robot's explanation and answer directly help you predict its next answer?",
    options=(
        Option(
            "no",
            "Not helpful",
            "Nothing in them directly helps to predict the robot's answer to the follow-up question.",
        ),
        Option("yes", "Helpful", "Something in them directly helps, even if more facts are needed."),
    ),
    help="Judge only whether they help, not whether they are true.",
)
GUESS = Field(
    "answer",
    "What will the robot answer to the follow-up question?",
    options=(
        Option("yes", "Yes", "Going by its explanation, the robot will say “yes”."),
        Option("no", "No", "Going by its explanation, the robot will say “no”."),
    ),
    when=(("helpful", ("yes",)),),
    about=("follow_up",),
)
SIMULATION = Stage(
    "simulation",
    "What will the robot answer?",
    (
        Block("question", "Starter question", "Could a lantern fish be kept in a garden pond?", group="starter"),
        Block(
            "explanation",
            "The robot's explanation",
            "Lantern fish live between 300 and 1,200 metres below the surface of the sea, where the water is cold, dark"
            " and salty. A garden pond is rarely deeper than two metres and holds fresh water. An animal that is built"
            " for high pressure and for salt cannot live in shallow fresh water. So the answer is no.",
            group="starter",
        ),
        Block("output", "The robot answered", "No", kind="answer", group="starter"),
        Block("follow_up", "Follow-up question", "Could an anglerfish of the deep sea live in a village lake?", group="follow_up"),
    ),
    (HELPFUL, GUESS),
)  # fmt: skip

_POST = (
    "I moved into a flat with a north-facing balcony and would like to grow something that we can eat. It gets two hours"
    " of sun in summer and none in winter. The wind is strong since we are on the ninth floor. I have never grown"
    " anything before and I tend to forget to water. My budget is small and I may not screw anything into the wall."
)
PREFERENCE = Stage(
    "simulation",
    "Which response will the robot choose?",
    (
        Block("context", "Context", _POST, group="starter"),
        Block("first", "Response 1", "Forget it, nothing grows without sun. Buy your salad.", group="starter"),
        Block(
            "second",
            "Response 2",
            "Leafy things do best: rocket, mint, chives and sorrel live with two hours of sun. Use one long, heavy box on"
            " the floor rather than pots on the rail, so that the wind cannot take it. Put five centimetres of clay balls"
            " at the bottom: they keep water for a week, which helps if you forget.\n\nStart with mint. It cannot be"
            " killed.",
            group="starter",
        ),
        Block(
            "explanation",
            "The robot's explanation",
            "Response 2 is more helpful because it names plants that fit the light, answers the wind and the watering,"
            " and says what to start with.",
            group="starter",
        ),
        Block("choice", "The robot's choice", "Response 2", kind="answer", group="starter"),
        Block(
            "f-context", "Context", "My sourdough is always flat and sour. I feed the starter once a week and keep it in the fridge. What am I doing wrong?", group="follow_up",
        ),
        Block("f-first", "Response 1", "Feed it every day for a week at room temperature before you bake; a starter straight from the fridge is too weak to raise the dough, and too sour.", group="follow_up"),
        Block("f-second", "Response 2", "Same here, let me know if you find out!", group="follow_up"),
    ),
    (
        Field(
            "choice",
            "In the follow-up, which response will the robot choose?",
            options=(
                Option("1", "Response 1"),
                Option("2", "Response 2"),
                Option("equal", "Equally likely", "Going by its explanation, the robot could choose either."),
            ),
        ),
    ),
)  # fmt: skip

_VERDICTS = (Option("yes", "Yes"), Option("moderate", "Moderate"), Option("no", "No"))
_REASONS = (
    "Copper does not rust: rust is iron oxide, and there is no iron in copper. It takes on a green layer instead.",
    "Copper is a metal, and metals rust when they get wet.",
    "The roof is made of copper. Copper is a soft, reddish metal that is used for roofs, wires and coins. It is known for"
    " lasting long, and many old churches have such roofs, which turn green over the years because copper reacts with the"
    " air. That layer keeps what is below it from reacting any further. Since rust is the name for what iron does, a"
    " copper roof cannot rust.",
    "It cannot rust because it does not rust.",
)
PLAUSIBILITY = Stage(
    "plausibility",
    "Does each explanation justify the answer?",
    (
        Block("question", "Question", "Can a copper roof rust?"),
        Block("answer", "Correct answer", "No", kind="answer"),
        *(Block(f"e{n}", f"Explanation {'ABCD'[n]}", text) for n, text in enumerate(_REASONS)),
    ),
    tuple(
        Field(
            f"v{n}",
            f"Does explanation {'ABCD'[n]} justify the answer?",
            options=_VERDICTS,
            target=f"e{n}",
            about=("question", "answer", f"e{n}"),
        )
        for n in range(len(_REASONS))
    ),
    lead="Easily understood, factually right, all the important reasons, and more than a restatement of the question.",
)

POINTS = Stage(
    "points",
    "Check the list of points",
    (
        Block("explanation", "The robot's explanation", "I name the finding and who made it, and say what is not known yet."),
        Block("u1", "Point 1", "the finding"),
        Block("u2", "Point 2", "who made it"),
    ),
    (
        *(Field(f"right{n}", "Does the explanation say this?", options=(Option("yes", "Yes"), Option("no", "No")), target=f"u{n}", about=("explanation", f"u{n}")) for n in (1, 2)),
        Field("whole", "Is the list of points complete?", options=(Option("yes", "Yes"), Option("no", "No")), about=("explanation",)),
        Field("missing", "What is missing?", kind="text", when=(("whole", ("no",)),)),
    ),
)  # fmt: skip

BEFORE = Stage(
    "before",
    "Before the explanation",
    (Block("question", "Question", "Did the builders of Stonehenge know the wheel?"),),
    (
        Field(
            "first",
            "What do you think?",
            options=(Option("yes", "Yes"), Option("no", "No")),
            help="Please do not look it up: your guess is what counts.",
        ),
    ),
    lead="Answer from what you know. Then you see an explanation, and answer again.",
)
AFTER = Stage(
    "after",
    "After the explanation",
    (
        *BEFORE.blocks,
        Block(
            "rationale",
            "Explanation",
            "Stonehenge was built between about 3000 and 2000 BC. The oldest wheels found in Britain are from around"
            " 1100 BC.",
        ),
    ),
    (Field("second", "Going by the explanation alone, what is the answer?", options=(Option("yes", "Yes"), Option("no", "No"))),),
)  # fmt: skip

LONG = Stage(
    "marks",
    "What is wrong with this explanation?",
    (
        Block("question", "Question", "Do bats lay eggs?"),
        Block(
            "explanation",
            "The robot's explanation",
            "Bats fly. Animals that fly are birds. Birds lay eggs. So bats lay eggs. The answer is yes.",
        ),
        Block("points", "What it claims", items=("Bats fly.", "Animals that fly are birds.", "Birds lay eggs."), kind="list"),
    ),
    (
        Field(
            "faults",
            "Mark all that apply",
            kind="multi",
            options=(
                Option("false", "A claim is false", "At least one sentence is not true."),
                Option("gap", "A step is missing", "One sentence does not follow from the one before it without a missing step."),
                Option("circle", "It goes in a circle", "The conclusion is used as a reason for itself."),
                Option("beside", "It is beside the point", "What it says is true but not relevant to the question."),
                Option("unclear", "It cannot be understood", "The wording is ambiguous."),
                Option("contradiction", "It contradicts itself", "Two sentences cannot both be true."),
                Option("none", "Nothing is wrong", "None of the above."),
            ),
        ),
        Field("note", "Anything else?", kind="text", required=False, max_length=500),
    ),
)  # fmt: skip

BIDI = Stage(
    "rtl",
    "Right to left, long words, and what looks like code",
    (
        Block("question", "Question in Arabic", "هل يمكن لسمكة من أعماق البحر أن تعيش في بحيرة القرية؟"),
        Block("word", "A word without a break", "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft" * 2),
        Block("code", "What looks like code", "<script>alert(1)</script> <img src=x onerror=alert(1)> [click](javascript:alert(1))"),
    ),
    (Field("answer", "هل السؤال واضح؟", options=(Option("yes", "نعم"), Option("no", "لا")),),),
)  # fmt: skip

FORMATS = Stage(
    "formats",
    "Code, a table and Markdown",
    (
        Block("code", "Code", "    def low(self):\n        return self.tide < 0.5  # " + "tide_" * 30, format="code"),
        Block("table", "Table", "harbour\tlamps\nNorth\t12\nSouth\t7", format="table"),
        Block("markdown", "Notes", "# Lamps\n\n- **twelve** in the north\n- [seven](https://example.org/) in the south\n\n<b>not bold</b>", format="markdown"),
        Block("image", "Image", "![Two harbours; the north one is brightly lit](harbours.png)", format="image"),
    ),
    (Field("answer", "Which harbour has more lamps?", options=(Option("n", "North"), Option("l", "L" * 90)), about=("table",)),),
)  # fmt: skip
