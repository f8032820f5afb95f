"""The third turn, after a long break: review comments, a paragraph in the README, one commit.

Invariant: the limits set in the first turn decide what the agent does about errors here.
"""

from __future__ import annotations

from scripts.demo.moves import Turn, bash, edit, fails, grep, plan, read, step
from scripts.demo.turn_one import QUOTE, SCRIPT, TESTS
from scripts.demo.turn_two import LUNCH, VERBOSE

WORDS = """\
Back from lunch. Review comments from Mara, please see to them:

a) An unknown model silently gets a default profile. The quote must say so, and the table too.
b) Negative sizes, and more output than is added, must be refused, with the kind of error that \
this package uses elsewhere.
c) Five lines in the README.

Then make it one commit, and tell me that you kept off what I had put off limits.
"""

PLAN = (
    "Unknown models are named as such",
    "Impossible shapes are refused",
    "README paragraph",
    "All checks, limits of the user kept",
    "One commit",
)

OFF_LIMITS = "src/tenure/core src/tenure/errors.py pyproject.toml"

README = """

## What would it cost?

    python -m scripts.quote --head 30000 --steps 120 --pause 2700 --every 40 --long

prints, for several models, what a session of that shape costs with the prompt cache: dollars, the
share that the cache saves, the requests that read it, and those above the model's price cliff.
`tenure.cost.quote` is the same as a function.
"""

