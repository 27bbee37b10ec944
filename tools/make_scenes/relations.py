"""What goes with what: where small things lie, what animals do, which tool is used on which thing."""

from __future__ import annotations

from random import Random

from .english import pick, words_of
from .lexicon_more import COARSE_OF, ENTRIES

INDOOR_BIRDS = "parrot, canary/canaries, budgerigar, cockatoo, parakeet"
BABY_ACTS = "reach for, stare at, crawl towards, point at, smile at, grab at, laugh at"

# a mass of food may come in one of these
CONTAINERS = {"soup": "bowl mug pan", "bread": "plate"}

# things that people have with them: "her phone"
HANDHELD = set(
    words_of(
        "phone laptop camera hat coat shoes scarf bicycle guitar violin trumpet skateboard surfboard mug dog",
        " ",
    )
)

_FOOD = "bread cake pizza fruit"
_PEOPLE = "man woman boy girl"

ANIMAL_ACTS: dict[str, list[tuple[str, str]]] = {
    "dog": [
        ("chase*", "football basketball bird cat"),
        ("~chase*", "bicycle motorcycle car bus"),
        ("sniff at", f"{_FOOD} shoes coat flower tree soup spade"),
        ("chew*", "shoes hat scarf football"),
        ("bark at", "bus train truck trumpet television horse drill cow bicycle"),
        ("sit beside", f"{_PEOPLE} baby chair sofa guitar drum ladder"),
        ("follow*", f"{_PEOPLE} horse truck sheep"),
        ("sleep beneath", "table bed chair piano tree truck ladder"),
        ("guard*", "bicycle car boat truck sheep"),
        ("steal*", f"{_FOOD} shoes hat"),
        ("~run alongside", "bicycle horse train skateboard boat"),
    ],
    "cat": [
        ("sleep on", "sofa chair bed laptop piano car motorcycle coat dress"),
        ("watch*", f"bird television {_PEOPLE} soup dog football"),
        ("knock over*", "mug bowl plate cactus fern flower"),
        ("rub against", f"{_PEOPLE} shoes ladder bicycle tree table"),
        ("hide beneath", "bed sofa table car coat bookcase"),
        ("sniff at", f"{_FOOD} flower fern guitar camera"),
        ("play with", "scarf shoes phone flower ivy violin"),
        ("sit on", "table bookcase piano drum laptop"),
    ],
    "horse": [
        ("nuzzle*", f"{_PEOPLE}"),
        ("graze beside", "tree truck bicycle cow sheep car"),
        ("~gallop past", "bus train truck tree sheep motorcycle"),
        ("nibble at", "fruit bread flower hat ivy scarf"),
        ("step over", "spade ladder saw hammer football"),
    ],
    "bird": [
        ("perch on", "ladder chair bicycle boat tree car spade truck sofa bookcase piano drum surfboard cow sheep"),
        ("peck at", "bread cake pizza fruit"),
        ("~fly over", "train bus boat tree truck football"),
        ("~circle above", "boat train truck cow sheep"),
        ("hop around", "shoes mug plate spade bowl kettle cactus fern guitar"),
        ("steal*", "bread fruit"),
    ],
    "sheep": [
        ("graze beside", "tree truck bicycle motorcycle train car cow"),
        ("follow*", f"{_PEOPLE} truck"),
        ("stand in front of", "bus car truck motorcycle tree"),
        ("nibble at", "bread flower ivy hat scarf fruit"),
        ("stare at", f"{_PEOPLE} camera radio guitar"),
    ],
    "cow": [
        ("graze beside", "tree truck bicycle car train"),
        ("stare at", f"{_PEOPLE} camera motorcycle bicycle trumpet"),
        ("stand in front of", "bus car truck tree motorcycle"),
        ("nudge*", f"{_PEOPLE} ladder"),
        ("wander past", "bus bicycle tree sheep ladder"),
    ],
}
WITH_TOOL: dict[str, list[tuple[str, str, str]]] = {
    "knife": [("cut, slice, cut up", "bread cake pizza", "with"), ("slice, chop", "fruit", "with")],
    "hammer": [("mend, repair, knock together", "table chair bed bookcase boat ladder", "with")],
    "drill": [("mend, repair", "table chair bookcase boat ladder guitar", "with")],
    "saw": [("cut back, cut down", "tree", "with"), ("shorten, cut up", "table chair ladder", "with")],
    "spanner": [("repair, fix, take apart", "car bicycle motorcycle truck bus boat radio", "with")],
    "spade": [("dig up, plant", "flower tree fern", "with")],
    "camera": [
        (
            "photograph, take pictures of",
            "horse sheep cow bird dog cat car train boat bus flower tree cake dress motorcycle",
            "with",
        ),
    ],
    "phone": [("photograph, film", "dog cat cake pizza dress flower bird train shoes car", "with")],
    "pan": [("heat, stir, warm up", "soup", "in"), ("toast", "bread", "in")],
    "bowl": [("serve", "soup fruit", "in"), ("wash", "fruit", "in")],
    "plate": [("serve, arrange", "cake pizza bread fruit", "on"), ("balance", "cake pizza mug fruit", "on")],
    "ladder": [("paint", "boat truck bookcase", "from"), ("prune, trim", "tree ivy", "from")],
    "bicycle": [("deliver, carry", "pizza bread flower fruit cake", "on")],
    "truck": [("unload", "sofa bed piano bookcase table fruit flower tree sheep", "from")],
}

