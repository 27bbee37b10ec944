// Every result as the lines of Python that give it.

import type { From, Layout, Query } from "./api";
import { shared } from "./state.svelte";

const quote = (text: string) => JSON.stringify(text);
const names = (list: string[]) => (list.length === 1 ? quote(list[0]) : `[${list.map(quote).join(", ")}]`);

/** ``search`` is what the lines search from, if they do. */
function opening(search: From | null, other?: "clusters" | "binary"): string[] {
  const info = shared.info!;
  const lines = ["import pellucid"];
  const text = search !== null && typeof search !== "string";
  const needed = ["Collection", ...(search === null ? [] : ["ConceptSearch"]), ...(text ? ["Text"] : [])];
  lines.push(`from pellucid.search import ${needed.join(", ")}`, "");
  lines.push(`collection = Collection.open(${quote(info.folder)})`);
  if (info.concepts.length) {
    lines.push(
      info.model
        ? `model = pellucid.load(${quote(info.model)})`
        : "model = ...  # the model that was given to pellucid.explore",
    );
  }
  if (text) {
    const named = info.encoder?.includes(":"); // as a function's own name does not
    lines.push(`encoder = ${named ? quote(info.encoder!) : "...  # the one that was given to pellucid.explore"}`);
  }
  const with_ = [...(info.concepts.length ? ["model"] : []), ...(text ? ["encoder=encoder"] : [])];
  if (search !== null) lines.push(`search = ConceptSearch(${["collection", ...with_].join(", ")})`);
  if (other) {
    const file = info.files[other];
    lines.push(
      file
        ? `${other} = pellucid.load(${quote(file)})`
        : `${other} = ...  # the model that was given to pellucid.explore`,
    );
  }
  return lines;
}

const started = (from: From) => (typeof from === "string" ? quote(from) : `Text(${quote(from.text)})`);
const row = (id: string) => `x = collection.vectors([collection.position(${quote(id)})])`;
const block = (...lines: string[]) => lines.join("\n") + "\n";

const sharesOf = (concept: string) => [
  `share = model.shares(collection.vectors())[:, list(model.concept_names_).index(${quote(concept)})]`,
];

const chosen = (ids: string[]) => [
  `ids = ${JSON.stringify(ids)}`,
  "X = collection.vectors([collection.position(i) for i in ids])",
];

export interface Asked {
  concept?: string[];
  without?: string[];
  k: number;
  diverse?: boolean;
  score?: Query["score"];
}

/** What a search and its explanation are asked alike. */
const seenThrough = ({ concept = [], without = [], score }: Partial<Asked>) => [
  ...(concept.length ? [`concept=${names(concept)}`] : []),
  ...(without.length ? [`without=${names(without)}`] : []),
  ...(score === "projection" ? ['score="projection"'] : []),
];