TURN = Turn(
    WORDS,
    [
        step(
            "Where things stand, and the code once more.",
            plan(*PLAN),
            bash("git status --short && git diff --stat", "What is uncommitted"),
            read(QUOTE),
        ),
        step("", read(TESTS), read(SCRIPT)),
        step(
            "How does this package refuse what cannot be, and how does a profile say that it is "
            "a default?",
            grep(r"raise |_not_negative", "src/tenure/cost"),
            grep(r"\bknown\b", "src/tenure", files="*.py"),
        ),
        step(
            "",
            read("src/tenure/cost/forecast.py"),
            read("src/tenure/errors.py"),
            thinking=(
                "A QuoteError in errors.py would be tidy, but errors.py is off limits. The cost "
                "package raises ValueError with the name and the number; that is what Mara asks "
                "for anyway."
            ),
        ),
        step(
            "The cost package raises ValueError that names the argument; I do the same and leave "
            "errors.py alone.",
            fails(
                edit(
                    QUOTE,
                    "    `gap` lies between two requests, and after every `every` of them `pause` "
                    "more.\n    With `long` the marks ask for the long lifetime.\n",
                    "",
                )
            ),
        ),
        step("That was not the text any more. Reading the place again.", read(QUOTE, 18, 45)),
        step(
            "",
            edit(
                QUOTE,
                "    the marks ask for the long lifetime, where the model has one.\n",
                "    the marks ask for the long lifetime, where the model has one. Raises ValueError "
                "for what\n    cannot be: negative numbers, more output than is added.\n",
            ),
            edit(
                QUOTE,
                "    long: bool = False\n",
                """    long: bool = False

    def __post_init__(self) -> None:
        for name in ("head", "added", "output", "steps", "gap", "pause", "every"):
            number = getattr(self, name)
            if number < 0:
                raise ValueError(f"{name} is {number}: give a number that is not negative")
        if self.output > self.added:
            raise ValueError(
                f"output is {self.output} of {self.added} added tokens: it is a part of them"
            )
""",
            ),
            edit(
                TESTS,
                "def test_no_steps_cost_nothing() -> None:\n",
                """@pytest.mark.parametrize(
    ("name", "number"), [("head", -1), ("steps", -1), ("gap", -0.5), ("every", -2), ("output", 801)]
)
def test_a_shape_that_cannot_be_is_refused_by_name(name: str, number: Any) -> None:
    with pytest.raises(ValueError, match=f"{name} is {number}"):
        replace(LONG, **{name: number})


def test_an_unknown_model_is_quoted_and_says_so() -> None:
    assert not quote(LONG, "claude-opus-99").known
    assert quote(LONG, OPUS).known


def test_no_steps_cost_nothing() -> None:
""",
            ),
            edit(
                TESTS,
                "from dataclasses import replace\n",
                "from dataclasses import replace\nfrom typing import Any\n",
            ),
            fails(bash(f"python -m pytest -p no:cacheprovider {TESTS}", "Run the new tests")),
        ),
        step(
            "Only the unknown model is left, as it should be.",
            plan(*PLAN, done=0),
            edit(
                QUOTE,
                "    prompt lies above the model's price cliff.\n",
                "    prompt lies above the model's price cliff. `known` is False where the model has no\n"
                "    profile of its own and a default was taken.\n",
            ),
            edit(QUOTE, "    dear: int\n", "    dear: int\n    known: bool\n"),
            edit(
                QUOTE,
                " != (1.0, 1.0) for usage in used),\n",
                " != (1.0, 1.0) for usage in used),\n        known=found.known,\n",
            ),
        ),
        step(
            "",
            bash(f"python -m pytest -vv -p no:cacheprovider {TESTS}", "Run the new tests again"),
            edit(
                SCRIPT,
                '        f"{one.model:24}{one.usd',
                "        f\"{one.model + ('' if one.known else ' ?'):24}{one.usd",
            ),
            edit(
                SCRIPT,
                '    return "\\n".join(lines)\n',
                "    if not all(one.known for one in quotes):\n"
                '        lines.append("? no profile of that name: quoted with a default")\n'
                '    return "\\n".join(lines)\n',
            ),
        ),
        step(
            "",
            bash(
                f"{LUNCH} claude-opus-5 claude-opus-99 gpt-7-nova",
                "A table with unknown models",
            ),
            bash(LUNCH, "Breaks of 45 minutes"),
            read(QUOTE),
        ),
        step("Now the README.", read("README.md"), plan(*PLAN, done=2)),
        step(
            "",
            bash(f"cat >> README.md <<'END'{README}END", "Append the paragraph"),
            bash("tail -n 20 README.md", "Look at it"),
            bash(
                "python -m scripts.quote --head 30000 --steps 120 --pause 2700 --every 40 --long",
                "The command of the README",
            ),
        ),
        step(
            "All checks, and the limits you set in the beginning.",
            plan(*PLAN, done=3),
            bash(
                f"ruff format {QUOTE} {TESTS} {SCRIPT} && ruff check {QUOTE} {TESTS} {SCRIPT} && "
                f"mypy {QUOTE} {TESTS} {SCRIPT}",
                "Format, lint, types",
            ),
            bash(f"git diff --stat main -- {OFF_LIMITS}", "What is off limits is untouched"),
        ),
        step("", bash(VERBOSE, "Cost and the scripted server again")),
        step(
            "",
            bash(
                "python -m pytest -v -p no:cacheprovider tests/cost tests/test_architecture.py -k cost",
                "Run the cost tests and the import table",
            ),
        ),
        step(
            "Green. The commit:",
            bash(
                f"git add {QUOTE} {TESTS} {SCRIPT} README.md && git commit -q -m "
                "'Quote a session before it is run: cost, cache hits, price cliffs' && "
                "git show --stat HEAD",
                "Commit",
            ),
            plan(*PLAN, done=5),
        ),
        step(
            "",
            bash(f"git diff --stat main HEAD -- {OFF_LIMITS}; git status --short", "Last look"),
        ),
        step(
            "One commit on session-quotes. Unknown models carry `known=False` and a question mark "
            "in the table; shapes that cannot be raise ValueError with the name and the number, "
            "as elsewhere in tenure.cost. The README has its paragraph. And I kept off your "
            "limits: `git diff main` on src/tenure/core, src/tenure/errors.py and pyproject.toml "
            "is empty, which is also why there is no new error class.",
        ),
    ],
    pause=2_945.0,
)
