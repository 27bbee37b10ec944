"""Scenes from the lexicon: choose a place, choose what is there, say it in one of the forms.

Every noun phrase carries its label in braces until the sentence is finished, so a label is there when the
sentence mentions the thing and only then.
"""

from __future__ import annotations

import re
from collections import Counter
from random import Random

from .contexts import (
    ASIDE,
    CONTEXTS,
    CROWDED,
    EARLIER,
    EMPTIED,
    IT_IS_IN,
    IT_IS_OUT,
    MOOD_IN,
    MOOD_OUT,
    NEAR_IN,
    NEAR_OUT,
    REACT,
    VIEW,
    WHEN_IN,
    WHEN_OUT,
    Context,
)
from .english import Verb, article, both_numbers, finish, headline, pick, words_of
from .forms import ACTION, ACTION_WITH_MORE, STILL, STILL_WITH_MORE
from .lexicon_more import COARSE_OF, CONCEPTS, ENTRIES
from .relations import (
    ANIMAL_ACTS,
    BABY_ACTS,
    CONTAINERS,
    HANDHELD,
    INDOOR_BIRDS,
    WITH_TOOL,
    location,
    relation,
)

SEED = 20240601
COUNT = 3000
PEOPLE = ("man", "woman", "boy", "girl")
PLAIN = {
    "camera",
    "phone",
    "car",
    "bicycle",
    "chair",
    "hat",
    "coat",
    "guitar",
    "violin",
    "drill",
    "ladder",
    "pan",
    "bowl",
    "train",
}


