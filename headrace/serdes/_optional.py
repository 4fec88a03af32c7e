"""Libraries that only some serdes need: imported when such a serde is made, not with Headrace."""

from __future__ import annotations

import importlib
from typing import Any

from headrace.errors import SerdeError


def needed(module: str, *, extra: str, user: str) -> Any:
    """The module.

    Raises:
        SerdeError: if it cannot be imported; says which extra of Headrace to install.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        message = f'{user} needs {module}: {error}. Install what it needs: pip install "headrace[{extra}]"'
        raise SerdeError(message) from error
