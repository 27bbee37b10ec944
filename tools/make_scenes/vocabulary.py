"""Two thousand common English words: those of ``words.txt`` and the plain words that the lexicon uses."""

from __future__ import annotations

import re
from pathlib import Path

from .english import both_numbers, words_of
from .lexicon_more import CONCEPTS, ENTRIES

COUNT = 2000


def vocabulary() -> list[str]:
    """The words in alphabetical order; every concept, label and one-word noun of the lexicon is among them."""
    chosen = dict.fromkeys([*CONCEPTS, *(name for name in ENTRIES if " " not in name)])
    for entry in ENTRIES.values():
        nouns = [both_numbers(noun)[0] or both_numbers(noun)[1] or "" for noun in words_of(entry.nouns)]
        chosen |= dict.fromkeys(noun.lower() for noun in nouns if noun.isalpha())
    lines = (Path(__file__).parent / "words.txt").read_text(encoding="utf-8").splitlines()
    for line in lines:
        if not line.startswith("#"):
            chosen |= dict.fromkeys(line.split())
    for entry in ENTRIES.values():
        spare = re.findall(r"[a-z]{3,}", entry.adjectives + " " + entry.acts)
        chosen |= dict.fromkeys(spare)
    if len(chosen) < COUNT:
        raise ValueError(f"the word list has {len(chosen)} words; {COUNT} are wanted")
    return sorted(list(chosen)[:COUNT])
