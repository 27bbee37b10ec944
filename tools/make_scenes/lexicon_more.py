"""The other six coarse concepts, and the table of all twelve; the notation is explained in ``lexicon``."""

from __future__ import annotations

from .lexicon import ANIMAL, ELECTRONICS, FOOD, FURNITURE, KITCHENWARE, PERSON, Entry

VEHICLE = {
    "car": Entry(
        "car, hatchback, saloon car, taxi, convertible, sports car, estate car, jeep",
        "dusty, battered, shiny, vintage | red, silver, blue, black",
        "!~drive*, wash*, get out of, climb into, !~park*, wave at, !~push*",
        "be parked, wait, idle, stand",
        2,
    ),
    "bicycle": Entry(
        "bicycle, bike, mountain bike, racing bike, tandem bicycle, push-bike",
        "rusty, new, folding, muddy, squeaky | green, red, yellow, blue",
        "~ride*, push*, mend*, chain up*, wheel*, clean*, climb onto",
        "stand, lie, be chained up",
        1,
        0.25,
    ),
    "bus": Entry(
        "bus/buses, double-decker, minibus/minibuses, school bus/school buses, double-decker bus/double-decker buses",
        "crowded, late, empty, noisy | red, green, yellow",
        "board*, wait for, run after, get off, !~drive*, wave at",
        "wait, idle, pull in, stand",
        2,
        0.12,
    ),
    "train": Entry(
        "train, steam train, commuter train, freight train, locomotive, express train, goods train",
        "slow, crowded, delayed, gleaming, empty | blue, green, red",
        "board*, wait for, wave at, run for, get off, watch*",
        "stand, wait, pull in",
        2,
        0.1,
    ),
    "boat": Entry(
        "boat, rowing boat, sailing boat, canoe, dinghy/dinghies, yacht, fishing boat, barge, kayak",
        "small, leaky, weathered, sturdy | blue, white, wooden, red",
        "~row*, paint*, ~tie up*, ~sail*, ~paddle*, drag*, climb out of",
        "lie, be moored, rock gently",
        2,
        0.25,
    ),
    "truck": Entry(
        "truck, lorry/lorries, pickup truck, dump truck, tipper truck, delivery truck, fire engine",
        "heavy, muddy, noisy, old, overloaded | red, white, green",
        "!~drive*, !~unload*, !~reverse*, wash*, climb out of, wave at, !load*",
        "be parked, wait, idle",
        2,
        0.15,
    ),
    "motorcycle": Entry(
        "motorcycle, motorbike, motor scooter, moped, vintage motorcycle, dirt bike",
        "noisy, gleaming, muddy, powerful, rusty | black, red, chrome",
        "!~ride*, !~start*, polish*, !repair*, climb onto, admire*",
        "be parked, stand, idle",
        2,
        0.15,
    ),
}

SPORT = {
    "football": Entry(
        "football, soccer ball, leather football, match football",
        "muddy, old, worn, brand-new | white, black and white",
        "kick*, dribble*, head*, chase*, throw*, juggle*, catch*",
        "lie, rest",
        0,
        0.15,
    ),
    "basketball": Entry(
        "basketball, rubber basketball, indoor basketball",
        "scuffed, new, bouncy, worn | brown",
        "dribble*, bounce*, shoot*, throw*, spin*, catch*, pass*",
        "lie, rest",
        0,
        0.15,
    ),
    "tennis racket": Entry(
        "tennis racket, tennis racquet, racket, graphite racket",
        "old, broken, light, new, expensive | wooden, red",
        "swing*, restring*, hold*, carry*, wave*, grip*",
        "lie, rest",
        0,
    ),
    "skateboard": Entry(
        "skateboard",
        "scratched, worn, fast, homemade | black, yellow, painted",
        "ride*, balance on, flip*, carry*, fall off, step onto, push*",
        "lie, rest",
        0,
        0.1,
    ),
    "surfboard": Entry(
        "surfboard, foam surfboard, surfboard",
        "waxed, long, dripping, sandy, dented | blue, yellow, white, striped",
        "carry*, wax*, rinse*, ~lie on, ~paddle on, lift*",
        "lie, stand, dry",
        1,
    ),
}

