"""Just enough English: verb forms, plurals, articles, and noun phrases that carry their labels inside braces."""

from __future__ import annotations

import re
from dataclasses import dataclass
from random import Random

IRREGULAR = {
    "be": ("is", "being", "was", "been"),
    "beat": ("beats", "beating", "beat", "beaten"),
    "blow": ("blows", "blowing", "blew", "blown"),
    "buy": ("buys", "buying", "bought", "bought"),
    "catch": ("catches", "catching", "caught", "caught"),
    "choose": ("chooses", "choosing", "chose", "chosen"),
    "come": ("comes", "coming", "came", "come"),
    "creep": ("creeps", "creeping", "crept", "crept"),
    "cut": ("cuts", "cutting", "cut", "cut"),
    "dig": ("digs", "digging", "dug", "dug"),
    "draw": ("draws", "drawing", "drew", "drawn"),
    "drink": ("drinks", "drinking", "drank", "drunk"),
    "drive": ("drives", "driving", "drove", "driven"),
    "eat": ("eats", "eating", "ate", "eaten"),
    "fall": ("falls", "falling", "fell", "fallen"),
    "feed": ("feeds", "feeding", "fed", "fed"),
    "fly": ("flies", "flying", "flew", "flown"),
    "get": ("gets", "getting", "got", "got"),
    "grow": ("grows", "growing", "grew", "grown"),
    "hang": ("hangs", "hanging", "hung", "hung"),
    "hide": ("hides", "hiding", "hid", "hidden"),
    "hold": ("holds", "holding", "held", "held"),
    "lay": ("lays", "laying", "laid", "laid"),
    "lead": ("leads", "leading", "led", "led"),
    "lie": ("lies", "lying", "lay", "lain"),
    "light": ("lights", "lighting", "lit", "lit"),
    "lose": ("loses", "losing", "lost", "lost"),
    "make": ("makes", "making", "made", "made"),
    "put": ("puts", "putting", "put", "put"),
    "read": ("reads", "reading", "read", "read"),
    "restring": ("restrings", "restringing", "restrung", "restrung"),
    "ride": ("rides", "riding", "rode", "ridden"),
    "ring": ("rings", "ringing", "rang", "rung"),
    "run": ("runs", "running", "ran", "run"),
    "set": ("sets", "setting", "set", "set"),
    "shake": ("shakes", "shaking", "shook", "shaken"),
    "shear": ("shears", "shearing", "sheared", "shorn"),
    "shoot": ("shoots", "shooting", "shot", "shot"),
    "sing": ("sings", "singing", "sang", "sung"),
    "sit": ("sits", "sitting", "sat", "sat"),
    "sleep": ("sleeps", "sleeping", "slept", "slept"),
    "spin": ("spins", "spinning", "spun", "spun"),
    "spread": ("spreads", "spreading", "spread", "spread"),
    "stand": ("stands", "standing", "stood", "stood"),
    "steal": ("steals", "stealing", "stole", "stolen"),
    "swing": ("swings", "swinging", "swung", "swung"),
    "take": ("takes", "taking", "took", "taken"),
    "tear": ("tears", "tearing", "tore", "torn"),
    "throw": ("throws", "throwing", "threw", "thrown"),
    "tie": ("ties", "tying", "tied", "tied"),
    "unwind": ("unwinds", "unwinding", "unwound", "unwound"),
}
# verbs that double their last letter: patting, patted
DOUBLED = (
    "pat hug trim tip tug knit strum grip flip tap hum rub jog drag hem "
    "nap flop chop drop hop nod trot plan step repot stir grab scrub wrap"
)


@dataclass(frozen=True)
class Verb:
    """A verb phrase such as "pick up"; only its first word changes."""

    base: str

    def _form(self, which: int) -> str:
        head, _, rest = self.base.partition(" ")
        if head in IRREGULAR:
            word = IRREGULAR[head][which]
        else:
            stem = head + head[-1] if head in DOUBLED.split() else head
            ends_in_y = head.endswith("y") and head[-2] not in "aeiou"
            if which == 0:
                sibilant = head.endswith(("s", "sh", "ch", "x", "z"))
                word = head[:-1] + "ies" if ends_in_y else head + ("es" if sibilant else "s")
            elif which == 1:
                word = head[:-1] + "ing" if head.endswith("e") and not head.endswith("ee") else stem + "ing"
            elif head.endswith("e"):
                word = head + "d"
            else:
                word = head[:-1] + "ied" if ends_in_y else stem + "ed"
        return f"{word} {rest}".strip()

    def present(self, plural: bool) -> str:
        if self.base.startswith("be "):
            return ("are " if plural else "is ") + self.base[3:]
        return self.base if plural else self._form(0)

    def participle(self) -> str:
        return self.base[3:] if self.base.startswith("be ") else self._form(1)

    def past(self, plural: bool) -> str:
        if self.base.startswith("be "):
            return ("were " if plural else "was ") + self.base[3:]
        return self._form(2)

    def passive(self) -> str:
        return self._form(3)


def words_of(text: str, mark: str = ",") -> list[str]:
    """The entries of a list that is written as one string."""
    return [part.strip() for part in text.split(mark) if part.strip()]


def pick(rng: Random, items: list[str]) -> str:
    # random() alone is promised to stay the same from one Python to the next; choice() is not
    return items[int(rng.random() * len(items))]


def both_numbers(noun: str) -> tuple[str, str | None]:
    """Singular and plural of a noun of the lexicon: ("bread", None) is a mass noun, ("", "boots")
    is always plural, ("father", "") never."""
    single, _, many = noun.partition("/")
    if many == "-":
        return single, None
    if many == "+":
        return "", single
    if many == "1":
        return single, ""
    if many:
        return single, many
    head, joint, tail = single.partition(" of ")
    return single, head + "s" + joint + tail


def article(text: str) -> str:
    """``text`` with "a" or "an" before it."""
    word = re.sub(r"[^A-Za-z]", "", text.split()[0]).lower()
    vowel = word[0] in "aeiou" and not word.startswith(("one", "eu", "uni", "use", "ewe"))
    return ("an " if vowel or word == "slr" else "a ") + text


def finish(marked: str) -> tuple[str, frozenset[str]]:
    """The sentence without its braces, spaced and capitalised, and the labels that the braces held."""
    labels = frozenset(re.findall(r"{([^}]*)}", marked))
    text = re.sub(r"\s+", " ", re.sub(r"{[^}]*}", "", marked)).strip().replace(" ,", ",").replace(" .", ".")
    return re.sub(r"(^|[.:] )([a-z])", lambda m: m[1] + m[2].upper() if m[1] != ": " else m[0], text), labels


def headline(marked: str) -> str:
    """The same words as a headline: no articles, no full stop."""
    return re.sub(r"(?i)(?<![\w'])(a|an|the) (?!few|little way)", "", marked).rstrip(".")
