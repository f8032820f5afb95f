"""The first turn: look around, then a module that quotes sessions, its tests and a script.

Invariant: the first version holds an off-by-one that the tests find, and two things that lint
finds; nobody repairs them here.
"""

from __future__ import annotations

from scripts.demo.moves import (
    Turn,
    bash,
    edit,
    fails,
    glob,
    grep,
    plan,
    read,
    step,
    write,
)

QUOTE = "src/tenure/cost/quote.py"
TESTS = "tests/cost/test_quote.py"
SCRIPT = "scripts/quote.py"

WORDS = """\
I keep being asked "what would such a session cost on model X?" and answer by hand. Please add a \
small module `tenure.cost.quote`: given the shape of a session (tokens before the first message, \
tokens added per step, output per step, number of steps, seconds between requests) and a model \
name, it says what the session costs with the prompt cache, without it, in dollars, and how many \
requests read the cache. Let our prefix-cache simulator do the work, no second copy of the rules. \
Plus `scripts/quote.py` that prints a table for several models.

Constraints, please keep them in mind throughout:
- never touch anything below src/tenure/core, nor src/tenure/errors.py, nor pyproject.toml: the \
branch `core-rework` owns them this week and every conflict costs me an hour
- no new dependency
- tests first or alongside, names are sentences, as everywhere here
- amounts in base input tokens as in tenure.cost.price; round only when printing
"""

PLAN = (
    "Read the cost package and its tests",
    "Run the cost tests once as a baseline",
    "Write tenure.cost.quote with tests",
    "Write scripts/quote.py",
    "Lint, types, import table, all cost tests",
)

TURN = Turn(
    WORDS,
    [
        step(
            "I will look at the project and at the cost package first.",
            bash("git log --oneline | head -5; git status --short; ls", "Look around"),
            glob("src/tenure/cost/**"),
            thinking=(
                "The user wants a quote from the simulator. Off limits: src/tenure/core, "
                "src/tenure/errors.py, pyproject.toml. Let me see what cost offers."
            ),
        ),
        step("", read("README.md"), read("Makefile")),
        step(
            "The profiles and the simulator are what a quote is made of.",
            read("src/tenure/cost/models.py"),
            read("src/tenure/cost/prefix_cache.py"),
        ),
        step("", read("src/tenure/cost/prefix_tree.py"), read("src/tenure/cost/price.py")),
        step("Now the plan.", plan(*PLAN)),
        step(
            "",
            read("src/tenure/cost/forecast.py"),
            thinking="forecast has closed forms: a quote without a cache must equal one of them.",
        ),
        step("", read("src/tenure/core/usage.py"), read("src/tenure/errors.py")),
        step(
            "How do the tests of this package look?",
            read("tests/cost/test_forecast.py"),
            read("tests/cost/test_prefix_cache.py"),
        ),
        step("", read("tests/cost/test_models.py"), read("tests/cost/test_price.py")),
        step(
            "Who else drives the simulator, and how do they place marks?",
            grep(r"PrefixCache\(|\.request\(|Mark\("),
        ),
        step("", read("src/tenure/cost/diagnose.py")),
        step(
            "The import table decides where the module may live.",
            read("tests/test_architecture.py"),
        ),
        step(
            "A baseline before I change anything.",
            bash(
                "python -m pytest -v -p no:cacheprovider tests/cost tests/test_architecture.py -k cost",
                "Run the cost tests and the import table",
            ),
        ),
        step("", plan(*PLAN, done=2)),
        step(
            "Scripts have a manner of their own; one to go by:",
            read("scripts/make_models.py"),
            glob("scripts/*.py"),
        ),
        step(
            "The module:",
            write(QUOTE, "quote_1"),
            thinking=(
                "Shape and Quote as frozen values, one function. The head is one segment, every "
                "step one more; Anthropic gets a mark on the last segment, automatic caches none. "
                "Output is in `added` too, as Growth in forecast has it."
            ),
        ),
        step(
            "And its tests, held against the closed form of the forecast:",
            write(TESTS, "test_1"),
            fails(bash(f"python -m pytest -p no:cacheprovider {TESTS}", "Run the new tests")),
        ),
        step(
            "Two fail, both about the cost without a cache. Let me look at the module again.",
            read(QUOTE),
            read("src/tenure/cost/forecast.py", 38, 30),
            thinking=(
                "The difference is 32,000 = 40 * 800: one `added` per step. The forecast says step "
                "i sends n + i g with i = 1..k; mine counts from 0."
            ),
        ),
        step(
            "The forecast counts steps from 1, each request holds what its step added. Fixed:",
            edit(
                QUOTE,
                "        for step in range(shape.steps)\n    ]",
                "        for step in range(1, shape.steps + 1)\n    ]",
            ),
            bash(f"python -m pytest -p no:cacheprovider {TESTS}", "Run the new tests again"),
        ),
        step(
            "",
            write(SCRIPT, "script_1"),
            bash("python -m scripts.quote", "Print the table once"),
        ),
        step(
            "Lint and types of the three new files.",
            fails(bash(f"ruff check {QUOTE} {TESTS} {SCRIPT}", "Lint")),
            bash(f"mypy {QUOTE} {TESTS} {SCRIPT}", "Strict types"),
        ),
        step(
            "Both findings are fair: an import I never used, and a loop that is a list.",
            edit(QUOTE, "from math import inf\n", ""),
            edit(
                SCRIPT,
                """    for one in sorted(quotes, key=lambda quoted: quoted.usd):
        lines.append(f"{one.model:24}{one.usd:>10.2f}{one.saving:>8.0%}{one.hits:>7}")
""",
                """    lines += [
        f"{one.model:24}{one.usd:>10.2f}{one.saving:>8.0%}{one.hits:>7}"
        for one in sorted(quotes, key=lambda quoted: quoted.usd)
    ]
""",
            ),
        ),
        step(
            "",
            bash(
                f"ruff check {QUOTE} {TESTS} {SCRIPT} && "
                f"ruff format --check {QUOTE} {TESTS} {SCRIPT}",
                "Lint and format",
            ),
            read(SCRIPT),
        ),
        step("", plan(*PLAN, done=4)),
        step(
            "Everything once more, with the import table.",
            bash(
                "python -m pytest -v -p no:cacheprovider tests/cost tests/test_architecture.py -k cost",
                "Run the cost tests and the import table",
            ),
        ),
        step(
            "",
            bash("git status --short && git diff --stat", "What changed"),
            plan(*PLAN, done=5),
        ),
        step(
            "`tenure.cost.quote` is there: `quote(Shape(...), model)` sends the requests to the "
            "prefix-cache simulator and returns the cost with and without cache, dollars and "
            "hits. `python -m scripts.quote` prints the table. The first version was off by one "
            "step in the uncached cost; a test against the forecast's closed form found it. "
            "Cost tests, import table, lint and types pass. Nothing below src/tenure/core, "
            "errors.py or pyproject.toml was touched.",
        ),
    ],
)