class Writer:
    """Draws scenes one after the other; what has been rare so far is drawn more often."""

    def __init__(self, seed: int = SEED) -> None:
        self.rng = Random(seed)
        self.seen: Counter[str] = Counter()

    def chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    def one(self, text: str, mark: str = ";") -> str:
        return pick(self.rng, words_of(text, mark))

    def draw(self, weights: dict[str, float]) -> str:
        """One key, by weight, the rarer ones so far preferred."""
        level = {name: weight / (self.seen[name] + 8) ** 1.5 for name, weight in weights.items()}
        mark = self.rng.random() * sum(level.values())
        for name, weight in level.items():
            mark -= weight
            if mark < 0:
                return name
        return next(reversed(level))

    # noun phrases -----------------------------------------------------------------------------------------------

    def phrase(
        self, name: str, context: Context, owner: str = "", many: bool | None = None, count: bool = True
    ) -> tuple[str, bool]:
        """A noun phrase for the label, and whether it is plural; ``owner`` is "his", "her" or "their"."""
        entry = ENTRIES[name]
        choice = INDOOR_BIRDS if name == "bird" and context.indoors else entry.nouns
        single, plural = both_numbers(self.one(choice, ","))
        size, _, colour = entry.adjectives.partition("|")
        adjectives = [self.one(kind, ",") for kind in (size, colour) if kind.strip() and self.chance(0.33)]
        if " " in (single or plural or ""):
            # "red straw hat" and "freckled little boy" stumble: a noun with its own modifier takes little more
            adjectives = [self.one(size, ",")] if name in PLAIN and adjectives else []
        if name in CONTAINERS and not owner and many is None and plural is None and self.chance(0.35):
            vessel = self.one(CONTAINERS[name], " ")
            return article(f"{vessel}{{{vessel}}} of {' '.join([*adjectives[:1], single])}{{{name}}}"), False
        is_many = bool(plural) and (not single or (self.chance(entry.many) if many is None else many))
        noun = plural if is_many and plural else single
        text = " ".join([*adjectives, f"{noun}{{{name}}}"])
        if owner:
            return f"{owner} {text}", is_many
        if plural is None:
            return (f"some {text}" if self.chance(0.7) else text), False
        if not single:
            return (article("pair of " + text), False) if many is None and self.chance(0.75) else (text, True)
        if is_many:
            return (
                "" if not count else self.one("two; two; two; three; three; several; a couple of") + " "
            ) + text, True
        return article(text), False

    def worn(self, who: str, many: bool, context: Context) -> str:
        """Something that the person wears, as an afterthought to the noun."""
        garment = self.draw(
            {"hat": 3, "coat": 3, "shoes": 2, "scarf": 3, "dress": 3 if who in ("woman", "girl") else 0}
        )
        text, _ = self.phrase(garment, context, many=many if garment != "shoes" else None, count=False)
        return pick(self.rng, ["in ", "wearing ", "dressed in " if garment in ("dress", "coat") else "in "]) + text

    def subject(self, context: Context) -> tuple[str, bool, str, str]:
        """Who acts: the phrase, whether plural, the possessive, and the label."""
        who = self.draw(dict.fromkeys(PEOPLE, 1.0))
        text, many = self.phrase(who, context)
        if self.chance(0.1) and not many:
            other = self.draw({name: 1.0 for name in PEOPLE if name != who})
            return f"{text} and {self.phrase(other, context, many=False)[0]}", True, "their", who
        if self.chance(0.25):
            text += " " + self.worn(who, many, context)
        return text, many, "their" if many else ("his" if who in ("man", "boy") else "her"), who

    # clauses ----------------------------------------------------------------------------------------------------

    def things(self, context: Context) -> dict[str, float]:
        usual = {name.replace("+", " "): 4.0 for name in context.usual.split()}
        return usual | {name.replace("+", " "): 1.0 for name in context.rarer.split()}

    def act(self, who: str, owner: str, things: dict[str, float], context: Context) -> tuple[str, bool, str, bool, str]:
        """What is done: verb, whether it has a passive, its object, whether that is plural, and what follows."""
        tools = {tool: things[tool] for tool in WITH_TOOL if tool in things}
        if tools and owner and who in ("man", "woman") and self.chance(0.3):
            tool = self.draw(tools)
            options = [row for row in WITH_TOOL[tool] if any(name in things for name in row[1].split())]
            if options:
                verbs, targets, joint = options[int(self.rng.random() * len(options))]
                target = self.draw({name: things[name] for name in targets.split() if name in things})
                text, many = self.phrase(target, context, many=self.chance(0.2))
                return self.one(verbs, ","), True, text, many, f"{joint} {self.phrase(tool, context, many=False)[0]}"
        barred = ("" if who in ("man", "woman") else "!") + ("~" if context.indoors else "")
        fit = {name: [verb for verb in words_of(ENTRIES[name].acts) if not set(verb) & set(barred)] for name in things}
        target = self.draw({name: weight for name, weight in things.items() if fit[name]})
        verb = pick(self.rng, fit[target]).lstrip("!~")
        mine = owner if target in HANDHELD and owner != "their" and self.chance(0.3) else ""
        single = bool(mine) or verb.rstrip("*").endswith((" with", " from", " on", " through", " in", " into", " onto"))
        text, many = self.phrase(target, context, owner=mine, many=False if single else None)
        return verb.rstrip("*"), verb.endswith("*") and not mine, text, many, ""

    def stands(self, name: str, text: str, many: bool, alone: bool = True) -> dict[str, str]:
        """The static clause about a thing in the shapes that the forms ask for."""
        # what is put in relation to another thing does not hang in the air
        verb = Verb(pick(self.rng, [pose for pose in words_of(ENTRIES[name].poses) if alone or pose != "hang"]))
        first = verb if verb.base in ("stand", "lie", "rest", "hang", "wait", "sit", "sleep", "grow") else None
        are = "are" if many else "is"
        return {
            "lies": f"{text} {verb.present(many)}",
            "lying": f"{text} {verb.participle()}",
            "stands_first": f"{first.present(many) if first else are} {text}",
            "be": are,
        } | (
            {
                "left": f"{text} {'have' if many else 'has'} been left",
                "was_left": f"{text} {'were' if many else 'was'} left",
                "put_away": f"{text} {'have' if many else 'has'} been put away",
            }
            if ENTRIES[name].size < 2 and COARSE_OF[name] not in ("person", "animal", "plant")
            else {}
        )

    def circumstances(self, context: Context) -> dict[str, str]:
        inside = context.indoors
        return {
            "place": self.one(context.places),
            "room": context.room,
            "when": self.one(WHEN_IN if inside else WHEN_OUT),
            "mood": self.one(MOOD_IN if inside else MOOD_OUT),
            "it_is": self.one(IT_IS_IN if inside else IT_IS_OUT),
            "near": self.one(NEAR_IN if inside else NEAR_OUT),
            "view": self.one(VIEW),
            "earlier": self.one(EARLIER),
            "emptied": self.one(EMPTIED),
        } | ({"crowded": self.one(CROWDED)} if inside else {})

    # scenes -----------------------------------------------------------------------------------------------------

    def action(self, context: Context) -> str:
        """Somebody, or an animal, does something."""
        slots, things = self.circumstances(context), self.things(context)
        animals = {name: weight for name, weight in things.items() if name in ANIMAL_ACTS}
        who, owner, mine = "", "", ""
        if animals and self.chance(0.27):
            who = self.draw(animals)
            slots["S"], many = self.phrase(who, context)
            here = things | dict.fromkeys(PEOPLE, 1.5)
            rows = [row for row in ANIMAL_ACTS[who] if not (context.indoors and "~" in row[0])]
            rows = [row for row in rows if any(name in here for name in row[1].split())]
            verb, targets = rows[int(self.rng.random() * len(rows))]
            target = self.draw({name: here[name] for name in targets.split() if name in here})
            on_one = verb.endswith((" on", " beneath"))
            mine, o_many = self.phrase(target, context, many=False if on_one else None)
            verb, passive, tail = verb.strip("~*"), verb.endswith("*"), ""
        elif "baby" in things and self.chance(0.12):
            who = "baby"
            slots["S"], many = self.phrase(who, context, many=False)
            target = self.draw(
                {
                    name: w
                    for name, w in things.items()
                    if ENTRIES[name].size < 2 and COARSE_OF[name] not in ("tool", "person") and name != "knife"
                }
            )
            verb, passive, tail = self.one(BABY_ACTS, ","), False, ""
            mine, o_many = self.phrase(target, context)
        else:
            slots["S"], many, owner, who = self.subject(context)
            things_here = things | {name: 0.4 for name in PEOPLE if name != who}
            verb, passive, mine, o_many, tail = self.act(who, owner, things_here, context)
            slots["aside"] = self.one(ASIDE)
            slots["reacts"] = Verb(self.one(REACT)).present(many)
        said = Verb(verb)
        rest = f" {mine} {tail}"
        slots |= {
            "does": said.present(many) + rest,
            "is_doing": ("are " if many else "is ") + said.participle() + rest,
            "doing": said.participle() + rest,
            "did": said.past(many) + rest,
            "do": said.base + rest,
            "s_be": "are" if many else "is",
        }
        if passive and not tail:
            slots |= {
                "O": mine,
                "o_be": "are" if o_many else "is",
                "o_was": "were" if o_many else "was",
                "done": said.passive(),
            }
        used = set(re.findall(r"{([^}]*)}", slots["S"] + mine + tail))
        spare = {name: weight for name, weight in things.items() if name not in used}
        if not self.chance(0.55) or not spare:
            return self.fill(ACTION, slots)
        extra = self.draw(spare)
        text, e_many = self.phrase(extra, context)
        slots["E"] = text
        where = location(extra, self.rng)
        if where:
            slots["by_e"] = f"{where} {text}"
        shapes = self.stands(extra, text, e_many)
        slots |= {"e_lies": shapes["lies"], "e_lying": shapes["lying"]}
        return self.fill(ACTION_WITH_MORE, slots)

    def still(self, context: Context) -> str:
        """Things that are there and do nothing in particular."""
        slots, things = self.circumstances(context), self.things(context)
        things.pop("baby", None)
        names: list[str] = []
        for _ in range(3):
            names.append(self.draw({name: weight for name, weight in things.items() if name not in names}))
        names.sort(key=lambda name: ENTRIES[name].size)
        first, ground = names[0], names[2]
        if self.chance(0.5):
            ground = names[1]
        other = next(name for name in names if name not in (first, ground))
        for slot, name in (("x", first), ("y", ground), ("z", other)):
            text, many = self.phrase(name, context, many=False if slot == "y" else None)
            shapes = self.stands(name, text, many, alone=slot == "z")
            slots[slot.upper()] = text
            slots |= {f"{slot}_{key}": value for key, value in shapes.items()}
            if slot == "x":
                slots["rel_it"] = self.one("beside ; next to ; not far from ; in front of ") + (
                    " them" if many else " it"
                )
        how = relation(first, ground, self.rng)
        slots["rel_y"] = f"{how} {slots['Y']}"
        if how == "propped against":
            slots |= {"x_lies": f"{slots['X']} {slots['x_be']}", "x_stands_first": f"{slots['x_be']} {slots['X']}"}
        return self.fill(STILL_WITH_MORE if self.chance(0.45) else STILL, slots)

    def fill(self, forms: list[str], slots: dict[str, str]) -> str:
        """One of the forms whose slots are all there, filled in."""
        fitting = [form for form in forms if all(slot in slots for slot in re.findall(r"{(\w+)}", form))]
        form = pick(self.rng, fitting)
        text = re.sub(r"{(\w+)}", lambda m: slots[m[1]], form.lstrip("!"))
        return headline(text) if form.startswith("!") else text

    def scene(self) -> tuple[str, frozenset[str], bool]:
        context = list(CONTEXTS.values())[int(self.rng.random() * len(CONTEXTS))]
        marked = self.action(context) if self.chance(0.6) else self.still(context)
        text, labels = finish(marked)
        return text, labels, marked.count("{") > len(labels)

    def scenes(self, count: int = COUNT) -> list[tuple[str, list[str]]]:
        """``count`` different sentences that touch two to four coarse concepts, each with its labels in order."""
        order = {name: i for i, name in enumerate(ENTRIES)}
        done: dict[str, list[str]] = {}
        while len(done) < count:
            text, labels, repeats = self.scene()
            if text not in done and not repeats and 2 <= len({COARSE_OF[name] for name in labels}) <= 4:
                done[text] = sorted(labels, key=order.__getitem__)
                self.seen.update(labels)
        return list(done.items())


def taxonomy() -> dict[str, list[str]]:
    """Coarse concepts and the fine labels under each, in order."""
    return {coarse: list(group) for coarse, group in CONCEPTS.items()}
