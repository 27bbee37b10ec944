"""What ships with the package, and loaders for the data sets the guides and papers use.

:func:`load_scenes` needs nothing else. The other loaders look in the folder that the environment variable
``PELLUCID_DATA`` names, or in ``folder=``; nothing is ever downloaded.
"""

from pellucid.datasets.archives import (
    AxisWords,
    CaptionSet,
    Dataset,
    Ethanol,
    FlickrSet,
    ImageSet,
    Isolet,
    WikiText,
    WordVectors,
    load_axes,
    load_cifar10,
    load_cifar100,
    load_coco_captions,
    load_coco_concept_words,
    load_ethanol,
    load_flickr8k,
    load_isolet,
    load_mnist,
    load_usps,
    load_vocabulary,
    load_wikitext2,
    load_words,
)
from pellucid.datasets.reading import DatasetDamaged, DatasetNotFound
from pellucid.datasets.scenes import Scenes, Split, load_scenes

__all__ = [
    "AxisWords",
    "CaptionSet",
    "Dataset",
    "DatasetDamaged",
    "DatasetNotFound",
    "Ethanol",
    "FlickrSet",
    "ImageSet",
    "Isolet",
    "Scenes",
    "Split",
    "WikiText",
    "WordVectors",
    "load_axes",
    "load_cifar10",
    "load_cifar100",
    "load_coco_captions",
    "load_coco_concept_words",
    "load_ethanol",
    "load_flickr8k",
    "load_isolet",
    "load_mnist",
    "load_scenes",
    "load_usps",
    "load_vocabulary",
    "load_wikitext2",
    "load_words",
]
