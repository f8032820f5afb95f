"""Runs the program: in this process for speed, or as a process of its own.

Invariant: what a test sees is what a user would: exit status, stdout, stderr.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tenure.cli.main import main


@dataclass(frozen=True)
class Ran:
    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


class Program:
    """`program("inspect", path)` runs it and gives what it wrote."""

    def __init__(self, capture: pytest.CaptureFixture[str]) -> None:
        self._capture = capture

    def __call__(self, *arguments: str | Path) -> Ran:
        try:
            status = main([str(one) for one in arguments])
        except SystemExit as ended:  # argparse
            status = int(ended.code or 0)
        out, err = self._capture.readouterr()
        return Ran(status, out, err)


def command(*arguments: str | Path) -> list[str]:
    """The program as a command of its own process."""
    return [sys.executable, "-m", "tenure", *(str(one) for one in arguments)]


def run(*arguments: str | Path, **environment: str) -> Ran:
    done = subprocess.run(
        command(*arguments),
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        timeout=300,
        env={**os.environ, **environment},
    )
    return Ran(done.returncode, done.stdout, done.stderr)
