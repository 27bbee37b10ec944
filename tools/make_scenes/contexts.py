"""Where the scenes take place: what is usual there, what is rarer, and how the place and the hour are put."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Context:
    """One kind of place; ``usual`` things are drawn four times as often as ``rarer`` ones."""

    places: str
    room: str
    indoors: bool
    usual: str
    rarer: str


CONTEXTS: dict[str, Context] = {
    "kitchen": Context(
        "in the kitchen; in a cramped kitchen; in a farmhouse kitchen; in the sunny kitchen; in a "
        "kitchen full of steam",
        "the kitchen",
        True,
        "bread cake pizza fruit soup pan knife kettle mug plate bowl table chair",
        "radio phone television laptop dog cat flower fern cactus ivy hat baby",
    ),
    "living room": Context(
        "in the living room; in the lounge; in a cluttered sitting room; in front of the fireplace; in a narrow flat",
        "the living room",
        True,
        "sofa chair table bookcase television laptop phone radio cat dog piano",
        "guitar violin fern cactus ivy flower cake fruit pizza mug plate bowl bird scarf shoes baby camera",
    ),
    "bedroom": Context(
        "in the bedroom; in a draughty bedroom; in a cheap hotel room; in the guest room; in the nursery",
        "the bedroom",
        True,
        "bed chair bookcase laptop phone radio dress coat shoes scarf hat cat",
        "dog guitar television mug fern cactus flower violin camera fruit basketball skateboard baby",
    ),
    "street": Context(
        "in the street; on a busy street; at the crossroads; on the pavement; on a steep cobbled street; "
        "in a side street; "
        "outside the town hall",
        "the street",
        False,
        "car bus bicycle truck motorcycle coat hat scarf shoes dog phone",
        "tree bird guitar violin trumpet drum skateboard camera ladder drill ivy pizza bread flower "
        "football horse baby spade",
    ),
    "market": Context(
        "at the market; in the market square; at a crowded street market; at the weekly market",
        "the market",
        False,
        "bread cake fruit flower cactus truck bicycle hat scarf dress",
        "soup pizza pan bowl plate knife mug dog bird cow sheep camera phone guitar drum fern radio "
        "shoes saw hammer baby bus",
    ),
    "farm": Context(
        "in the farmyard; on the farm; outside the barn; by the farm gate; in a muddy paddock",
        "the farmyard",
        False,
        "cow sheep horse dog truck spade ladder saw hammer shoes hat",
        "tree fruit bread mug coat cat bird camera phone bicycle car spanner radio ivy kettle trumpet",
    ),
    "park": Context(
        "in the park; by the pond; on a quiet path; in the city park; on a gentle slope; by the fountain",
        "the park",
        False,
        "tree flower dog bird football skateboard bicycle basketball",
        "guitar trumpet violin drum cake fruit bread phone camera hat scarf coat dress tennis+racket ivy "
        "fern laptop baby",
    ),
    "workshop": Context(
        "in the workshop; in a cold garage; in a dusty shed; in the repair shop; at the back of the garage",
        "the workshop",
        True,
        "hammer saw drill spanner ladder car bicycle motorcycle boat",
        "radio mug kettle chair table dog cat coat hat shoes guitar violin surfboard skateboard phone bookcase bread",
    ),
    "harbour": Context(
        "in the harbour; on the quay; by the lake; on the river bank; at the end of the jetty; on the canal",
        "the harbour",
        False,
        "boat bird coat hat camera dog bicycle surfboard",
        "shoes bread fruit soup radio phone truck spanner saw hammer trumpet guitar tree scarf cat kettle mug ladder",
    ),
    "beach": Context(
        "on the beach; at the seaside; on the sand; at the water's edge; in a sheltered cove",
        "the beach",
        False,
        "surfboard football dog hat shoes dress bird boat",
        "horse camera radio phone guitar drum fruit pizza cake tree tennis+racket chair scarf car "
        "bicycle spade bowl baby",
    ),
    "station": Context(
        "on the platform; at the railway station; under the station clock; at a country station",
        "the station",
        False,
        "train coat hat scarf phone laptop shoes bicycle bus",
        "dog bird camera bread cake fruit mug guitar trumpet violin flower ladder radio dress chair baby pizza",
    ),
    "rehearsal": Context(
        "on stage; in the concert hall; in a rehearsal room; in the music school; in the school hall; at "
        "the back of a club",
        "the hall",
        True,
        "guitar piano violin drum trumpet chair dress",
        "camera phone laptop flower hat shoes coat scarf table mug cake ladder dog radio fruit television drill",
    ),
    "cafe": Context(
        "in the café; in a little restaurant; in a busy tea room; in a noisy canteen; in the hotel lobby",
        "the café",
        True,
        "table chair cake bread pizza soup mug plate bowl knife laptop phone",
        "fruit kettle dog flower fern cactus ivy coat hat scarf piano guitar violin camera sofa television dress baby",
    ),
    "office": Context(
        "in the office; in the study; in a quiet library; in an open-plan office; in a basement office",
        "the office",
        True,
        "laptop phone table chair bookcase mug fern cactus",
        "camera cake fruit pizza cat plate coat scarf shoes ivy flower television radio sofa drill "
        "ladder spanner bicycle kettle",
    ),
    "building site": Context(
        "on the building site; beside the scaffolding; on a half-finished roof; at the roadworks; on the "
        "half-built bridge",
        "the site",
        False,
        "drill hammer saw ladder spade spanner truck coat shoes",
        "hat mug kettle bread radio phone bird car motorcycle camera soup dog tree bus",
    ),
    "garden": Context(
        "in the garden; in the back yard; by the greenhouse; on the terrace; behind the cottage; by the garden wall",
        "the garden",
        False,
        "flower tree fern ivy cactus spade ladder saw hat cat bird",
        "dog shoes table chair mug radio fruit cake plate bicycle guitar football hammer kettle dress camera baby",
    ),
    "sports hall": Context(
        "in the sports hall; on the court; in the school gym; in the leisure centre; on the indoor court",
        "the sports hall",
        True,
        "basketball tennis+racket football shoes skateboard",
        "hat phone camera drum trumpet chair ladder radio fruit dog laptop scarf television drill spanner bowl coat",
    ),
    "countryside": Context(
        "in the meadow; on a country lane; on the hillside; at the edge of the moor; by the roadside; in "
        "a remote valley",
        "the meadow",
        False,
        "horse sheep cow tree flower bicycle motorcycle bus train",
        "truck car camera hat shoes coat guitar violin fruit bread dog bird radio spade scarf",
    ),
    "attic": Context(
        "in the attic; in the junk shop; in the charity shop; in a storage room; at the auction house; in the cellar",
        "the attic",
        True,
        "bed bookcase chair radio television camera violin trumpet drum hat dress pan tennis+racket",
        "sofa table piano saw hammer ladder skateboard surfboard kettle bowl plate bicycle cat coat "
        "spanner guitar basketball",
    ),
    "dressing room": Context(
        "in the dressing room; in the boutique; in the department store; in the fitting room; backstage",
        "the dressing room",
        True,
        "dress hat shoes scarf coat chair",
        "phone camera sofa flower radio laptop guitar violin fruit cake mug cat dog table trumpet television fern baby",
    ),
    "campsite": Context(
        "at the campsite; beside the tent; by the campfire; in a forest clearing; at the foot of the mountain",
        "the campsite",
        False,
        "pan kettle mug guitar soup bread car coat shoes tree bed knife",
        "bowl plate radio dog hat bicycle boat chair table hammer saw fern fruit bird motorcycle "
        "football camera drum surfboard bus",
    ),
}

WHEN_OUT = (
    "on a windy afternoon; at dawn; in the pouring rain; under a grey sky; on a frosty morning; in bright sunshine; "
    "just before sunset; after heavy snow; in thick fog; on a warm summer evening; shortly before a storm; "
    "on a hazy autumn day; at dusk; in the midday heat; on the first day of spring"
)
WHEN_IN = (
    "late at night; early in the morning; on a Sunday afternoon; by candlelight; on a slow Monday; just "
    "before midnight; "
    "during a power cut; in the half-light; on a winter evening; at the end of a long day; in the small hours; "
    "on a wet Tuesday; at noon; shortly after sunrise"
)
MOOD_OUT = (
    "It has just stopped raining.; The light is fading.; A cold wind is blowing.; The air is perfectly still.; "
    "Church bells ring in the distance.; Snow begins to fall.; The sky is turning pink.; Long shadows "
    "stretch across the ground.; "
    "It is going to be a hot day."
)
MOOD_IN = (
    "The room is very quiet.; Rain beats against the window.; Dust hangs in the light.; It is warm inside.; "
    "The curtains are drawn.; The clock has stopped.; Everything smells of fresh paint.; The window is wide open.; "
    "It is already dark outside."
)
IT_IS_OUT = (
    "It is raining softly; It is nearly dark; It is a bright cold morning; It is the hottest day of the "
    "year; It is snowing"
)
IT_IS_IN = (
    "It is past midnight; It is a lazy afternoon; It is the last day of the holidays; It is still early; It "
    "is warm indoors"
)

NEAR_OUT = "nearby; close by; a little way off; in the background; to one side; on the far side; a few steps away"
NEAR_IN = "nearby; close by; in the corner; in the background; to one side; by the window; near the door"

VIEW = (
    "a glimpse of; a candid shot of; a postcard of; a quick sketch of; a close view of; an oil painting of; "
    "a blurry snapshot of"
)
ASIDE = (
    "tired but happy; lost in thought; half asleep; in no hurry at all; calm as ever; in high spirits; a "
    "little bored; deep in concentration"
)
REACT = "hum quietly; laugh out loud; look thoughtful; smile; yawn; sigh; lose track of time; whistle a tune"
EARLIER = "yesterday; earlier today; last summer; an hour ago; one evening; that morning"
EMPTIED = "deserted; empty; silent; dark; peaceful"
CROWDED = "is cluttered with; holds; contains nothing but; has room for"
