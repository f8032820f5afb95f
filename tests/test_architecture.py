"""The import table, and the walls of style.md. This file is the architecture document.

Invariant: every file below src/tenure belongs to a row of TABLE; a new package is a new row. The
checks read source text; `test_public_api.py` holds what importing does.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator

import pytest

from tests.source_tree import SOURCE, Module, modules, unit_of

PURE = ("errors", "core", "wire", "tokens", "cost", "policies", "compaction", "memory", "replay")
EDGES = ("traces", "files", "storage", "proxy", "web", "integrations", "mcp", "cli", "testing")

_PURE = frozenset(PURE)
_ALL = frozenset((*PURE, *EDGES, "config", "assembly"))

# Who may import whom. A row may always import itself; `tenure` is the root package's own file.
TABLE: dict[str, frozenset[str]] = {
    "errors": frozenset(),
    "core": frozenset({"errors"}),
    "wire": frozenset({"errors", "core"}),
    "tokens": frozenset({"errors", "core"}),
    "cost": frozenset({"errors", "core"}),
    "policies": frozenset({"errors", "core", "tokens", "cost"}),
    "compaction": frozenset({"errors", "core", "tokens", "cost"}),
    "memory": frozenset({"errors", "core"}),
    "replay": _PURE,
    "config": frozenset({"errors", "core"}),
    # Edges do not know each other.
    "traces": _PURE | {"config"},
    "files": _PURE | {"config"},
    "storage": _PURE | {"config"},
    "proxy": _PURE | {"config"},
    "web": _PURE | {"config"},
    "integrations": _PURE | {"config"},
    "mcp": _PURE | {"config"},
    "testing": frozenset({"errors", "core", "wire", "cost", "tokens"}),
    # The two composition roots, and the names that the root package offers.
    "assembly": _ALL - {"cli", "testing"},
    "cli": _ALL,
    "tenure": _ALL - {"cli", "testing"},
    "__main__": frozenset({"cli"}),
}

# What only an edge may touch: time, chance, disk, network, processes.
EFFECTS = frozenset(
    """
    asyncio concurrent ctypes fcntl fileinput ftplib getpass glob http imaplib io logging mmap
    multiprocessing os pathlib random sched secrets select selectors shutil signal smtplib socket
    socketserver sqlite3 ssl subprocess tempfile threading time urllib.request uuid webbrowser
    """.split()
)

# Third-party packages, by the row that may import them.
THIRD_PARTY: dict[str, frozenset[str]] = {
    "tokens": frozenset({"quicktok", "tiktoken"}),
    "cli": frozenset({"rich"}),
    # A development package, for users who run the contracts in their own tests.
    "testing": frozenset({"hypothesis", "pytest"}),
}

# The one reader of the data files that ship inside the package.
DATA_READER = "tenure/core/data.py"

FILE_LINES = 300
FILE_WALL = 400
# Files above FILE_LINES, each with the reason why it is one noun all the same.
LONG_FILES: dict[str, str] = {}

FUNCTION_LINES = 60

# What a module may call while it is imported, besides its own classes of frozen values (CapWords).
CALLS_AT_IMPORT = frozenset(
    """
    NewType ParamSpec TypeVar abs attrgetter auto cast chr dataclass dict encode enumerate field
    float from_bytes fromhex fromkeys frozenset int itemgetter items join keys len list lru_cache
    maketrans map max methodcaller min namedtuple object ord partial pow property
    pytest.mark.parametrize range re.compile
    replace reversed round set sorted split splitlines str strip sum to_bytes tuple union values zip
    """.split()
)


@pytest.mark.parametrize("module", modules(), ids=lambda module: module.label)
def test_a_module_imports_only_what_its_row_allows(module: Module) -> None:
    assert module.unit in TABLE, f"{module.label}: {module.unit!r} has no row in the import table"
    assert list(_trespasses(module)) == []


@pytest.mark.parametrize("module", modules(), ids=lambda module: module.label)
def test_third_party_packages_stay_in_their_rows(module: Module) -> None:
    allowed = THIRD_PARTY.get(module.unit, frozenset()) | {"tenure"} | sys.stdlib_module_names
    wrong = [
        f"{module.label}:{line} imports {name}"
        for name, line in module.imports()
        if name.split(".")[0] not in allowed
    ]
    assert wrong == []


@pytest.mark.parametrize(
    "module",
    [module for module in modules() if module.unit in _PURE],
    ids=lambda module: module.label,
)
def test_a_pure_module_reaches_no_effect(module: Module) -> None:
    assert list(_effects(module)) == []


@pytest.mark.parametrize("module", modules(), ids=lambda module: module.label)
def test_importing_a_module_does_nothing(module: Module) -> None:
    # A pure module may build a table with a function of its own: that function reaches no effect,
    # and the watch of test_public_api.py sees it if it reads a file.
    own = {f"calls {node.name}" for node in module.tree.body if isinstance(node, ast.FunctionDef)}
    excused = own if module.unit in _PURE else set()
    acts = [(what, line) for what, line in _at_import(module.tree.body) if what not in excused]
    assert [f"{module.label}:{line} {what}" for what, line in acts] == []


def test_one_file_reads_the_data_that_ships_inside_the_package() -> None:
    readers = {
        module.label
        for module in modules()
        for name, _ in module.imports()
        if name.startswith(("importlib.resources", "pkgutil"))
    }
    assert readers <= {DATA_READER}


def test_files_are_short_and_the_longer_ones_are_listed() -> None:
    lengths = {module.label: module.code_lines() for module in modules()}
    assert {label for label, length in lengths.items() if length > FILE_WALL} == set()
    assert {label for label, length in lengths.items() if length > FILE_LINES} == set(LONG_FILES)


def test_functions_are_short() -> None:
    long = [
        f"{module.label}:{function.lineno} {function.name} has {length} lines of code"
        for module in modules()
        for function in module.functions()
        if (length := module.code_lines(function)) > FUNCTION_LINES
    ]
    assert long == []


def test_the_layout_is_two_folders_deep() -> None:
    deep = [module.label for module in modules() if len(module.name.split(".")) > 4]
    assert deep == []


def test_every_module_states_its_invariant_at_the_top() -> None:
    assert [module.label for module in modules() if not ast.get_docstring(module.tree)] == []


def test_the_table_has_no_cycle_among_pure_packages() -> None:
    done: set[str] = set()
    while ready := {row for row in PURE if row not in done and TABLE[row] - {row} <= done}:
        done |= ready
    assert done == _PURE


@pytest.mark.parametrize(
    ("path", "source", "trespasses"),
    [
        ("core/x.py", "import tenure.wire", True),
        ("core/x.py", "from tenure.wire.splice import cut", True),
        ("core/x.py", "def f():\n    from tenure import Session", True),
        ("core/x.py", "from tenure import errors", False),
        ("traces/x.py", "from tenure.storage.sqlite import open_store", True),
        ("traces/x.py", "from tenure.core.plan import Plan", False),
        ("errors.py", "from tenure.core.plan import Plan", True),
        ("cli/x.py", "from tenure.testing.script import Script", False),
    ],
)
def test_the_check_of_the_table_sees(path: str, source: str, *, trespasses: bool) -> None:
    assert bool(list(_trespasses(_written(source, path)))) is trespasses


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import os", "imports os"),
        ("def f():\n    from os import path", "imports os.path"),
        ("import urllib.request", "imports urllib.request"),
        ("open('x')", "calls open"),
        ("from datetime import datetime\ndatetime.now()", "calls datetime.now"),
    ],
)
def test_the_check_of_effects_sees(source: str, expected: str) -> None:
    assert any(expected in found for found in _effects(_written(source)))


@pytest.mark.parametrize(
    "source",
    [
        "configure()",
        "X = load()",
        "X = [read(n) for n in names]",
        "for x in y:\n    pass",
        "with lock:\n    pass",
        "class A:\n    x = load()",
        "if sys.platform == 'linux':\n    x = load()",
        "def f(x=load()):\n    pass",
        "@register('x')\ndef f():\n    pass",
        "os.environ['X'] = '1'",
    ],
)
def test_the_check_of_imports_that_act_sees(source: str) -> None:
    assert list(_at_import(ast.parse(source).body))


@pytest.mark.parametrize(
    "source",
    [
        "X = re.compile('x')",
        "X = frozenset({'a'})",
        "X: Final = Budget(3)",
        "@dataclass(frozen=True)\nclass A:\n    x: list[int] = field(default_factory=list)",
        "f = lambda: load()",
        "def f(x: int = 3) -> None:\n    load()",
        "if TYPE_CHECKING:\n    from x import y",
        "if __name__ == '__main__':\n    main()",
        "try:\n    import fcntl\nexcept ImportError:\n    fcntl = None",
    ],
)
def test_the_check_of_imports_that_act_lets_definitions_pass(source: str) -> None:
    assert list(_at_import(ast.parse(source).body)) == []


def test_code_lines_leave_out_prose() -> None:
    text = (
        '"""Doc.\n\nMore.\n"""\n\n# why\nX = 1\n\n\ndef f() -> None:\n    """Doc."""\n    return\n'
    )
    module = _written(text)
    assert module.code_lines() == 3
    assert module.code_lines(next(module.functions())) == 2


def _written(source: str, path: str = "core/written.py") -> Module:
    module = Module(SOURCE / "tenure" / path)
    # cached_property keeps what is put into its place: a module that was never on disk.
    vars(module)["text"] = source
    return module


def _trespasses(module: Module) -> Iterator[str]:
    allowed = TABLE[module.unit] | {module.unit}
    for name, line in module.imports():
        if name.split(".")[0] == "tenure" and _target(name) not in allowed:
            yield f"{module.label}:{line} imports {name}"


def _target(name: str) -> str:
    """The row that an import of `name` reaches; `from tenure import X` reaches the root."""
    unit = unit_of(name)
    return unit if unit in TABLE else "tenure"


def _effects(module: Module) -> Iterator[str]:
    for name, line in module.imports():
        parts = name.split(".")
        if EFFECTS & {".".join(parts[: n + 1]) for n in range(len(parts))}:
            yield f"{module.label}:{line} imports {name}"
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            clock = called.startswith(("datetime.", "date.")) and called.endswith(
                (".now", ".utcnow", ".today")
            )
            if clock or called in {"open", "input", "print", "exec", "eval", "__import__"}:
                yield f"{module.label}:{node.lineno} calls {called}"


def _at_import(body: Iterable[ast.stmt]) -> Iterator[tuple[str, int]]:
    """What these statements do besides defining things."""
    for node in body:
        match node:
            case ast.Import() | ast.ImportFrom() | ast.Pass():
                pass
            case ast.Expr(value=ast.Constant()):
                pass
            case ast.Assign(value=value, targets=targets):
                yield from _calls(value)
                yield from _foreign(targets)
            case ast.AnnAssign(value=value, target=target):
                yield from _calls(value)
                yield from _foreign([target])
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                parts = [*node.decorator_list, *node.args.defaults, *node.args.kw_defaults]
                for part in parts:
                    yield from _calls(part)
            case ast.ClassDef():
                for part in [*node.decorator_list, *node.bases]:
                    yield from _calls(part)
                yield from _at_import(node.body)
            case ast.If(test=test) if _never_on_import(test):
                pass
            case ast.If(test=test):
                yield from _calls(test)
                yield from _at_import([*node.body, *node.orelse])
            case ast.Try():
                yield from _at_import(node.body)
                for handler in node.handlers:
                    yield from _at_import(handler.body)
            case _ if type(node).__name__ == "TypeAlias":  # Python 3.12
                pass
            case _:
                yield f"runs {ast.unparse(node).splitlines()[0]!r}", node.lineno


def _never_on_import(test: ast.expr) -> bool:
    return ast.unparse(test) in {"TYPE_CHECKING", "typing.TYPE_CHECKING", "__name__ == '__main__'"}


def _calls(expression: ast.expr | None) -> Iterator[tuple[str, int]]:
    """The calls of this expression that are made at once: not those inside a lambda."""
    waiting: list[ast.AST] = [] if expression is None else [expression]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Lambda):
            continue
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            last = called.rsplit(".", 1)[-1]
            value_class = last.lstrip("_")[:1].isupper() and last != "Path"
            if not (value_class or {called, last} & CALLS_AT_IMPORT):
                yield f"calls {called}", node.lineno
        waiting.extend(ast.iter_child_nodes(node))


def _foreign(targets: Iterable[ast.expr]) -> Iterator[tuple[str, int]]:
    """Assignments into something that another module owns."""
    for target in targets:
        if isinstance(target, ast.Attribute | ast.Subscript):
            yield f"assigns {ast.unparse(target)}", target.lineno
