"""Builds wheel and sdist so that one commit always gives the same bytes: `python -m tests.package.build dist`."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def last_commit_s() -> str:
    """When the last commit was made, in seconds: the time of all files in the archives."""
    shown = subprocess.run(["git", "log", "-1", "--format=%ct"], cwd=ROOT, capture_output=True, text=True, check=True)
    return shown.stdout.strip()


def build(directory: Path) -> dict[str, str]:
    """Builds both into a directory; returns the SHA-256 of each file by its name."""
    for old in directory.glob("headrace-*"):
        old.unlink()
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(directory.absolute()), str(ROOT)]
    environment = {"SOURCE_DATE_EPOCH": last_commit_s(), **os.environ}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stdout + done.stderr)
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in sorted(directory.glob("headrace-*"))}


if __name__ == "__main__":
    for name, digest in build(Path(sys.argv[1])).items():
        print(f"{digest}  {name}")
