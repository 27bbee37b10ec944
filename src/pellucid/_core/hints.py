"""What to say to somebody who asked for a name that there is not."""

from __future__ import annotations

from collections.abc import Iterable

# names of which all are told, and names among which a similar one is looked for
LISTED, SEARCHED = 20, 10_000


def did_you_mean(name: str, known: Iterable[str], otherwise: str | None = None) -> str:
    """The end of a sentence: the known name that is most like this one, or else which there are, or ``otherwise``.

    >>> did_you_mean("colour", ["color", "size"])
    "did you mean 'color'?"
    >>> did_you_mean("weight", ["color", "size"])
    "there are 'color', 'size'."
    """
    import difflib

    names = [str(each) for each in known]
    alike = [each for each in names if each.lower() == name.lower()]
    if not alike and len(names) <= SEARCHED:
        alike = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    if alike:
        return f"did you mean {alike[0]!r}?"
    if otherwise is not None:
        return otherwise
    if len(names) > LISTED:
        return f"there are {len(names)}, the first is {names[0]!r}."
    return f"there are {', '.join(map(repr, names))}." if names else "there are none."
