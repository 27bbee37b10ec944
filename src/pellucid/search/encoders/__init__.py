"""Encoders of texts: a function of one's own by its name, or an adapter of a package that embeds, a module each."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from collections.abc import Callable
from typing import Any

from pellucid._core.hints import did_you_mean

# kind -> module of this folder that makes an encoder from the name of a model; imported when it is asked for
ENCODERS = {
    "clip": "clip",
    "fastembed": "fastembed",
    "open_clip": "open_clip",
    "openai": "openai",
    "sentence-transformers": "sentence_transformers",
}
# methods by which objects of known packages embed texts that are asked for, the most fitting first
METHODS = ("query_embed", "encode_query", "encode", "embed")
# the same for packages that embed one text at a time (LangChain, LlamaIndex)
SINGLY = ("embed_query", "get_query_embedding")
Encode = Callable[[list[str]], Any]


class EncoderError(ValueError):
    """An encoder cannot be had, failed, or gave what cannot be searched for."""


def find_encoder(encoder: Any) -> tuple[str, Encode]:
    """What an encoder is called, and the function from a list of texts to their vectors."""
    if isinstance(encoder, str):
        kind, colon, rest = encoder.partition(":")
        if not colon or not kind or not rest:
            raise EncoderError(
                f"{encoder!r} names no encoder: write module:function for a function from a list of texts to vectors, "
                f"or one of {', '.join(f'{name}:MODEL' for name in ENCODERS)}."
            )
        if kind in ENCODERS:
            made = importlib.import_module(f"{__name__}.{ENCODERS[kind]}").make(rest)
            return encoder, made
        return encoder, as_function(_named(kind, rest), encoder)
    name = str(getattr(encoder, "__name__", None) or type(encoder).__name__).strip("<>")
    return name, as_function(encoder, name)


def as_function(thing: Any, name: str) -> Encode:
    """A function from texts to vectors, of a function or of an object of a package that embeds."""
    if isinstance(thing, type):
        raise EncoderError(f"{name} is a class: name a function, or an object that is ready to embed.")
    for method in SINGLY:
        single = getattr(thing, method, None)
        if callable(single):
            return lambda texts: [single(text) for text in texts]
    for method in METHODS:
        found = getattr(thing, method, None)
        if callable(found):
            return found  # type: ignore[no-any-return]
    if callable(thing):
        return thing  # type: ignore[no-any-return]
    raise EncoderError(
        f"{name} is no encoder: it is neither a function, nor has it one of {', '.join((*METHODS, *SINGLY))}."
    )


def _named(module: str, path: str) -> Any:
    """What stands under a dotted path in a module, which may be in the working folder."""
    try:
        found: Any = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not (module == error.name or module.startswith(f"{error.name}.")):
            raise EncoderError(f"The encoder's module {module} cannot be imported: {error}.") from error
        found = _beside(module)
    except Exception as error:  # whatever a stranger's module does
        raise EncoderError(f"The encoder's module {module} cannot be imported: {error}.") from error
    for part in path.split("."):
        if not hasattr(found, part):
            public = [name for name, value in vars(found).items() if callable(value) and not name.startswith("_")]
            raise EncoderError(f"{module} has no {path!r}: {did_you_mean(part, public)}")
        found = getattr(found, part)
    return found


def _beside(module: str) -> Any:
    """A module in the working folder, which the installed command does not look into by itself."""
    sys.path.append(os.getcwd())
    try:
        importlib.invalidate_caches()
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is not None and (module == error.name or module.startswith(f"{error.name}.")):
            raise EncoderError(
                f"There is no module {module!r} for the encoder, neither installed nor in {os.getcwd()}: "
                + did_you_mean(module, ENCODERS, "check its name, or install it.")
            ) from error
        raise EncoderError(f"The encoder's module {module} cannot be imported: {error}.") from error
    except Exception as error:
        raise EncoderError(f"The encoder's module {module} cannot be imported: {error}.") from error
    finally:
        sys.path.remove(os.getcwd())