export const python = {
  search(from: From, asked: Asked) {
    const options = [started(from), `k=${asked.k}`, ...seenThrough(asked)];
    if (asked.diverse) options.push("diverse=True");
    return block(
      ...opening(from),
      `hits = search.search(${options.join(", ")})`,
      "for hit in hits:",
      '    print(hit.rank, f"{hit.score:.3f}", hit.item)',
    );
  },
  parts: (id: string) =>
    block(
      ...opening(null),
      row(id),
      "for name, share in zip(model.concept_names_, model.shares(x)[0]):  # they add up to what is explained",
      '    print(f"{share:6.1%}  {name}")',
    ),
  explain: (x: From, y: string, asked: Partial<Asked> = {}) =>
    block(...opening(x), `print(search.explain(${[started(x), quote(y), ...seenThrough(asked)].join(", ")}))`),
  item: (id: string) => block(...opening(null), `print(collection.item(collection.position(${quote(id)})))`),
  map: (layout: Layout) =>
    block(
      ...opening(null),
      "",
      "from pellucid.explorer import places",
      "",
      `xy = places(collection, ${quote(layout)})`,
      "for id, (x, y) in zip(collection.ids, xy):",
      '    print(f"{x:7.3f} {y:7.3f}  {id}")',
    ),
  shares: (concept: string) => block(...opening(null), ...sharesOf(concept)),
  top: (concept: string, k: number) =>
    block(
      ...opening(null),
      ...sharesOf(concept),
      `for row in (-share).argsort()[:${k}]:`,
      '    print(f"{share[row]:6.1%}", collection.ids[row])',
    ),
  concepts: () =>
    block(
      ...opening(null),
      "shares = model.shares(collection.vectors())",
      "for name, share in zip(model.concept_names_, shares.mean(axis=0)):",
      '    print(f"{share:6.1%}  {name}")',
    ),
  cooccurrence: () =>
    block(
      ...opening(null),
      'used = model.encode(collection.vectors(), method="omp") > 0',
      "on = [used[:, model.groups_ == j].any(axis=1) for j in range(len(model.concept_names_))]",
      "for name, row in zip(model.concept_names_, on):",
      '    print(f"{name:16}", *(f"{(row & other).sum() / max(row.sum(), 1):.2f}" for other in on))',
    ),
  predict: () =>
    block(
      ...opening(null, "clusters"),
      "labels = clusters.predict(collection.vectors())",
      "for cluster in range(len(clusters.atoms_)):",
      "    print(cluster, (labels == cluster).sum())",
    ),
  clusters: () =>
    block(
      ...opening(null, "clusters"),
      "X = collection.vectors()",
      "labels = clusters.predict(X)",
      "mean, own, common = clusters.shares(X).T",
      "own += mean",
      "for cluster in range(len(clusters.atoms_)):",
      "    mine = labels == cluster",
      '    print(f"{cluster}: {mine.sum()} items, {own[mine].mean():.0%} its own, {common[mine].mean():.0%} shared by all")',
    ),
  reconstruct: (id: string) =>
    block(
      ...opening(null, "clusters"),
      row(id),
      "mean, own, common = (clusters.reconstruct(x, parts=part) for part in ('mean', 'own', 'common'))",
      'for name, part in (("own", mean + own), ("common", common)):',
      "    share = (part * x).sum() / (x * x).sum()",
      '    print(f"{share:6.1%}  {name}")',
    ),
  bits: (concept: number) =>
    block(
      ...opening(null, "binary"),
      "bits = binary.transform(collection.vectors())",
      `print(bits[:, ${concept}].sum(), "items have it")`,
    ),
  binary: () =>
    block(
      ...opening(null, "binary"),
      "bits = binary.transform(collection.vectors())",
      "for concept, weight in enumerate(binary.weights_ / binary.weights_.sum()):",
      '    print(f"{concept:3} {weight:6.1%} {bits[:, concept].sum()} items")',
    ),
  analogram(ids: string[] | null, by: string, nodes: number) {
    const lines = opening(null, by === "model" ? "binary" : undefined);
    if (ids)
      lines.push(
        `names = ${JSON.stringify(ids)}`,
        "X = collection.vectors([collection.position(name) for name in names])",
      );
    else
      lines.push(
        "names = list(model.concept_names_)",
        "X = [model.atoms_[model.groups_ == j].mean(axis=0) for j in range(len(names))]",
        "X = [x / (x @ x) ** 0.5 for x in X]",
      );
    if (by === "model") lines.push("binary.concepts_ = binary.transform(X)");
    else lines.push("binary = pellucid.IterativeAssignment(4, random_state=0).fit(X)");
    return block(
      ...lines,
      "",
      "from pellucid.binary import analogram_of",
      "",
      `view = analogram_of(binary, names=names, max_nodes=${nodes})`,
      'view.graph.plot().figure.savefig("analogram.svg")',
      'print(len(view.graph.nodes), "nodes,", len(view.weights), "concepts")',
    );
  },
  selection: (ids: string[]) => block(...opening(null), ...chosen(ids)),
  selectionParts: (ids: string[]) =>
    block(
      ...opening(null),
      ...chosen(ids),
      "for name, share in zip(model.concept_names_, model.shares(X).mean(axis=0)):",
      '    print(f"{share:6.1%}  {name}")',
    ),
};
