"""Make `.venv` match constraints.txt, pyproject.toml and the interpreter that runs this file.

Invariant: `.venv/.ready` holds the fingerprint of a set-up that finished. It is written last, so an
interrupted set-up is repeated and a finished one costs one comparison. Two set-ups at once wait for
each other. Only the standard library is used: this runs before anything is installed.
"""

from __future__ import annotations

import contextlib
import hashlib
import subprocess
import sys
import venv
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
READY = VENV / ".ready"
INPUTS = ("constraints.txt", "pyproject.toml")
OLDEST = (3, 11)


def main() -> int:
    """Set up what is missing; return the exit status for the shell."""
    if sys.version_info < OLDEST:
        print(
            f"tenure needs Python 3.11 or newer, this is {sys.version.split()[0]}: "
            "name another with `make PYTHON=python3.12 ...`",
            file=sys.stderr,
        )
        return 2
    with _lock():
        if _recorded() == _wanted():
            return 0
        try:
            _set_up()
        except subprocess.CalledProcessError as error:
            print(f"set-up of .venv failed: {' '.join(error.cmd)}", file=sys.stderr)
            return 1
    return 0


def _set_up() -> None:
    same_python = _recorded()[:1] == _wanted()[:1]
    READY.unlink(missing_ok=True)
    if not same_python:
        print(f"setting up .venv with Python {sys.version.split()[0]}", flush=True)
        venv.EnvBuilder(clear=True, symlinks=sys.platform != "win32", with_pip=True).create(VENV)
    print("installing the pinned packages", flush=True)
    _pip("--require-hashes", "--no-deps", "-r", "constraints.txt")
    _pip("--no-deps", "--no-build-isolation", "-e", ".")
    READY.write_text("\n".join(_wanted()), encoding="utf-8")


def _pip(*arguments: str) -> None:
    python = VENV / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    command = [str(python), "-m", "pip", "install", "-qq", "--disable-pip-version-check"]
    subprocess.run([*command, *arguments], cwd=ROOT, check=True)


def _wanted() -> list[str]:
    """The interpreter (a new one needs a new venv), then what is installed into it."""
    return [
        f"{sys.implementation.name} {sys.version.split()[0]} {VENV}",
        *(hashlib.sha256((ROOT / name).read_bytes()).hexdigest() for name in INPUTS),
    ]


def _recorded() -> list[str]:
    try:
        return READY.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return []


@contextlib.contextmanager
def _lock() -> Iterator[None]:
    try:
        import fcntl
    except ImportError:  # no such lock on Windows: set-ups are not run side by side there
        yield
        return
    with (ROOT / ".venv.lock").open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


if __name__ == "__main__":
    sys.exit(main())
