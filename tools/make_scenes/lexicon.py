"""What the sentences are made of: 63 fine labels under 12 coarse concepts, as data.

Nouns are separated by commas. ``noun/nouns`` gives an irregular plural, ``noun/-`` marks a mass noun,
``nouns/+`` a noun that is always plural, ``noun/1`` one that comes alone. Adjectives stand before ``|``
(size, age, state) or after it (colour, material), and a noun phrase takes at most one of each kind, in that
order. In a verb list ``*`` marks a verb that has a passive, ``!`` one that only grown-ups do and ``~`` one
that needs the open air.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Entry:
    """One fine label: its words, what people do with it, and how it stands about."""

    nouns: str
    adjectives: str
    acts: str
    poses: str
    size: int  # 0 fits in a hand, 1 can be carried, 2 stands where it stands
    many: float = 0.2  # how often it comes in the plural


PERSON = {
    "man": Entry(
        "man/men, old man/old men, young man/young men, gentleman/gentlemen, father/1, grandfather/1, man/men",
        "smiling, tired, cheerful, sunburnt, quiet, bearded |",
        "wave to, talk to, hug*, argue with, help*, listen to, shake hands with",
        "stand, wait, kneel, sit, doze",
        2,
        0.1,
    ),
    "woman": Entry(
        "woman/women, old woman/old women, young woman/young women, lady/ladies, mother/1, grandmother/1, woman/women",
        "smiling, tired, cheerful, elegant, quiet, busy |",
        "wave to, talk to, hug*, argue with, help*, listen to, dance with",
        "stand, wait, kneel, sit, read",
        2,
        0.1,
    ),
    "boy": Entry(
        "boy, little boy, schoolboy, teenage boy, small boy, lad",
        "laughing, shy, sleepy, excited, freckled, curious |",
        "wave to, talk to, hug*, help*, scold*, tease*, run after",
        "stand, wait, crouch, sit, daydream",
        1,
        0.2,
    ),
    "girl": Entry(
        "girl, little girl, schoolgirl, teenage girl, small girl",
        "laughing, shy, sleepy, excited, freckled, curious |",
        "wave to, talk to, hug*, help*, comfort*, tease*, run after",
        "stand, wait, crouch, sit, daydream",
        1,
        0.2,
    ),
    "baby": Entry(
        "baby/babies, infant, toddler, baby/babies",
        "giggling, sticky, wide-awake, chubby, tiny |",
        "rock*, carry*, hold*, soothe*, bounce*, sing to, smile at, feed*",
        "sleep, giggle, crawl about, cry, doze",
        1,
        0.05,
    ),
}

ANIMAL = {
    "dog": Entry(
        "dog, terrier, spaniel, puppy/puppies, greyhound, labrador, poodle, collie, mongrel, beagle",
        "sleepy, excited, small, wet, muddy, obedient | brown, black, white, spotted",
        "walk*, pat*, brush*, feed*, whistle to, play with, throw a stick for, kneel beside, call*",
        "sleep, doze, wait, sit, stretch out, bark, pant",
        1,
    ),
    "cat": Entry(
        "cat, kitten, tabby cat, tomcat, Siamese cat, house cat",
        "lazy, curious, plump, thin, fluffy, one-eyed, contented | grey, black, white, ginger",
        "stroke*, feed*, pick up*, play with, talk to, cuddle*, tickle*",
        "sleep, purr, doze, sit, stretch, yawn",
        1,
        0.1,
    ),
    "horse": Entry(
        "horse, pony/ponies, mare, stallion, foal, carthorse, racehorse",
        "patient, restless, tall, tired, sturdy, nervous | brown, grey, black, dappled",
        "!~ride*, lead*, groom*, saddle*, feed*, pat*, brush*",
        "graze, stand, snort, wait, trot about",
        2,
    ),
    "bird": Entry(
        "bird, sparrow, robin, pigeon, crow, gull, magpie, blackbird, starling, wagtail",
        "small, noisy, hungry, bold, ruffled, plump |",
        "feed*, watch*, point at, whistle to, sketch*, chase off",
        "hop about, perch, call, flutter about",
        0,
        0.4,
    ),
    "sheep": Entry(
        "sheep/sheep, lamb, ewe, ram, flock of sheep/flocks of sheep, lamb",
        "woolly, stray, muddy, placid, nervous | white, black-faced",
        "feed*, count*, !shear*, ~herd*, watch*, call to",
        "graze, bleat, stand, wander about",
        1,
        0.4,
    ),
    "cow": Entry(
        "cow, calf/calves, bull, heifer, herd of cattle/herds of cattle, dairy cow",
        "placid, curious, heavy, muddy, stubborn | brown, black and white, white",
        "!milk*, feed*, lead*, ~herd*, pat*, lean on",
        "graze, chew slowly, stand, wander about",
        2,
        0.3,
    ),
}

FURNITURE = {
    "sofa": Entry(
        "sofa, couch/couches, settee, chesterfield, corner sofa, loveseat",
        "sagging, comfortable, battered, low, enormous | leather, velvet, green, grey, tartan",
        "sit on, lie on, nap on, vacuum*, flop onto, push*",
        "stand",
        2,
        0.05,
    ),
    "chair": Entry(
        "chair, armchair, rocking chair, folding chair, wicker chair, high-backed chair",
        "wobbly, comfortable, old, worn, plain | wooden, red, painted, blue",
        "sit on, paint*, mend*, stand on, lean on, carry*, sand down*",
        "stand",
        1,
        0.25,
    ),
    "table": Entry(
        "table, dining table, round table, side table, trestle table, coffee table, kitchen table",
        "long, low, crowded, sturdy, scratched | wooden, glass, marble, white",
        "wipe*, lay*, sit at, polish*, lean on, clear*",
        "stand",
        2,
        0.05,
    ),
    "bed": Entry(
        "bed, double bed, bunk bed, four-poster bed, camp bed, single bed, king-size bed",
        "unmade, neat, soft, narrow, creaky | brass, wooden, white, iron",
        "make*, lie on, sit on, jump on, sleep in, read in",
        "stand",
        2,
        0.05,
    ),
    "bookcase": Entry(
        "bookcase, bookshelf/bookshelves, set of bookshelves/sets of bookshelves, corner bookcase",
        "tall, dusty, overloaded, half-empty, narrow | mahogany, white, painted",
        "dust*, tidy*, fill*, lean on, search*, stand in front of",
        "stand",
        2,
        0.08,
    ),
}

ELECTRONICS = {
    "laptop": Entry(
        "laptop, notebook computer, portable computer, laptop computer",
        "slim, old, open, expensive, sleek | silver, black, grey",
        "type on, close*, work on, stare at, switch on*, carry*, charge*",
        "hum, lie, lie open",
        0,
        0.1,
    ),
    "phone": Entry(
        "phone, mobile phone, smartphone, cell phone, handset",
        "cracked, new, cheap | black, white, red",
        "check*, talk on, text on, answer*, look at, frown at, scroll through",
        "ring, buzz, lie, light up",
        0,
        0.08,
    ),
    "television": Entry(
        "television, TV, television set, flat-screen TV, portable television, TV set",
        "flickering, huge, old, dusty, loud, muted | black, grey",
        "watch*, switch on*, switch off*, stare at, adjust*, !repair*",
        "flicker, glow, stand, blare",
        1,
        0.05,
    ),
    "camera": Entry(
        "camera, film camera, digital camera, camcorder, instant camera, SLR camera",
        "expensive, old, heavy, compact, vintage | black, silver",
        "hold up*, adjust*, focus*, clean*, load*, peer through, tinker with",
        "lie, rest",
        0,
        0.08,
    ),
    "radio": Entry(
        "radio, transistor radio, portable radio, wireless set, clock radio, digital radio",
        "crackling, old, tinny, battered, small | red, brown, black",
        "listen to, tune*, switch on*, turn down*, !repair*, carry*",
        "crackle, play softly, stand, blare",
        0,
        0.05,
    ),
}

FOOD = {
    "bread": Entry(
        "loaf of bread/loaves of bread, baguette, bread/-, bread roll, sourdough loaf/sourdough loaves, "
        "slice of toast/slices of toast",
        "warm, fresh, crusty, dark | brown, white",
        "slice*, butter*, eat*, bake*, buy*, tear up*, share*",
        "cool, lie",
        0,
    ),
    "cake": Entry(
        "cake, birthday cake/1, chocolate cake, sponge cake, cupcake, wedding cake/1, gateau/gateaux",
        "lopsided, rich, tiny, towering | pink, iced, white",
        "ice*, slice*, eat*, bake*, decorate*, admire*, taste*",
        "stand, wait",
        0,
    ),
    "pizza": Entry(
        "pizza, slice of pizza/slices of pizza, margherita pizza, pepperoni pizza, takeaway pizza",
        "hot, enormous, cold, greasy, homemade |",
        "eat*, share*, order*, bake*, carry*, reheat*",
        "cool, lie, steam",
        0,
    ),
    "fruit": Entry(
        "apple, banana, orange, pear, peach/peaches, strawberry/strawberries, melon, plum",
        "ripe, juicy, bruised, shiny, sweet |",
        "bite into, eat*, wash*, buy*, weigh*, share*, choose*",
        "lie, gleam",
        0,
        0.6,
    ),
    "soup": Entry(
        "soup/-, tomato soup/-, vegetable soup/-, leek soup/-, onion soup/-, minestrone/-, mushroom soup/-",
        "hot, steaming, thick, salty, homemade |",
        "stir*, taste*, eat*, heat*, ladle out*, blow on, season*",
        "simmer, steam, cool, bubble",
        0,
    ),
}

KITCHENWARE = {
    "pan": Entry(
        "pan, saucepan, frying pan, skillet, stockpot, casserole pot",
        "heavy, dented, greasy, hot, battered | copper, cast-iron, black, enamel",
        "scrub*, stir*, rinse*, shake*, dry*, hang up*, reach for",
        "stand, dry",
        0,
        0.25,
    ),
    "knife": Entry(
        "knife/knives, paring knife/paring knives, kitchen knife/kitchen knives, carving knife/carving knives",
        "sharp, blunt, long, small | steel, silver",
        "!sharpen*, wipe*, hold*, put down*, rinse*, dry*",
        "lie, glint",
        0,
        0.2,
    ),
    "kettle": Entry(
        "kettle, electric kettle, whistling kettle, stove-top kettle",
        "dented, old, shiny | copper, steel, white, enamel",
        "fill*, boil*, switch on*, reach for, descale*, put down*",
        "whistle, steam, boil, stand",
        0,
        0.05,
    ),
    "mug": Entry(
        "mug, cup, teacup, tin mug, paper cup, beaker",
        "chipped, big, stained | blue, white, striped, enamel",
        "hold*, drink from, rinse*, fill*, put down*, dry*, drop*",
        "stand, steam",
        0,
        0.3,
    ),
    "plate": Entry(
        "plate, dinner plate, serving platter, side plate, stack of plates/stacks of plates, platter",
        "dirty, chipped, empty, cracked, clean | china, blue, white, paper",
        "wash*, dry*, carry*, drop*, pass round*, hold out*",
        "lie, dry",
        0,
        0.35,
    ),
    "bowl": Entry(
        "bowl, mixing bowl, salad bowl, cereal bowl, pudding bowl",
        "large, shallow, empty, cracked, deep | wooden, glass, blue, china",
        "fill*, wash*, hold*, empty*, scrape out*, carry*",
        "stand",
        0,
        0.25,
    ),
}
