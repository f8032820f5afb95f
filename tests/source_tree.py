"""The package's own source as data: modules, their imports, their size.

Invariant: files are parsed, never imported, so that what is said about a module holds even when
importing it would fail.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from tests.shared import ROOT

SOURCE = ROOT / "src"


@dataclass(frozen=True)
class Module:
    """One source file below src/tenure."""

    path: Path

    @property
    def label(self) -> str:
        return self.path.relative_to(SOURCE).as_posix()

    @property
    def name(self) -> str:
        """The dotted name, `tenure.core.plan`."""
        parts = self.path.relative_to(SOURCE).with_suffix("").parts
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    @property
    def unit(self) -> str:
        """The row of the import table: the first name below `tenure`, or `tenure` itself."""
        return unit_of(self.name)

    @cached_property
    def text(self) -> str:
        return self.path.read_text(encoding="utf-8")

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text, filename=str(self.path))

    def imports(self) -> Iterator[tuple[str, int]]:
        """Every imported name, dotted and as deep as it is written, with its line.

        Imports inside functions count. `from a import b` gives `a.b`: b may be a module.
        """
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                yield from ((alias.name, node.lineno) for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"{self.label}:{node.lineno}: relative import"
                yield from ((f"{node.module}.{alias.name}", node.lineno) for alias in node.names)

    def code_lines(self, node: ast.AST | None = None) -> int:
        """How many lines hold code: no blank line, no comment, no docstring."""
        first, last = (1, len(self.text.splitlines())) if node is None else _span(node)
        return sum(first <= line <= last for line in self._code_lines)

    @cached_property
    def _code_lines(self) -> frozenset[int]:
        prose = {line for node in ast.walk(self.tree) for line in _docstring_lines(node)}
        return frozenset(
            number
            for number, line in enumerate(self.text.splitlines(), start=1)
            if line.strip() and not line.strip().startswith("#") and number not in prose
        )

    def functions(self) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
        for node in ast.walk(self.tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield node


def modules(unit: str | None = None) -> list[Module]:
    """All modules of the package, or those of one row of the import table, in a fixed order."""
    found = [Module(path) for path in sorted((SOURCE / "tenure").rglob("*.py"))]
    return [module for module in found if unit is None or module.unit == unit]


def unit_of(dotted: str) -> str:
    """`core` for `tenure.core.plan`, `tenure` for the root itself."""
    parts = dotted.split(".")
    return parts[1] if len(parts) > 1 else parts[0]


def _span(node: ast.AST) -> tuple[int, int]:
    assert isinstance(node, ast.stmt)
    assert node.end_lineno is not None
    return node.lineno, node.end_lineno


def _docstring_lines(node: ast.AST) -> range:
    """Lines of the docstring, also of the string that documents a field below it."""
    match node:
        case ast.Expr(value=ast.Constant(value=str())):
            first, last = _span(node)
            return range(first, last + 1)
    return range(0)
