// The HTTP service, in its own words.

export interface Column {
  name: string;
  kind: "label" | "labels" | "text" | "other";
  values: string[];
  counts: number[];
}
export interface Info {
  name: string;
  folder: string;
  count: number;
  dimension: number;
  engine: string;
  columns: Column[];
  text_column: string | null;
  has_thumbnails: boolean;
  model: string | null;
  concepts: string[];
  gated: boolean;
  n_clusters: number | null;
  n_binary: number | null;
  files: Record<string, string>;
  image_shape: number[] | null;
  version: string;
}
export interface Status {
  progress: Record<string, number>;
  failed: Record<string, string>;
}
export interface Item {
  id: string;
  row: number;
  [column: string]: unknown;
}
export interface Hit {
  rank: number;
  score: number;
  id: string;
  item: Item;
  shares: number[] | null;
}
export interface Part {
  concept: string;
  share: number;
}
export interface Parts {
  id: string;
  parts: Part[];
  explained: number;
}
export interface Explanation {
  names: string[];
  terms: number[];
  residual: number;
  cosine: number;
  residual_share: number;
  words: string[][];
}
export interface Concept {
  name: string;
  n_atoms: number;
  captions: { word: string; left: number }[];
  strongest: number | null;
  mean_share: number | null;
  labelled: number | null;
  stability: { overlap: number | null; auc: number | null; auc_random: number | null; auc_permuted: number | null } | null;
  top: Hit[];
}
export interface Cooccurrence {
  concepts: string[];
  counts: number[];
  matrix: number[][];
  items: number;
}
export interface Selection {
  count: number;
  items: Item[];
  shares: number[] | null;
  labels: Record<string, [string, number][]>;
}
export interface BinaryConcept {
  concept: number;
  count: number;
  share: number;
  words: string[];
  label: { name: string; correlation: number } | null;
  top: Item[];
}
export interface Cluster {
  cluster: number;
  count: number;
  own: number | null;
  common: number | null;
  words: string[];
  top: Item[];
}
export interface Clusters {
  n_atoms: number;
  n_common: number;
  clusters: Cluster[];
}
export interface Analogram {
  names: string[];
  items: Item[] | null;
  by: "items" | "model";
  cka: number | null;
  share: number;
  nodes: { x: number; y: number; items: number[] }[];
  edges: [number, number, number][];
  concepts: { share: number; items: number[] }[];
}
export interface Query {
  x: string;
  concept?: string[] | null;
  without?: string[] | null;
  k: number;
  diverse?: boolean;
  score?: "cosine" | "gated";
}

export class Problem extends Error {
  constructor(
    message: string,
    readonly status: number,
  ) {
    super(message);
  }
}

async function ask(path: string, init?: RequestInit): Promise<Response> {
  let answer: Response;
  try {
    answer = await fetch(path, init);
  } catch (error) {
    if ((error as Error).name === "AbortError") throw error;
    throw new Problem("The explorer does not answer: is it still running?", 0);
  }
  if (answer.ok) return answer;
  const told = await answer.json().catch(() => ({}));
  throw new Problem(told.detail ?? `The explorer answered ${answer.status}.`, answer.status);
}

const address = (path: string, parameters: Record<string, string | number>) =>
  `${path}?${new URLSearchParams(Object.entries(parameters).map(([key, value]) => [key, String(value)]))}`;

async function get<T>(path: string, parameters: Record<string, string | number> = {}, signal?: AbortSignal): Promise<T> {
  return (await ask(address(path, parameters), { signal })).json();
}

async function post<T>(path: string, body: unknown, signal?: AbortSignal): Promise<T> {
  const headers = { "content-type": "application/json" };
  return (await ask(path, { method: "POST", headers, body: JSON.stringify(body), signal })).json();
}

async function bytes(path: string, parameters: Record<string, string> = {}): Promise<ArrayBuffer> {
  return (await ask(address(path, parameters))).arrayBuffer();
}

export const api = {
  collection: () => get<Info>("/api/collection"),
  status: () => get<Status>("/api/status"),
  map: async (layout: string) => new Float32Array(await bytes("/api/map", { layout })),
  shares: async (concept: string) => new Float32Array(await bytes("/api/shares", { concept })),
  strongest: async () => new Uint16Array(await bytes("/api/strongest")),
  labels: async (column: string, value?: string) =>
    new Uint16Array(await bytes("/api/labels", value === undefined ? { column } : { column, value })),
  items: (parameters: { find?: string; row?: number; k?: number }, signal?: AbortSignal) =>
    get<{ items: Item[] }>("/api/items", parameters as Record<string, string | number>, signal),
  item: (id: string) => get<Item>("/api/item", { id }),
  parts: (id: string) => get<Parts>("/api/parts", { id }),
  search: (query: Query, signal?: AbortSignal) => post<{ hits: Hit[] }>("/api/search", query, signal),
  explain: (x: string, y: string[], words: boolean, signal?: AbortSignal) =>
    post<{ explanations: Explanation[] }>("/api/explain", { x, y, words }, signal),
  concepts: () => get<{ concepts: Concept[]; vocabulary: string; can_check: boolean }>("/api/concepts"),
  cooccurrence: () => get<Cooccurrence>("/api/cooccurrence"),
  stability: (n_runs: number) => post<{ started: boolean }>("/api/stability", { n_runs }),
  rename: (concept: string, name: string) =>
    post<{ concepts: string[]; saved: boolean }>("/api/rename", { concept, name }),
  selection: (layout: string, polygon: [number, number][], k: number) =>
    post<Selection>("/api/selection", { layout, polygon, k }),
  binary: () => get<{ cka: number; concepts: BinaryConcept[] }>("/api/binary"),
  bits: async (concept: number) => new Uint16Array(await bytes("/api/bits", { concept: String(concept) })),
  clusters: () => get<Clusters>("/api/clusters"),
  predict: async () => new Uint16Array(await bytes("/api/predict")),
  atoms: async (cluster: number | null) =>
    new Float32Array(await bytes("/api/atoms", cluster === null ? {} : { cluster: String(cluster) })),
  reconstruct: async (id: string) => new Float32Array(await bytes("/api/reconstruct", { id })),
  analogram: (asked: { items: string[] | null; by: string; max_nodes: number }, signal?: AbortSignal) =>
    post<Analogram>("/api/analogram", asked, signal),
  thumbnail: (id: string) => address("/api/thumbnail", { id }),
};
