// Every result as the lines of Python that give it.

import { shared } from "./state.svelte";

const quote = (text: string) => JSON.stringify(text);
const names = (list: string[]) => (list.length === 1 ? quote(list[0]) : `[${list.map(quote).join(", ")}]`);

function opening(search: boolean): string[] {
  const info = shared.info!;
  const lines = ["import pellucid"];
  lines.push(`from pellucid.search import Collection${search && info.concepts.length ? ", ConceptSearch" : ""}`, "");
  lines.push(`collection = Collection.open(${quote(info.folder)})`);
  if (info.concepts.length) {
    lines.push(info.model ? `model = pellucid.load(${quote(info.model)})` : "model = ...  # the model that was given to pellucid.explore");
    if (search) lines.push("search = ConceptSearch(collection, model)");
  }
  return lines;
}

const row = (id: string) => `x = collection.vectors([collection.position(${quote(id)})])`;
const block = (...lines: string[]) => lines.join("\n") + "\n";

const sharesOf = (concept: string) => [
  "X = collection.vectors()",
  `mine = model.groups_ == list(model.concept_names_).index(${quote(concept)})`,
  "share = (model.encode(X) * (X @ model.atoms_.T))[:, mine].sum(axis=1) / (X * X).sum(axis=1)",
];

export interface Asked {
  concept?: string[];
  without?: string[];
  k: number;
  diverse?: boolean;
  score?: string;
}

export const python = {
  search(id: string, { concept = [], without = [], k, diverse, score }: Asked) {
    if (!shared.info!.concepts.length) {
      return block(...opening(false), row(id), `positions, scores = collection.search(x, k=${k + 1})`,
        "for position, score in zip(positions[0][1:], scores[0][1:]):",
        '    print(f"{score:.3f}", collection.item(position))');
    }
    const options = [quote(id)];
    if (concept.length) options.push(`concept=${names(concept)}`);
    options.push(`k=${k}`);
    if (without.length) options.push(`without=${names(without)}`);
    if (diverse) options.push("diverse=True");
    if (score === "gated") options.push('score="gated"');
    return block(...opening(true), `hits = search.search(${options.join(", ")})`, "for hit in hits:",
      '    print(hit.rank, f"{hit.score:.3f}", hit.item)');
  },
  parts: (id: string) =>
    block(...opening(false), row(id), "terms = model.components(x)[0] @ x[0] / (x[0] @ x[0])  # they add up to what is explained",
      "for name, share in zip(model.concept_names_, terms):", '    print(f"{share:6.1%}  {name}")'),
  explain: (x: string, y: string) => block(...opening(true), `print(search.explain(${quote(x)}, ${quote(y)}))`),
  item: (id: string) => block(...opening(false), `print(collection.item(collection.position(${quote(id)})))`),
  map: () =>
    block(...opening(false), "", "from sklearn.decomposition import PCA", "", "X = collection.vectors()",
      "places = PCA(n_components=2).fit_transform(X)"),
  shares: (concept: string) => block(...opening(false), ...sharesOf(concept)),
  top: (concept: string, k: number) =>
    block(...opening(false), ...sharesOf(concept),
      `for row in (-share).argsort()[:${k}]:`, '    print(f"{share[row]:6.1%}", collection.ids[row])'),
  concepts: () =>
    block(...opening(false), "X = collection.vectors()", "terms = model.encode(X) * (X @ model.atoms_.T)",
      "for j, name in enumerate(model.concept_names_):",
      '    share = terms[:, model.groups_ == j].sum(axis=1) / (X * X).sum(axis=1)',
      '    print(f"{share.mean():6.1%}  {name}")'),
  cooccurrence: () =>
    block(...opening(false), 'used = model.encode(collection.vectors(), method="omp") > 0',
      "on = [used[:, model.groups_ == j].any(axis=1) for j in range(len(model.concept_names_))]",
      "for name, row in zip(model.concept_names_, on):",
      '    print(f"{name:16}", *(f"{(row & other).sum() / max(row.sum(), 1):.2f}" for other in on))'),
  selection: (ids: string[]) =>
    block(...opening(false), `ids = ${JSON.stringify(ids)}`, "X = collection.vectors([collection.position(i) for i in ids])"),
};