CLOTHING = {
    "hat": Entry(
        "hat, cap, beret, straw hat, woolly hat, flat cap, top hat, sun hat, baseball cap",
        "faded, shabby, old, new, battered | red, green, black, felt, white",
        "try on*, take off*, adjust*, straighten*, hold on to, tip*",
        "lie, hang",
        0,
        0.1,
    ),
    "coat": Entry(
        "coat, raincoat, overcoat, jacket, anorak, parka, duffel coat, denim jacket",
        "long, heavy, soaked, padded, shabby, warm | black, yellow, tweed, green, red",
        "button up*, take off*, shake out*, hang up*, try on*, brush*",
        "hang, lie, dry",
        0,
        0.12,
    ),
    "shoes": Entry(
        "shoes/+, boots/+, sandals/+, sneakers/+, ankle boots/+, brogues/+, wellington boots/+, running shoes/+",
        "muddy, worn, wet, scuffed, polished | leather, red, white, black, canvas",
        "polish*, lace up*, take off*, try on*, scrape*, pull on*",
        "stand, dry, lie",
        0,
        0.0,
    ),
    "dress": Entry(
        "dress/dresses, evening dress/evening dresses, gown, summer dress/summer dresses, frock, silk "
        "dress/silk dresses, wedding dress/1",
        "long, crumpled, elegant, faded, short | green, yellow, white, spotted, blue",
        "iron*, hem*, hold up*, hang up*, admire*, fold*",
        "hang, lie, dry",
        0,
        0.15,
    ),
    "scarf": Entry(
        "scarf/scarves, woollen scarf/woollen scarves, silk scarf/silk scarves, knitted scarf/knitted "
        "scarves, cotton scarf/cotton scarves",
        "long, soft, thick, frayed, thin | striped, red, purple, grey, tartan",
        "knit*, unwind*, wrap up in, fold*, hold on to, untangle*",
        "lie, hang, flutter",
        0,
        0.12,
    ),
}

PLANT = {
    "tree": Entry(
        "tree, oak, birch/birches, willow, pine tree, maple, beech/beeches, fir, ash tree, sycamore",
        "tall, bare, ancient, young, gnarled, leafy |",
        "climb*, ~prune*, water*, lean against, plant*, sit beneath, !~fell*",
        "stand, sway, grow, rustle",
        2,
        0.3,
    ),
    "flower": Entry(
        "red rose, white rose, yellow tulip, daffodil, sunflower, bunch of flowers/bunches of flowers, "
        "lily/lilies, daisy/daisies, bouquet, poppy/poppies",
        "wilting, fresh, fragrant, bright, drooping |",
        "pick*, water*, smell*, arrange*, cut*, buy*, plant*",
        "droop, nod, stand",
        0,
        0.7,
    ),
    "cactus": Entry(
        "cactus/cacti, prickly cactus/prickly cacti, potted cactus/potted cacti, saguaro cactus/saguaro "
        "cacti, barrel cactus/barrel cacti",
        "small, tall, dusty, neglected, flowering | green",
        "water*, repot*, look at, move*, photograph*, touch*",
        "stand, grow",
        0,
    ),
    "fern": Entry(
        "fern, potted fern, maidenhair fern, Boston fern, sword fern",
        "lush, feathery, drooping, large, dry | green",
        "water*, repot*, mist*, trim*, move*, dust*",
        "grow, stand, droop",
        0,
        0.25,
    ),
    "ivy": Entry(
        "ivy/-, trailing ivy/-, climbing ivy/-, English ivy/-, variegated ivy/-",
        "thick, glossy, tangled, dry, overgrown |",
        "trim*, water*, cut back*, pull down*, tie back*, tug at",
        "creep up the wall, trail, climb, spread",
        0,
    ),
}

