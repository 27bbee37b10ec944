"""Loaders of the data sets that the papers use.

They look in the folder that the environment variable ``PELLUCID_DATA`` names, or in ``folder=``; nothing is ever
downloaded.
"""

from reproductions.data.archives import (
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
from reproductions.data.reading import DatasetDamaged, DatasetNotFound

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
    "load_usps",
    "load_vocabulary",
    "load_wikitext2",
    "load_words",
]
