"""What goes in and comes out, in the words of the Python API."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic.json_schema import SkipJsonSchema

Number = Annotated[float, Field(allow_inf_nan=False)]
Place = Annotated[float, Field(ge=-1e6, le=1e6)]
Id = Annotated[str, Field(max_length=2_000)]
Name = Annotated[str, Field(max_length=2_000)]
Names = Name | list[Name]
Words = Annotated[str, Field(min_length=1, max_length=10_000)]
Vector = Annotated[list[Number], Field(min_length=1, max_length=65_536)]


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class FromItemOrText(Strict):
    """Starts from x or from a text, one of them."""

    text: Words | None = Field(
        None, description="A text to search for in place of x, where the service has an encoder."
    )

    @model_validator(mode="after")
    def _one_of_them(self) -> Any:
        if (getattr(self, "x", None) is None) == (self.text is None):
            raise ValueError("give x or text, one of them")
        return self


class ColumnInfo(BaseModel):
    name: str
    kind: str = Field(description='"label", "labels", "text" or "other"')
    values: list[str] = Field(description="The labels, the most frequent first.")
    counts: list[int]


class CollectionInfo(BaseModel):
    name: str
    folder: str
    count: int
    dimension: int
    engine: str
    columns: list[ColumnInfo]
    text_column: str | None
    has_thumbnails: bool
    model: str | None = Field(description="The file of the model, if it came from one.")
    concepts: list[str] = Field(description="The names, in the order of all arrays by concept; empty without a model.")
    labels: list[str] = Field(description="What the items' labels call each concept, which may have been renamed.")
    presence: bool = Field(description="Whether the model knows which concepts an item has.")
    n_clusters: int | None = Field(description="How many clusters the model of clusters has, if there is one.")
    n_binary: int | None = Field(description="How many binary concepts the model of them has, if there is one.")
    encoder: str | None = Field(
        None, description="What makes vectors of texts, if there is an encoder to search by text."
    )
    files: dict[str, str] = Field(description="The file of each model: concepts, binary, clusters.")
    image_shape: list[int] | None = Field(description="Height and width (and 3) if the vectors are pictures.")
    version: str


class Status(BaseModel):
    progress: dict[str, float] = Field(description="From 0 to 1, for each layout and for the shares.")
    failed: dict[str, str]


class Item(BaseModel):
    """An item; ``row`` is its place in the arrays of the map."""

    id: str
    row: int
    columns: dict[str, Any] = Field(description="What else belongs to it, under whatever names it came with.")


class Found(BaseModel):
    items: list[Item]
    total: int | None = Field(None, description="How many items hold what was typed, listed or not.")


class MapName(BaseModel):
    name: str
    x: float
    y: float
    count: int = Field(description="Items it is for.")
    level: int = Field(description="0 from afar, 1 from near.")
    group: int | None = Field(description="Which concept or cluster it names; none for a word.")


class MapNames(BaseModel):
    names: list[MapName] = Field(description="The most telling first, on each level.")


class Part(BaseModel):
    concept: str
    share: float = Field(description="What it contributes to the item's squared length; the shares add up.")


class Parts(BaseModel):
    id: str
    parts: list[Part] = Field(description="The largest first.")
    explained: float = Field(description="The sum of the shares: how much of the item the concepts account for.")


class SearchRequest(FromItemOrText):
    x: Id | Vector | Annotated[list[Vector], Field(min_length=1)] | None = Field(
        None, description="The id of an item, a vector, or a batch of vectors."
    )
    concept: Names | None = Field(None, description="Seen through this concept, or several together.")
    without: Names | None = Field(None, description="Keep items out that have these concepts.")
    k: int = Field(20, ge=1)
    diverse: bool = Field(False, description="Choose results that differ from each other.")
    score: Literal["presence", "projection"] | None = Field(
        None, description='"presence" also asks which concepts an item has, and is taken if the model knows.'
    )


class Hit(BaseModel):
    rank: int
    score: float
    id: str
    item: Item
    shares: list[float] | None = Field(description="How much of it each concept is, where that is computed already.")


class Hits(BaseModel):
    hits: list[Hit] | list[list[Hit]] = Field(description="A list of hits, or one list for each vector of a batch.")
    # for whoever asks the service directly: the page's types do not have it
    notes: SkipJsonSchema[list[str]] = Field([], description="What to know before the hits are trusted.")


class ExplainRequest(FromItemOrText):
    x: Id | Vector | None = None
    y: Id | Annotated[list[Id], Field(min_length=1)] = Field(description="One item, or several to compare x with.")
    concept: Names | None = Field(None, description="As in the search whose score is to be explained.")
    without: Names | None = Field(None, description="As in that search.")
    score: Literal["presence", "projection"] | None = Field(None, description="As in that search.")
    words: bool = Field(False, description="Name what each term is about.")


class ExplanationOut(BaseModel):
    """score = Σ terms + residual + presence"""

    names: list[str]
    terms: list[float]
    residual: float
    score: float = Field(description="The score that a search shows for the pair.")
    presence: float = Field(description="What the probabilities of the concepts asked for add to the score.")
    residual_share: float
    words: list[list[str]]


class Explanations(BaseModel):
    explanations: list[ExplanationOut]


class TraceRequest(FromItemOrText):
    x: Id | Vector | None = Field(None, description="What was searched for: the id of an item, or a vector.")
    expected: Id | Annotated[list[Id], Field(min_length=1)] = Field(description="Items that should have been found.")
    concept: Names | None = Field(None, description="As in the search; so are the next four.")
    without: Names | None = None
    k: int = Field(20, ge=1)
    diverse: bool = False
    score: Literal["presence", "projection"] | None = None
    source: Name | None = Field(None, description="The column that says where items come from; all that may if none.")


class CauseOut(BaseModel):
    kind: str = Field(
        description='"shown", "missing", "query", "filter", "shortlist", "diversity", "vector", "near-duplicates", '
        '"source", "concept", or "further away": nothing is wrong.'
    )
    about: str | None = Field(description="The concept, the source as column=value, or the item that is repeated.")
    says: str
    rank: int | None = Field(description="Where the item would stand without it.")


class ChangeOut(BaseModel):
    says: str
    options: dict[str, Any] = Field(description="What to ask /api/search for instead.")
    rank: int = Field(description="Where the item then stands among the hits.")
    kept: int = Field(description="How many of the hits stay.")
    cost: float = Field(description="How much the list changes.")


class TracedItemOut(BaseModel):
    """score = Σ terms; Σ behind is how far it is behind the mean of the hits before it."""

    id: str
    rank: int | None
    score: float | None
    shown: bool
    terms: dict[str, float]
    behind: dict[str, float]
    displaced_by: list[str]
    causes: list[CauseOut] = Field(description="Why it stands where it does, the first cause first.")
    changes: list[ChangeOut] = Field(description="What brings it in, the smallest change first; each was tried.")


class RankedOut(BaseModel):
    rank: int
    score: float
    id: str


class TraceOut(BaseModel):
    k: int
    ranked: int = Field(description="How many items were ranked.")
    options: dict[str, Any]
    hits: list[RankedOut]
    items: list[TracedItemOut]


class Caption(BaseModel):
    word: str
    left: float = Field(description="Length of what is left of the word's unit vector outside the cone.")


class Stability(BaseModel):
    overlap: float | None = Field(description="Of the cone's span with that of refits: 1 is the same, 0 orthogonal.")
    auc: float | None = Field(description="How well the share tells items with the label from others, in refits.")
    auc_random: float | None = Field(description="The same for random cones.")
    auc_permuted: float | None = Field(description="The same for a fit to shuffled labels.")


class Concept(BaseModel):
    name: str
    n_atoms: int
    captions: list[Caption]
    strongest: int | None = Field(description="Items of which it is the largest part.")
    mean_share: float | None
    labelled: int | None = Field(description="Items with a label of that name.")
    stability: Stability | None = Field(description="Where it was checked; see POST /api/stability.")
    top: list[Hit] = Field(description="Items with the largest share; the score is the share.")


class Concepts(BaseModel):
    concepts: list[Concept]
    can_check: bool = Field(description="Whether the items have the labels that checking the stability needs.")
    vocabulary: str = Field(description='Where the caption words come from: "given", "texts" or "none".')


class Cooccurrence(BaseModel):
    concepts: list[str]
    counts: list[int] = Field(description="Items whose code uses the concept.")
    matrix: list[list[float]] = Field(description="Of the items that use the concept of the row, the share that also "
                                                  "uses the one of the column.")  # fmt: skip
    items: int = Field(description="Items looked at.")


class Label(BaseModel):
    name: str
    correlation: float = Field(description="Of the label with the bits, from -1 to 1.")


class BinaryConcept(BaseModel):
    concept: int
    count: int = Field(description="Items that have it.")
    share: float = Field(description="Of the weights of all binary concepts.")
    words: list[str] = Field(description="Words whose vectors point along it.")
    label: Label | None = Field(description="The label that goes most with it.")
    top: list[Item]


class Binary(BaseModel):
    cka: float = Field(description="How much of the similarities the binary concepts explain; 1 is all.")
    concepts: list[BinaryConcept]


class Cluster(BaseModel):
    cluster: int
    name: str = Field(description="Its first words, or the item that is most typical of it.")
    count: int
    own: float | None = Field(description="Mean share of its items that its own atoms make up.")
    common: float | None = Field(description="Mean share that the common atoms make up.")
    words: list[str]
    top: list[Item] = Field(description="Items that fit it best.")


class Clusters(BaseModel):
    n_atoms: int
    n_common: int
    clusters: list[Cluster]


class AnalogramRequest(Strict):
    items: list[Id] | None = Field(None, min_length=1, description="Ids; the concepts of the model if not given.")
    by: Literal["items", "model"] = Field(
        "items", description="By binary concepts of these items alone, or by those of the model."
    )
    max_concepts: int | None = Field(None, ge=1, le=400)
    max_nodes: int = Field(30, ge=2, le=200, description="No more concepts are taken than give a graph of that size.")


class Node(BaseModel):
    x: float
    y: float
    items: list[int] = Field(description="Which of the names stand here; none at a hidden node.")


class SetApart(BaseModel):
    share: float = Field(description="Of the weights of the concepts in the graph.")
    items: list[int] = Field(description="The names on its smaller side.")


class AnalogramOut(BaseModel):
    names: list[str]
    items: list[Item] | None
    by: str
    cka: float | None = Field(description="How much of the similarities all concepts of these items explain.")
    share: float = Field(description="Of the weight of all concepts that tell the items apart, what the graph has.")
    nodes: list[Node]
    edges: list[tuple[int, int, int]] = Field(description="Node without a concept, node with it, concept.")
    concepts: list[SetApart]


class StabilityRequest(Strict):
    n_runs: int = Field(5, ge=1, le=20)


class Started(BaseModel):
    started: bool


class RenameRequest(Strict):
    concept: Name
    name: Name


class Renamed(BaseModel):
    concepts: list[str]
    saved: bool = Field(description="Whether the name is in the model's file, or only in this explorer.")


class SelectionRequest(Strict):
    layout: Literal["pca", "neighbours"] = "pca"
    polygon: list[tuple[Place, Place]] = Field(min_length=3, max_length=500)
    k: int = Field(50, ge=0, description="So many items are listed.")


class Selection(BaseModel):
    count: int
    items: list[Item]
    shares: list[float] | None = Field(description="Mean share of each concept among the chosen items.")
    labels: dict[str, list[tuple[str, int]]] = Field(description="Per column of labels, how many chosen items have it.")


class Problem(BaseModel):
    detail: Any
