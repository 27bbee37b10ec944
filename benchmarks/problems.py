"""Problems of the size users have, with known structure."""

import numpy as np


def grouped(n=20_000, d=512, n_groups=12, per_group=10, active=2.5, likeness=0.3, dtype=np.float64, seed=0):
    """Rows made of a few groups of atoms each, with noise: (X, atoms, mask of the allowed atoms, groups).

    ``likeness`` is how much the atoms of a group have in common; paper 1 finds learned atoms nearly orthogonal.
    """
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(n_groups), per_group)
    atoms = rng.standard_normal((len(groups), d)) + likeness * rng.standard_normal((n_groups, d))[groups]
    atoms /= np.linalg.norm(atoms, axis=1, keepdims=True)
    X, labels = mixtures(n, atoms, groups, active, rng)
    return X.astype(dtype), atoms.astype(dtype), labels[:, groups], groups


def mixtures(n, atoms, groups, active, rng):
    """Unit rows made of half the atoms of ``active`` groups on average, with noise; and who has which group."""
    n_groups = groups.max() + 1
    labels = rng.random((n, n_groups)) < active / n_groups
    labels[~labels.any(axis=1), 0] = True
    mask = labels[:, groups]
    codes = rng.exponential(size=mask.shape) * (mask & (rng.random(mask.shape) < 0.5))
    X = codes @ atoms
    X += 0.5 * np.linalg.norm(X, axis=1).mean() / np.sqrt(atoms.shape[1]) * rng.standard_normal(X.shape)
    return X / np.linalg.norm(X, axis=1, keepdims=True), labels


def dictionary(n, d, m, seed=0):
    """Gaussian rows and unit atoms."""
    rng = np.random.default_rng(seed)
    X, atoms = rng.standard_normal((n, d)), rng.standard_normal((m, d))
    return X / np.linalg.norm(X, axis=1, keepdims=True), atoms / np.linalg.norm(atoms, axis=1, keepdims=True)


# other words for fine labels of Scenes and COCO: synonyms and plain plurals' singulars, no kinds of the thing
SYNONYMS = {
    "person": ("people", "man", "woman", "human"),
    "man": ("gentleman", "guy"),
    "woman": ("lady",),
    "boy": ("lad", "schoolboy"),
    "girl": ("lass", "schoolgirl"),
    "baby": ("infant", "toddler"),
    "dog": ("hound", "canine"),
    "cat": ("feline",),
    "sheep": ("lamb", "ewe"),
    "cow": ("cattle",),
    "sofa": ("couch", "settee"),
    "couch": ("sofa", "settee"),
    "bookcase": ("bookshelf", "shelf", "shelves"),
    "laptop": ("computer", "notebook"),
    "phone": ("telephone", "smartphone", "mobile"),
    "cell phone": ("phone", "telephone", "smartphone", "mobile phone", "cellphone"),
    "television": ("tv",),
    "tv": ("television",),
    "pan": ("saucepan", "frying pan"),
    "kettle": ("teapot", "tea kettle"),
    "mug": ("cup",),
    "cup": ("mug",),
    "bicycle": ("bike",),
    "motorcycle": ("motorbike",),
    "car": ("automobile",),
    "truck": ("lorry",),
    "airplane": ("plane", "aeroplane", "aircraft", "jet"),
    "boat": ("ship",),
    "football": ("soccer", "soccer ball"),
    "tennis racket": ("racket", "tennis", "racquet"),
    "coat": ("jacket",),
    "shoes": ("shoe", "footwear"),
    "spade": ("shovel",),
    "spanner": ("wrench",),
    "saw": ("handsaw", "hacksaw"),
    "fire hydrant": ("hydrant",),
    "traffic light": ("traffic signal", "stoplight", "traffic", "traffic lights"),
    "stop sign": ("stop",),
    "parking meter": ("meter", "parking"),
    "backpack": ("rucksack", "bag"),
    "handbag": ("purse", "bag"),
    "tie": ("necktie",),
    "suitcase": ("luggage", "baggage"),
    "skis": ("ski", "skiing", "skier"),
    "snowboard": ("snowboarding", "snowboarder"),
    "sports ball": ("ball",),
    "baseball bat": ("bat", "baseball"),
    "baseball glove": ("glove", "mitt", "baseball"),
    "skateboard": ("skateboarding", "skateboarder", "skate board"),
    "surfboard": ("surf", "surfing", "surfer", "surf board"),
    "wine glass": ("wine", "glass"),
    "hot dog": ("hotdog",),
    "donut": ("doughnut",),
    "potted plant": ("plant", "houseplant"),
    "dining table": ("table",),
    "remote": ("remote control", "controller"),
    "microwave": ("microwave oven",),
    "refrigerator": ("fridge", "refrigerator freezer"),
    "teddy bear": ("teddy", "stuffed bear", "stuffed animal"),
    "hair drier": ("hair dryer", "blow dryer"),
}