MUSIC = {
    "guitar": Entry(
        "guitar, acoustic guitar, electric guitar, classical guitar, twelve-string guitar, bass guitar",
        "battered, out-of-tune, cheap, gleaming, borrowed | red, black, wooden",
        "play*, tune*, strum*, carry*, restring*, pick up*, practise on",
        "lie, rest, stand",
        1,
        0.1,
    ),
    "piano": Entry(
        "piano, grand piano, upright piano, concert piano",
        "dusty, out-of-tune, polished, worn, magnificent | black, brown, white",
        "play*, tune*, dust*, practise on, lean on, polish*",
        "stand",
        2,
        0.03,
    ),
    "violin": Entry(
        "violin, fiddle, electric violin, student violin, concert violin",
        "antique, cheap, delicate, squeaky, precious |",
        "play*, tune*, hold*, restring*, polish*, put away*, practise on",
        "lie, rest",
        0,
        0.12,
    ),
    "drum": Entry(
        "drum, snare drum, bass drum, drum kit/1, bongo drum, side drum, set of drums/sets of drums",
        "loud, battered, enormous, hollow, old | red, brass",
        "beat*, play*, carry*, tap on, bang on, set up*",
        "stand",
        1,
    ),
    "trumpet": Entry(
        "trumpet, bugle, brass trumpet, muted trumpet, jazz trumpet",
        "shiny, dented, tarnished, old, loud | brass, silver, golden",
        "play*, polish*, blow*, raise*, practise on, carry*",
        "lie, gleam, rest",
        0,
        0.15,
    ),
}

TOOL = {
    "hammer": Entry(
        "hammer, mallet, claw hammer, sledgehammer, ball-peen hammer",
        "heavy, old, small, rusty, worn | steel, wooden",
        "swing*, hold*, pick up*, put down*, drop*, look for",
        "lie, rest",
        0,
        0.15,
    ),
    "saw": Entry(
        "handsaw, hacksaw, chainsaw, bow saw, circular saw, tenon saw",
        "sharp, rusty, blunt, noisy, bent |",
        "!sharpen*, !oil*, !carry*, !put down*, !hang up*, !test*",
        "lie, hang, rest",
        0,
        0.12,
    ),
    "ladder": Entry(
        "ladder, stepladder, extension ladder, folding ladder",
        "long, shaky, tall, paint-spattered, sturdy | wooden, aluminium",
        "climb*, carry*, steady*, put up*, fold up*, come down",
        "stand, lie, lean at an angle",
        1,
        0.08,
    ),
    "spade": Entry(
        "spade, shovel, garden spade, snow shovel",
        "muddy, blunt, rusty, sturdy | steel",
        "~dig with, lean on, clean*, carry*, pick up*, put down*",
        "stand, lie, rest",
        0,
        0.15,
    ),
    "drill": Entry(
        "drill, power drill, cordless drill, electric drill, hand drill",
        "noisy, heavy, dusty, powerful, borrowed | yellow",
        "!use*, !switch on*, !charge*, !put down*, !test*, !hold*",
        "lie, whirr, rest",
        0,
        0.08,
    ),
    "spanner": Entry(
        "spanner, wrench/wrenches, adjustable wrench/adjustable wrenches, pipe wrench/pipe wrenches, "
        "socket wrench/socket wrenches",
        "oily, heavy, rusty, long, greasy | steel, chrome",
        "hold*, tighten a bolt with, pick up*, drop*, look for, wipe*",
        "lie, rest",
        0,
        0.2,
    ),
}

CONCEPTS: dict[str, dict[str, Entry]] = {
    "person": PERSON,
    "animal": ANIMAL,
    "furniture": FURNITURE,
    "electronics": ELECTRONICS,
    "food": FOOD,
    "kitchenware": KITCHENWARE,
    "vehicle": VEHICLE,
    "sport": SPORT,
    "clothing": CLOTHING,
    "plant": PLANT,
    "music": MUSIC,
    "tool": TOOL,
}

ENTRIES: dict[str, Entry] = {name: entry for group in CONCEPTS.values() for name, entry in group.items()}
COARSE_OF: dict[str, str] = {name: coarse for coarse, group in CONCEPTS.items() for name in group}
