"""Check the docstring of every public callable against numpydoc's rules, which pyproject.toml chooses.

What is public: the names in the ``__all__`` of each room, and the methods and properties that classes of this package
define. A fault is one line. ``make lint`` fails if there is one.
"""

from __future__ import annotations

import ast
import dataclasses
import importlib
import inspect
import sys
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

from numpydoc.docscrape import get_doc_object
from numpydoc.validate import Validator, get_validation_checks, validate

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "docs"))

from reference import ROOMS, own_members  # noqa: E402  the API reference shows what is checked

# an exception says what it is and no more; fields of a result are compared by `unlike_fields`
OF_EXCEPTIONS = ("GL", "SS")
UNUSED = ("Ignored", "None")  # the y of a fit without labels
OF_SIGNATURES = {"PR01", "PR02", "PR03"}


def main(rooms: list[str]) -> int:
    """Print the faults of these rooms, or of all."""
    found = list(faults(rooms or ROOMS))
    print(*found, sep="\n", end="\n" if found else "")
    return 1 if found else 0


def faults(rooms: list[str]) -> Iterator[str]:
    rules = chosen_rules()
    seen = set()
    for path, thing in public(rooms):
        if id(thing) not in seen:  # a method of several classes is checked once
            seen.add(id(thing))
            yield from (f"{where(thing)}: {path}: {code} {said}" for code, said in faults_of(thing, path, rules))


def chosen_rules() -> set[str]:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    rules: set[str] = get_validation_checks(set(settings["tool"]["numpydoc_validation"]["checks"]))
    return rules


def public(rooms: list[str]) -> Iterator[tuple[str, Any]]:
    """Every public class, function, method and property, with the path by which users know it."""
    for room in rooms:
        module = importlib.import_module(f"pellucid.{room}")
        for name in module.__all__:
            thing = getattr(module, name)
            if not callable(thing):  # a table of names
                continue
            yield f"{room}.{name}", thing
            if inspect.isclass(thing) and not issubclass(thing, (tuple, BaseException)):
                for member in own_members(thing):
                    yield f"{room}.{name}.{member}", documented(thing, member)


def documented(cls: type, name: str) -> Any:
    """A method or property as the class has it or, where that says nothing, as the base that it comes from does."""
    written = [vars(base)[name] for base in cls.__mro__ if name in vars(base)]
    # a method of its own kind of descriptor (available_if, staticmethod) holds the function
    plain = [getattr(thing, "__func__", getattr(thing, "fn", thing)) for thing in written]
    return next((thing for thing in plain if thing.__doc__), plain[0])


def faults_of(thing: Any, path: str, rules: set[str]) -> Iterator[tuple[str, str]]:
    doc = get_doc_object(thing, config={"show_class_members": False})
    is_class, fields = inspect.isclass(thing), fields_of(thing)
    for code, said in validate(doc)["errors"]:
        if code not in rules or (fields and code in OF_SIGNATURES):
            continue
        if code == "EX01" and (path.count(".") > 1 or is_result(doc)):  # the class, or the function, has the example
            continue
        if is_class and issubclass(thing, BaseException) and not code.startswith(OF_EXCEPTIONS):
            continue
        yield code, " ".join(said.split())
    if fields:
        yield from unlike_fields(doc, thing, fields)
    else:
        yield from unlike_defaults(doc, thing)
    yield from unsaid_fitted(doc, thing)


def is_result(doc: Any) -> bool:
    """Whether this is a class that functions return and users do not make."""
    return bool(doc["Attributes"]) and not doc["Parameters"]


def fields_of(thing: Any) -> list[str]:
    if not inspect.isclass(thing):
        return []
    if dataclasses.is_dataclass(thing):
        return [field.name for field in dataclasses.fields(thing) if not field.name.startswith("_")]
    return list(getattr(thing, "_fields", ())) if issubclass(thing, tuple) else []


def unlike_fields(doc: Any, cls: type, fields: list[str]) -> Iterator[tuple[str, str]]:
    """The fields of a result stand under Parameters or Attributes, all of them, each with its type."""
    said = {
        name: entry.type
        for section in ("Parameters", "Attributes")
        for entry in doc[section]
        for name in entry.name.split(", ")
    }
    for name in fields:
        if not said.get(name, ""):
            yield "AT01", f'Attribute "{name}" {"has no type" if name in said else "not documented"}'
    for name in said:
        if name not in fields and not hasattr(cls, name):
            yield "AT02", f'Unknown attribute "{name}"'


def unlike_defaults(doc: Any, thing: Any) -> Iterator[tuple[str, str]]:
    """A parameter that may be left out says what it is then, and says it right."""
    if isinstance(thing, (property, cached_property)) or (inspect.isclass(thing) and issubclass(thing, BaseException)):
        return
    parameters = inspect.signature(thing).parameters
    for entry in doc["Parameters"]:
        for name in entry.name.split(", "):
            known = parameters.get(name)
            if known is None or known.default is known.empty or entry.type in UNUSED:
                continue
            _, found, said = entry.type.rpartition("default=")
            if not found:
                yield "DF01", f'Parameter "{name}" does not say its default'
            elif not same(said, known.default):
                yield "DF02", f'Parameter "{name}" has the default {known.default!r}, not {said}'


def unsaid_fitted(doc: Any, thing: Any) -> Iterator[tuple[str, str]]:
    """What a model's file holds are its fitted attributes; of the names of columns scikit-learn's manual tells."""
    said = {name for entry in doc["Attributes"] for name in entry.name.split(", ")} | {"feature_names_in_"}
    for name in [*getattr(thing, "_fitted_arrays", ()), *getattr(thing, "_fitted_values", ())]:
        if name not in said and not name.startswith("_"):
            yield "AT03", f'Fitted attribute "{name}" not documented'


def same(said: str, value: Any) -> bool:
    """Whether text is a value; one that is no literal, such as a constant's name, is believed."""
    try:
        return bool(ast.literal_eval(said) == value)
    except (SyntaxError, ValueError):
        return True


def where(thing: Any) -> str:
    doc = Validator(get_doc_object(thing, config={"show_class_members": False}))
    file = Path(doc.source_file_name or "")
    return f"{file.relative_to(ROOT) if file.is_relative_to(ROOT) else file}:{doc.source_file_def_line}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
