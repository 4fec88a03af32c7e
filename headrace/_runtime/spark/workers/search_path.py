"""Where the application's own modules are, so that Spark's workers find them, too. Imports no Spark.

Python looks for modules beside the script that it runs. A worker is another program, perhaps in another directory.
"""

from __future__ import annotations

import os
import sys
import sysconfig
from pathlib import Path

_INSTALLED = (sysconfig.get_paths()["stdlib"], sysconfig.get_paths()["platstdlib"], sysconfig.get_paths()["scripts"])


def program_directory() -> Path | None:
    """The directory from which this program imports its own modules; `None` if all of them are installed.

    For a script it is the directory of the script; for `python -m`, `python -c` or a notebook, the current directory.
    """
    program = sys.modules.get("__main__")
    file = getattr(program, "__file__", None)
    if file is not None and (str(Path(file).resolve()).startswith(_INSTALLED) or "-packages" in file):
        return None
    is_script = file is not None and getattr(program, "__spec__", None) is None
    directory = Path(file).resolve().parent if is_script and file is not None else Path.cwd()
    searched = {Path(path or ".").resolve() for path in sys.path}
    return directory if directory in searched else None


def add_to_search_path(directory: Path) -> None:
    """Lets Python processes that are started from now on import the modules of a directory."""
    paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    if str(directory) not in paths:
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(directory), *paths]))
