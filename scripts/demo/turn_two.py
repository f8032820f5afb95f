"""The second turn: pauses, long marks and price cliffs.

Invariant: the pauses are first put one step too early, which a test finds; long marks are first
asked of a model that has none, which a run of the script finds.
"""

from __future__ import annotations

from scripts.demo.moves import Turn, bash, edit, fails, grep, plan, read, step
from scripts.demo.turn_one import QUOTE, SCRIPT, TESTS

WORDS = """\
Nice. Two wishes:

1. Our sessions have breaks. Let a shape have a pause of so many seconds after every so many \
steps (--pause and --every in the script), and let me see whether marks with the one-hour \
lifetime would pay (--long).
2. Haiku looks suspiciously cheap. Its price jumps when the prompt is above 100k tokens, I \
believe: show how many requests lie above a model's price cliff.

The constraints stand.
"""

PLAN = (
    "Read how lifetimes, long marks and cliffs are modelled",
    "Pauses in the shape",
    "Long marks in the shape",
    "Count the requests above the cliff",
    "Options and column in the script",
    "All checks",
)

LUNCH = "python -m scripts.quote --head 30000 --steps 120 --pause 2700 --every 40"
VERBOSE = "python -m pytest -v -p no:cacheprovider tests/cost tests/testing"

TURN = Turn(
    WORDS,
    [
        step(
            "First the plan, then how the package models lifetimes and cliffs.",
            plan(*PLAN),
            grep(r"ttl_long|write_long|cliff", "src/tenure"),
        ),
        step("", read(QUOTE), read("src/tenure/cost/price.py")),
        step(
            "",
            read("src/tenure/cost/models.py"),
            read("src/tenure/cost/data/overlay.toml"),
            thinking=(
                "Haiku 5.5 has a Cliff at 100,000 with factors 5 and 5: the user is right. "
                "cliff_factors(prompt, profile) tells whether a request is above."
            ),
        ),
        step(
            "And what the simulator does with long marks.",
            read("src/tenure/cost/prefix_cache.py", 95, 175),
        ),
        step(
            "How does the rest of the project speak of pauses between requests?",
            grep(r"\b(gap|pause|idle|cold)\b", "src/tenure"),
            read("src/tenure/policies/schedule.py"),
        ),
        step("", read("tests/cost/test_prefix_laws.py"), read("tests/cost/naive_cache.py")),
        step(
            "The shape learns pauses and long marks, the quote counts what lies above the cliff.",
            edit(
                QUOTE,
                """    `gap` lies between two requests.
    \"\"\"
""",
                """    `gap` lies between two requests, and after every `every` of them `pause` more. With `long`
    the marks ask for the long lifetime.
    \"\"\"
""",
            ),
            edit(
                QUOTE,
                "    gap: float = 20.0\n",
                "    gap: float = 20.0\n    pause: float = 0.0\n    every: int = 0\n"
                "    long: bool = False\n",
            ),
            edit(
                QUOTE,
                """    for step in range(shape.steps):
        node = cache.extend(node, [Segment(step, shape.added)])
        marks = [] if found.automatic else [Mark(node)]
        outcome = cache.request(node, marks, at=step * shape.gap)
        yield replace(outcome.usage, output=shape.output)
""",
                """    for step, at in enumerate(_times(shape)):
        node = cache.extend(node, [Segment(step, shape.added)])
        marks = [Mark(node, long=shape.long)] if shape.long or not found.automatic else []
        outcome = cache.request(node, marks, at=at)
        yield replace(outcome.usage, output=shape.output)


def _times(shape: Shape) -> Iterator[float]:
    \"\"\"When each request starts, in seconds from the first.\"\"\"
    at = 0.0
    for step in range(shape.steps):
        yield at
        at += shape.gap
        if shape.every and step % shape.every == 0:
            at += shape.pause
""",
            ),
        ),
        step(
            "",
            edit(
                QUOTE,
                "    `hits` counts the requests that read something from the cache.\n",
                "    `hits` counts the requests that read something from the cache, `dear` those whose\n"
                "    prompt lies above the model's price cliff.\n",
            ),
            edit(QUOTE, "    hits: int\n", "    hits: int\n    dear: int\n"),
            edit(
                QUOTE,
                "        hits=sum(usage.cache_read > 0 for usage in used),\n",
                "        hits=sum(usage.cache_read > 0 for usage in used),\n"
                "        dear=sum(cliff_factors(usage.prompt, found) != (1.0, 1.0) for usage in used),\n",
            ),
            edit(
                QUOTE,
                "from tenure.cost.price import price\n",
                "from tenure.cost.price import cliff_factors, price\n",
            ),
        ),
        step("", read(QUOTE), read(TESTS), plan(*PLAN, done=1)),
        step(
            "Tests for all three.",
            edit(
                TESTS,
                "import pytest\n\nfrom tenure.cost.forecast",
                "from dataclasses import replace\n\nimport pytest\n\nfrom tenure.cost.forecast",
            ),
            edit(
                TESTS,
                "def test_no_steps_cost_nothing() -> None:\n",
                """def test_a_pause_longer_than_the_lifetime_costs_one_miss() -> None:
    lunch = replace(LONG, pause=3_000, every=10)
    assert quote(lunch, OPUS).hits == LONG.steps - 1 - 3


def test_long_marks_outlive_the_pause_and_are_dearer_to_write() -> None:
    lunch = replace(LONG, pause=3_000, every=10, long=True)
    assert quote(lunch, OPUS).hits == LONG.steps - 1
    assert quote(replace(LONG, long=True), OPUS).cached > quote(LONG, OPUS).cached


def test_requests_above_the_price_cliff_are_counted() -> None:
    big = Shape(head=90_000, added=1_000, output=100, steps=20)
    assert quote(big, "claude-haiku-5-5").dear == 10
    assert quote(big, OPUS).dear == 0


def test_no_steps_cost_nothing() -> None:
""",
            ),
            fails(bash(f"python -m pytest -vv -p no:cacheprovider {TESTS}", "Run the new tests")),
        ),
        step(
            "One fails. The pause comes after the first step already, not after the tenth.",
            read(QUOTE, 88, 35),
            thinking="step counts from 0: 0, 10, 20, 30 are four pauses, and should be three.",
        ),
        step(
            "",
            edit(
                QUOTE,
                "        if shape.every and step % shape.every == 0:\n",
                "        if shape.every and (step + 1) % shape.every == 0:\n",
            ),
            bash(f"python -m pytest -vv -p no:cacheprovider {TESTS}", "Run the new tests again"),
        ),
        step(
            "Now the script.",
            plan(*PLAN, done=4),
            read(SCRIPT),
        ),
        step(
            "",
            edit(
                SCRIPT,
                """    parser.add_argument("models", nargs="*", default=MODELS)
    given = parser.parse_args(argv)
    shape = Shape(given.head, given.added, given.output, given.steps, given.gap)
""",
                """    parser.add_argument("--pause", type=float, default=0.0, help="seconds of a break")
    parser.add_argument("--every", type=int, default=0, help="steps from one break to the next")
    parser.add_argument("--long", action="store_true", help="marks with the long lifetime")
    parser.add_argument("models", nargs="*", default=MODELS)
    given = parser.parse_args(argv)
    shape = Shape(
        given.head,
        given.added,
        given.output,
        given.steps,
        gap=given.gap,
        pause=given.pause,
        every=given.every,
        long=given.long,
    )
""",
            ),
            edit(
                SCRIPT,
                """    lines = [f"{'model':24}{'USD':>10}{'saved':>8}{'hits':>7}"]
""",
                """    lines = [f"{'model':24}{'USD':>10}{'saved':>8}{'hits':>7}{'dear':>7}"]
""",
            ),
            edit(
                SCRIPT,
                '{one.saving:>8.0%}{one.hits:>7}"\n',
                '{one.saving:>8.0%}{one.hits:>7}{one.dear:>7}"\n',
            ),
            bash("python -m scripts.quote", "Print the table once"),
        ),
        step(
            "With a lunch break, and with long marks over it:",
            bash(LUNCH, "Breaks of 45 minutes"),
            bash(f"{LUNCH} --long", "The same with long marks"),
            bash("python -m scripts.quote --head 90000 --steps 300", "A big head"),
        ),
        step(
            "Does it hold for older models too?",
            fails(
                bash(
                    f"{LUNCH} --long claude-opus-4-6 gpt-5.1 gpt-6-luna",
                    "Long marks on models without a long lifetime",
                )
            ),
        ),
        step(
            "gpt-5.1 has no long lifetime and the simulator refuses such a mark. A quote should "
            "fall back to the short one there.",
            grep("no long TTL|ttl_long", "src/tenure/cost", files="*.py"),
            read("src/tenure/cost/prefix_cache.py", 95, 175),
        ),
        step(
            "",
            edit(
                QUOTE,
                "        marks = [Mark(node, long=shape.long)] if shape.long or not found.automatic "
                "else []\n",
                "        marks = [Mark(node, long=long)] if long or not found.automatic else []\n",
            ),
            edit(
                QUOTE,
                """    node = cache.extend(cache.root, [Segment("head", shape.head)])
""",
                """    node = cache.extend(cache.root, [Segment("head", shape.head)])
    long = shape.long and found.ttl_long > 0
""",
            ),
            edit(
                QUOTE,
                "    the marks ask for the long lifetime.\n",
                "    the marks ask for the long lifetime, where the model has one.\n",
            ),
            edit(
                TESTS,
                "def test_requests_above_the_price_cliff_are_counted() -> None:\n",
                """def test_a_model_without_long_lifetime_is_quoted_with_its_short_one() -> None:
    assert quote(replace(LONG, long=True), "gpt-5.1") == quote(LONG, "gpt-5.1")


def test_requests_above_the_price_cliff_are_counted() -> None:
""",
            ),
        ),
        step(
            "",
            bash(f"python -m pytest -vv -p no:cacheprovider {TESTS}", "Run the new tests"),
            bash(f"{LUNCH} --long claude-opus-4-6 gpt-5.1 gpt-6-luna", "The older models again"),
            read(QUOTE),
        ),
        step(
            "All checks.",
            plan(*PLAN, done=5),
            bash(
                f"ruff check {QUOTE} {TESTS} {SCRIPT} && ruff format {QUOTE} {TESTS} {SCRIPT} && "
                f"mypy {QUOTE} {TESTS} {SCRIPT}",
                "Lint, format, types",
            ),
        ),
        step("", bash(VERBOSE, "The scripted server bills by the simulator")),
        step("", bash("git add -N . && git diff", "The whole change"), plan(*PLAN, done=6)),
        step(
            "Done. A shape now has `pause` and `every`, and `long` for marks of an hour; the "
            "table has a column `dear` with the requests above the price cliff. You were right "
            "about Haiku: above 100k tokens of prompt everything costs five times as much, and "
            "the big head shows it. Models without a long lifetime are quoted with their short "
            "one. core, errors.py and pyproject.toml are as they were.",
        ),
    ],
    pause=194.0,
)