SURFACE = {"table": "on", "chair": "on", "bed": "on", "sofa": "on", "bookcase": "on top of", "piano": "on top of"}
# where a small thing can be in, on or under something big; the big thing is then a single one
_PARTS = {
    "car": "on the back seat of; on the roof of; on the bonnet of",
    "truck": "in the back of; on the front seat of",
    "boat": "in the bottom of; on the deck of",
    "bus": "at the back of; on the top deck of",
    "train": "in the last carriage of; on the floor of",
    "bicycle": "in the basket of; beside the front wheel of",
    "motorcycle": "on the saddle of; beside the back wheel of",
    "tree": "at the foot of; in the shade of; among the roots of",
    "ladder": "on the bottom rung of; at the foot of",
}
_LEANING = set(words_of("ladder bicycle spade guitar surfboard skateboard", " "))
_AGAINST = set(words_of("tree car truck sofa bookcase table bed boat piano bus", " "))


def relation(figure: str, ground: str, rng: Random) -> str:
    """A preposition that puts the smaller ``figure`` by ``ground`` in a believable way."""
    small = ENTRIES[figure].size == 0 or figure == "cat"
    if COARSE_OF[figure] == "person" or COARSE_OF[ground] == "person":
        return pick(rng, ["beside", "next to", "near", "in front of", "behind"])
    if small and ground in SURFACE and figure not in ("ivy", "bird") and rng.random() < 0.75:
        return SURFACE[ground]
    if figure in _LEANING and ground in _AGAINST and rng.random() < 0.6:
        return "propped against"
    if figure == "ivy":
        return pick(rng, ["beside", "around", "behind", "over"])
    if ground in ("table", "bed", "tree", "ladder", "piano", "chair") and rng.random() < 0.3:
        return "underneath"
    if small and ground in _PARTS and figure != "ivy" and rng.random() < 0.7:
        return pick(rng, words_of(_PARTS[ground], ";"))
    near = ["beside", "next to", "near", "close to", "a short distance from", "not far from"]
    if ENTRIES[ground].size >= 1:
        near += ["in front of", "behind"]
    return pick(rng, near)


def location(name: str, rng: Random) -> str:
    """How somebody may be placed with respect to a big thing; empty for things too small to stand by."""
    if name == "tree":
        return pick(rng, ["beneath", "beside", "in the shade of", "behind"])
    if ENTRIES[name].size == 2:
        return pick(rng, ["beside", "next to", "in front of", "not far from", "behind"])
    return pick(rng, ["beside", "next to", "near"]) if ENTRIES[name].size == 1 else ""
