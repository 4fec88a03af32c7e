"""Checks for a Java that Spark can run on. It uses only the standard library, so that it also runs as a script."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

_MINIMUM = 17


def problem() -> str | None:
    """Describes what is missing and how to install it; `None` if Spark can run."""
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=str(Path(home) / "bin")) if home else shutil.which("java")
    found = "none was found"
    if java is not None:
        said = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr  # noqa: S603
        version = re.search(r'version "(\d+)', said)
        if version and int(version[1]) >= _MINIMUM:
            return None
        found = f"{java} is version {version[1]}" if version else f"{java} does not say its version"
    return (
        f"Running on Spark needs Java {_MINIMUM} or newer: {found}. Install a JDK {_MINIMUM} (Debian and Ubuntu: "
        f"apt install openjdk-{_MINIMUM}-jre-headless; macOS: brew install openjdk@{_MINIMUM}; Fedora: dnf install "
        f"java-{_MINIMUM}-openjdk-headless) and, if it is not on the PATH, set JAVA_HOME. "
        "The test driver in headrace.testing needs no Java."
    )


if __name__ == "__main__":
    sys.exit(problem())
