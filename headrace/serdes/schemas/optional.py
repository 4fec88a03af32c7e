"""Imports the libraries that only some serdes need, when such a serde is created."""

from __future__ import annotations

import importlib
from typing import Any

from headrace.errors import SerdeError


def import_optional(module: str, *, extra: str, user: str) -> Any:
    """Imports a module that `user`, a serde, needs.

    Raises:
        SerdeError: if it is not installed; says which extra of Headrace to install.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        message = f'{user} needs {module}: {error}. Install it with: pip install "headrace[{extra}]"'
        raise SerdeError(message) from error
