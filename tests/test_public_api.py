"""What `import tenure` offers, and that importing it does nothing.

Invariant: the root names are few, sorted and exactly the visible ones; a user who imports tenure
pays for no tokenizer table, no terminal library and no I/O.
"""

from __future__ import annotations

import json
import subprocess
import sys
import types

import pytest

import tenure
from tests.shared import ROOT
from tests.source_tree import modules
from tests.test_architecture import PURE

MOST_NAMES = 25

# Packages that the root import must not bring in: big, or of use to an edge only.
HEAVY = (
    "anthropic",
    "asyncio",
    "ctok",
    "numpy",
    "openai",
    "quicktok",
    "rich",
    "sqlite3",
    "tiktoken",
)

# Imports the modules named in argv under an audit hook; prints what they did and what they loaded.
PROBE = """
import json, sys, threading

before = set(sys.modules)
seen = []
python_files = (".py", ".pyc", ".so")
acts = ("socket.", "subprocess.", "os.system", "os.exec", "os.fork", "os.mkdir", "os.remove",
        "os.rename", "os.putenv", "signal.", "sqlite3.", "shutil.", "tempfile.")

def hook(event, arguments):
    if event == "open":
        path = str(arguments[0])
        if not path.split(".pyc.")[0].endswith((*python_files, ".pyc")):
            seen.append(f"open {path}")
    elif event.startswith(acts):
        seen.append(f"{event} {arguments!r}")

sys.dont_write_bytecode = True
sys.addaudithook(hook)
for name in sys.argv[1:]:
    __import__(name)
print(json.dumps({
    "seen": seen,
    "loaded": sorted(set(sys.modules) - before),
    "threads": [thread.name for thread in threading.enumerate()],
}))
"""


def test_the_root_names_are_sorted_and_few() -> None:
    assert tenure.__all__ == sorted(tenure.__all__)
    assert len(tenure.__all__) == len(set(tenure.__all__)) <= MOST_NAMES


def test_the_root_names_are_exactly_the_visible_names() -> None:
    visible = {
        name
        for name in dir(tenure)
        if not name.startswith("_") and not isinstance(getattr(tenure, name), types.ModuleType)
    }
    hidden_features = {"annotations"}  # what `from __future__ import annotations` leaves behind
    public = {name for name in tenure.__all__ if not _is_module(name)}
    assert visible - hidden_features == public


def test_every_root_name_has_a_docstring() -> None:
    values = {name: getattr(tenure, name) for name in tenure.__all__}
    documented = {
        name: value for name, value in values.items() if isinstance(value, type) or callable(value)
    }
    assert [name for name, value in documented.items() if not value.__doc__] == []


def test_importing_tenure_loads_nothing_heavy_and_does_nothing() -> None:
    report = _import_under_watch("tenure")
    tops = {str(name).split(".")[0] for name in report["loaded"]}
    assert tops & set(HEAVY) == set()
    assert report["seen"] == []
    assert report["threads"] == ["MainThread"]


def test_importing_every_pure_module_does_nothing() -> None:
    names = [module.name for module in modules() if module.unit in PURE]
    report = _import_under_watch(*names)
    assert set(names) <= set(report["loaded"])
    assert report["seen"] == []
    assert report["threads"] == ["MainThread"]


@pytest.mark.parametrize(
    ("act", "seen"),
    [
        ("open(__file__ + '.txt', 'w').close()", "open "),
        ("import socket; socket.socket()", "socket."),
    ],
)
def test_the_watch_sees_an_import_that_acts(
    act: str, seen: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("acting")
    (folder / "acting_module.py").write_text(act, encoding="utf-8")
    report = _import_under_watch("acting_module", path=str(folder))
    assert any(line.startswith(seen) for line in report["seen"])


def _is_module(name: str) -> bool:
    return isinstance(getattr(tenure, name), types.ModuleType)


def _import_under_watch(*names: str, path: str = "src") -> dict[str, list[str]]:
    done = subprocess.run(
        [sys.executable, "-I", "-c", f"import sys; sys.path.insert(0, {path!r})\n{PROBE}", *names],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    report: dict[str, list[str]] = json.loads(done.stdout)
    return report
