"""Loads an application from a Python file that defines a `topology`, and may define a `config`."""

from __future__ import annotations

import importlib.util
import inspect
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from headrace._user_code import user_line
from headrace.cli.errors import CommandError
from headrace.config import StreamsConfig
from headrace.dsl.builder import StreamsBuilder
from headrace.dsl.topology import Topology
from headrace.errors import known_names, nearest

_KAFKA_SETTINGS = ("bootstrap_servers", "kafka")


@dataclass(frozen=True)
class LoadedApplication:
    """The topology and the config that a file defines."""

    path: Path
    topology: Topology
    config: StreamsConfig | None

    def configured(self, **overrides: Any) -> StreamsConfig:
        """The file's config with the options of the command line, which override it unless they are `None`."""
        options = {name: value for name, value in overrides.items() if value is not None}
        if self.config is None:
            settings: dict[str, Any] = {"application_id": re.sub(r"[^A-Za-z0-9._-]", "-", self.path.stem)}
        else:
            settings = dict(vars(self.config))
        if "bootstrap_servers" in options:
            settings.pop("topics_dir", None)
        elif "topics_dir" in options:
            settings = {name: value for name, value in settings.items() if name not in _KAFKA_SETTINGS}
        elif settings.get("topics_dir") is None and settings.get("bootstrap_servers") is None:
            settings["topics_dir"] = "topics"
        for name in ("spark", "kafka"):
            options[name] = {**settings.get(name, {}), **options.get(name, {})}
        return StreamsConfig(**{**settings, **options})


def load(reference: str) -> LoadedApplication:
    """Loads the application that `app.py`, or `app.py:name`, refers to.

    Raises:
        CommandError: if there is no such file or name, or running the file fails.
    """
    path, name = _split(reference)
    module = _import(path)
    config = getattr(module, "config", None)
    if config is not None and not isinstance(config, StreamsConfig):
        message = (
            f"{path}: 'config' is a {type(config).__name__}, not a StreamsConfig. Write config = "
            "hr.StreamsConfig(application_id=...), or hr.StreamsConfig.from_mapping(...) for Kafka's dotted names."
        )
        raise CommandError(message)
    return LoadedApplication(path, _topology(module, path, name), config)


def _split(reference: str) -> tuple[Path, str]:
    file, colon, name = reference.rpartition(":")
    path = Path(file if colon and name.isidentifier() else reference)
    if not path.is_file():
        files = sorted(other.name for other in path.parent.glob("*.py")) if path.parent.is_dir() else []
        hint = f"Python files in {str(path.parent.absolute())!r}: {known_names(files)}."
        problem = "is a directory, not a file" if path.is_dir() else "does not exist"
        message = f"File {str(path)!r} {problem}.{nearest(path.name, files)} {hint}"
        raise CommandError(message)
    return path, name if colon and name.isidentifier() else "topology"


def _import(path: Path) -> ModuleType:
    name = f"headrace_app_{re.sub(r'[^A-Za-z0-9_]', '_', path.stem)}"
    spec = importlib.util.spec_from_file_location(name, path.absolute())
    if spec is None or spec.loader is None:
        message = f"{str(path)!r} is not a Python file; pass a file ending in .py."
        raise CommandError(message)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    sys.path.insert(0, str(path.absolute().parent))
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        message = f"Cannot load {path}: {_describe(error)}"
        raise CommandError(message) from error
    return module


def _describe(error: BaseException) -> str:
    if isinstance(error, SyntaxError):
        source = (error.text or "").strip()
        return f"{type(error).__name__}: {error.msg}\n  at {error.filename}:{error.lineno}: {source}"
    line = user_line(error.__traceback__)
    return f"{type(error).__name__}: {error}" + (f"\n  at {line}" if line else "")


def _topology(module: ModuleType, path: Path, name: str) -> Topology:
    defined = getattr(module, name, None)
    if isinstance(defined, Topology):
        return defined
    if isinstance(defined, StreamsBuilder):
        message = f"{path}: {name!r} is a StreamsBuilder, not a Topology. Call its build(): topology = {name}.build()"
        raise CommandError(message)
    topologies = [key for key, value in vars(module).items() if isinstance(value, Topology)]
    builders = [key for key, value in vars(module).items() if isinstance(value, StreamsBuilder)]
    problem = f"has no {name!r}"
    if inspect.isfunction(defined):
        problem = f"has a function {name!r}, not a Topology"
    elif defined is not None:
        problem = f"has a {name!r} of type {type(defined).__name__}, not a Topology"
    if topologies:
        choices = " or ".join(f"{path}:{key}" for key in topologies)
        hint = f"It defines the topologies {known_names(topologies)}: choose one with {choices}."
    elif builders:
        hint = f"It has the StreamsBuilder {builders[0]!r}: add the line {name} = {builders[0]}.build()"
    elif inspect.isfunction(defined):
        hint = f"If it returns one, add the line: topology = {name}()"
    else:
        names = [key for key in vars(module) if not key.startswith("_")]
        hint = f"It defines: {known_names(names)}. Add a line like: {name} = builder.build()"
    message = f"{path} {problem}. {hint}"
    raise CommandError(message)
