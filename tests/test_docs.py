"""What a user meets is documented: commands, policies, errors; and the snippets run.

Invariant: the lists are taken from the code, never written down here, so a new command, policy or
error without a word in README.md or docs/ turns this file red. Python blocks are run in order, one
namespace per page; a block below `<!-- not run: why -->` is only compiled.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import tenure.errors
import tenure.policies
from tests.shared import ROOT
from tests.source_tree import SOURCE

PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))

BLOCK = re.compile(
    r"(?P<mark><!-- not run: [^\n]+ -->\n+)?^```python\n(?P<code>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
FENCED = re.MULTILINE | re.DOTALL
LINK = re.compile(r"\]\((?!\w+:|#)(?P<target>[^)#\s]+)")


@dataclass(frozen=True)
class Snippet:
    """A Python block of a page; `line` is that of its first line of code."""

    page: Path
    line: int
    code: str
    runs: bool


def test_every_command_is_documented() -> None:
    assert [name for name in _commands() if not _mentioned(f"tenure {name}")] == []


def test_every_policy_is_documented() -> None:
    assert [name for name in tenure.policies.names() if not _mentioned(name)] == []


def test_every_error_is_documented() -> None:
    assert [name for name in _errors() if not _mentioned(name)] == []


def test_every_error_stands_in_the_tree_of_the_errors_module() -> None:
    tree = inspect.getdoc(tenure.errors) or ""
    assert [name for name in _errors() if not re.search(rf"\b{name}\b", tree)] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_python_blocks_of_a_page_run(page: Path) -> None:
    namespace: dict[str, object] = {"__name__": "__snippet__"}
    for snippet in _snippets(page):
        # Line numbers of the page, so that a traceback points into it.
        code = "\n" * (snippet.line - 1) + snippet.code
        compiled = compile(code, str(page), "exec", dont_inherit=True)
        if snippet.runs:
            exec(compiled, namespace)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_links_of_a_page_lead_somewhere(page: Path) -> None:
    targets = [match["target"] for match in LINK.finditer(page.read_text(encoding="utf-8"))]
    assert [target for target in targets if not (page.parent / target).exists()] == []


def test_every_make_target_that_a_page_names_exists() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z]+):", makefile, re.MULTILINE))
    # In code only: inline, indented, or in a block whose first words are those of a shell.
    commands = re.sub(
        r"^```(?:sh|bash|console|text)?\n(.*?)^```$", _indented, _text(), flags=FENCED
    )
    named = set(
        re.findall(r"(?:`|^ {4,}(?:\$ )?)make (?:[A-Z]+=\S+ )*([a-z]+)", commands, re.MULTILINE)
    )
    assert named, "no page names a make target"
    assert named - targets == set()


def test_marked_blocks_are_compiled_and_not_run(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "text\n\n<!-- not run: needs a key -->\n```python\na = 1\n```\n\n```python\nb = 2\n```\n",
        encoding="utf-8",
    )
    assert [(snippet.line, snippet.code, snippet.runs) for snippet in _snippets(page)] == [
        (5, "a = 1\n", False),
        (9, "b = 2\n", True),
    ]


def _text() -> str:
    return "\n".join(page.read_text(encoding="utf-8") for page in PAGES)


def _indented(block: re.Match[str]) -> str:
    return "".join(f"    {line}\n" for line in block[1].splitlines())


def _mentioned(words: str) -> bool:
    return re.search(rf"(?<![\w-]){re.escape(words)}(?![\w-])", _text()) is not None


def _snippets(page: Path) -> Iterator[Snippet]:
    text = page.read_text(encoding="utf-8")
    for match in BLOCK.finditer(text):
        line = text.count("\n", 0, match.start("code")) + 1
        yield Snippet(page, line, match["code"], runs=match["mark"] is None)


def _commands() -> list[str]:
    """The subcommands of the parser that `tenure.cli.main.build_parser` makes."""
    if not (SOURCE / "tenure" / "cli" / "main.py").exists():
        return []
    parser = importlib.import_module("tenure.cli.main").build_parser()
    names = [
        name
        for action in parser._actions
        if isinstance(action, argparse._SubParsersAction)
        for name in action.choices
    ]
    assert names, "tenure.cli.main.build_parser() has no subcommands"
    return names


def _errors() -> list[str]:
    return sorted(
        name
        for name, value in vars(tenure.errors).items()
        if inspect.isclass(value)
        and issubclass(value, BaseException)
        and value.__module__ == "tenure.errors"
    )
