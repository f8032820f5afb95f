"""A temporary copy of the source tree in which the errand is done, and the names it goes by.

Invariant: what leaves the workspace as text names no path of this machine: the copy is
/home/dev/tenure, its owner dev.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
from io import BytesIO
from pathlib import Path

SHOWN = Path("/home/dev/tenure")
IDENTITY = {
    "GIT_AUTHOR_NAME": "Dev",
    "GIT_AUTHOR_EMAIL": "dev@example.org",
    "GIT_COMMITTER_NAME": "Dev",
    "GIT_COMMITTER_EMAIL": "dev@example.org",
    "GIT_AUTHOR_DATE": "2026-11-24T09:00:00+0000",
    "GIT_COMMITTER_DATE": "2026-11-24T09:00:00+0000",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
}


class Workspace:
    """The copy: made from one commit of `repository`, inside the empty folder `sandbox`."""

    def __init__(self, repository: Path, sandbox: Path, commit: str) -> None:
        self.root = sandbox / "home" / "dev" / "tenure"
        self._sandbox = sandbox
        for folder in (self.root, sandbox / "tmp"):
            folder.mkdir(parents=True)
        archive = subprocess.run(
            ["git", "archive", commit], cwd=repository, capture_output=True, check=True
        )
        with tarfile.open(fileobj=BytesIO(archive.stdout)) as packed:
            packed.extractall(self.root, filter="data")
        (self.root / ".venv").symlink_to(sys.prefix, target_is_directory=True)
        for command in (
            "git init -q -b main",
            "echo .venv >> .git/info/exclude",
            "git add -A",
            "git commit -q -m 'Import tenure'",
            "git switch -q -c session-quotes",
        ):
            self.run(command, timeout=60)

    def path(self, shown: str) -> Path:
        """The real place of a path as the agent names it; ValueError outside the workspace."""
        path = Path(shown)
        if path.is_absolute():
            path = path.relative_to(SHOWN)
        real = (self.root / path).resolve()
        if not real.is_relative_to(self.root.resolve()):
            raise ValueError(f"{shown!r} is outside {SHOWN}: the agent works in its copy only")
        return real

    def show(self, real: Path) -> str:
        """A real path as the agent sees it."""
        return str(SHOWN / real.relative_to(self.root.resolve()))

    def run(self, command: str, *, timeout: float) -> tuple[int, str, str]:
        """Exit status, stdout and stderr of a shell command, cleaned."""
        done = subprocess.run(
            ["bash", "-c", command.replace(str(SHOWN), str(self.root))],
            cwd=self.root,
            env=self._environment(),
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout,
            check=False,
        )
        return done.returncode, self.clean(done.stdout), self.clean(done.stderr)

    def clean(self, text: str) -> str:
        """The text with every path of this machine replaced."""
        cut_off = str(self.root)
        while len(cut_off) > len(str(self._sandbox.parent)) + 2:  # pytest shortens long reasons
            cut_off = cut_off[:-1]
            text = text.replace(f"{cut_off}...", f"{SHOWN.parent}/...")
        for real, shown in self._names():
            text = text.replace(real, shown)
        return text

    def _names(self) -> list[tuple[str, str]]:
        """Real paths and what stands for them, the longest first."""
        names = {
            str(self.root): str(SHOWN),
            str(self._sandbox / "tmp"): "/tmp",
            str(self._sandbox): "",
            sys.prefix: str(SHOWN / ".venv"),
            sys.base_prefix: "/usr",
            str(Path(sys.executable).resolve().parent.parent): "/usr",
        }
        names |= {os.path.realpath(real): shown for real, shown in names.items()}
        return sorted(names.items(), key=lambda pair: -len(pair[0]))

    def _environment(self) -> dict[str, str]:
        return {
            "PATH": f"{self.root}/.venv/bin:/usr/local/bin:/usr/bin:/bin",
            "HOME": str(self._sandbox / "home" / "dev"),
            "TMPDIR": str(self._sandbox / "tmp"),
            "PYTHONPATH": "src",
            "PYTHONDONTWRITEBYTECODE": "1",
            "LOGNAME": "dev",
            "USER": "dev",
            "LANG": "C.UTF-8",
            "COLUMNS": "100",
            **IDENTITY,
        }
