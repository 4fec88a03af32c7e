"""Which settings are secret, and how to show settings and messages without secrets."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_WORDS = "passw|passphrase|secret|credential|token(?![.]endpoint)|(?:access|account|api|private|shared)[._-]?key"
# Names of secret settings of Kafka, schema registries and Spark. Spark redacts by this pattern, too: its own pattern
# misses some of these names. So the syntax must also be valid in Java.
SECRET_SETTING = f"(?i){_WORDS}|jaas|user[.]info|oauthbearer[.]config|[.]pem$"
_HIDDEN = "..."
_SETTING = re.compile(SECRET_SETTING)
# `user:password@`, and after `//` also `user@`. Below: `password=...` among options or in the query of an address.
_USER_INFO = re.compile(r"""(?:(?<=//)[^\s/@'"]+|[^\s/@'"(\[,=]+:[^\s/@'"]+)@""")
_ASSIGNMENT = re.compile(rf"""((?:{_WORDS})[\w.-]*=)[^\s;&,'"]+""", re.IGNORECASE)


def is_secret(name: str) -> bool:
    """Whether a setting of this name holds a secret."""
    return _SETTING.search(name) is not None


def hide_in_text(text: str) -> str:
    """Replaces passwords in addresses, and values that are assigned to names such as `password`, by dots."""
    return _ASSIGNMENT.sub(rf"\1{_HIDDEN}", _USER_INFO.sub(f"{_HIDDEN}@", text))


def hide(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the settings with secrets replaced by dots."""
    return {
        name: _HIDDEN if is_secret(str(name)) else hide_in_text(value) if isinstance(value, str) else value
        for name, value in settings.items()
    }
