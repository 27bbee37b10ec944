// The HTTP service, in its own words: ./schema comes from the description that the service gives of itself (make web).

import type { components, paths } from "./schema";

type Schemas = components["schemas"];
export type Info = Schemas["CollectionInfo"];
export type Status = Schemas["Status"];
export type Item = Schemas["Item"];
export type Hit = Schemas["Hit"];
export type Part = Schemas["Part"];
export type Parts = Schemas["Parts"];
export type Explanation = Schemas["ExplanationOut"];
export type Reasons = Schemas["ExplainRequest"];
export type Concept = Schemas["Concept"];
export type Cooccurrence = Schemas["Cooccurrence"];
export type Selection = Schemas["Selection"];
export type Binary = Schemas["Binary"];
export type BinaryConcept = Schemas["BinaryConcept"];
export type Cluster = Schemas["Cluster"];
export type MapName = Schemas["MapName"];
export type Clusters = Schemas["Clusters"];
export type Analogram = Schemas["AnalogramOut"];
/** What a search starts from: an item, by its id, or a text. */
export type From = string | { text: string };
/** The page always asks for one item or one text. */
export type Query = Schemas["SearchRequest"] & ({ x: string } | { text: string });

export type Layout = NonNullable<NonNullable<Asked<paths["/api/map"]["get"]>>["layout"]>;

type Json<Operation> = Operation extends { responses: { 200: { content: { "application/json": infer Answer } } } }
  ? Answer
  : never;
type Asked<Operation> = Operation extends { parameters: { query?: infer Parameters } } ? Parameters : never;
type Sent<Operation> = Operation extends { requestBody: { content: { "application/json": infer Body } } }
  ? Body
  : never;
type Getting = { [P in keyof paths]: paths[P] extends { get: object } ? P : never }[keyof paths];
type Posting = { [P in keyof paths]: paths[P] extends { post: object } ? P : never }[keyof paths];

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

/** A path with its parameters; a list is given value by value, and what is not given is left out. */
export function address<P extends Getting>(path: P, parameters?: Asked<paths[P]["get"]>): string {
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries(parameters ?? {})) {
    for (const one of [value ?? []].flat()) query.append(key, String(one));
  }
  const text = query.toString();
  return text ? `${path}?${text}` : path;
}

async function get<P extends Getting>(
  path: P,
  parameters?: Asked<paths[P]["get"]>,
  signal?: AbortSignal,
): Promise<Json<paths[P]["get"]>> {
  return (await ask(address(path, parameters), { signal })).json();
}

async function post<P extends Posting>(
  path: P,
  body: Sent<paths[P]["post"]>,
  signal?: AbortSignal,
): Promise<Json<paths[P]["post"]>> {
  const headers = { "content-type": "application/json" };
  return (await ask(path, { method: "POST", headers, body: JSON.stringify(body), signal })).json();
}

async function bytes<P extends Getting>(path: P, parameters?: Asked<paths[P]["get"]>): Promise<ArrayBuffer> {
  return (await ask(address(path, parameters))).arrayBuffer();
}

export const api = {
  collection: () => get("/api/collection"),
  status: (signal?: AbortSignal) => get("/api/status", undefined, signal),
  map: async (layout: Layout) => new Float32Array(await bytes("/api/map", { layout })),
  shares: async (concept: string) => new Float32Array(await bytes("/api/shares", { concept })),
  strongest: async () => new Uint16Array(await bytes("/api/strongest")),
  labels: async (column: string, value?: string) => new Uint16Array(await bytes("/api/labels", { column, value })),
  names: async (layout: Layout) => (await get("/api/names", { layout })).names,
  matches: async (find: string) => new Uint16Array(await bytes("/api/matches", { find })),
  items: (wanted: Asked<paths["/api/items"]["get"]>, signal?: AbortSignal) => get("/api/items", wanted, signal),
  item: (id: string) => get("/api/item", { id }),
  parts: (id: string) => get("/api/parts", { id }),
  search: async (query: Query, signal?: AbortSignal) => (await post("/api/search", query, signal)).hits as Hit[],
  explain: (reasons: Reasons, signal?: AbortSignal) => post("/api/explain", reasons, signal),
  concepts: () => get("/api/concepts"),
  cooccurrence: () => get("/api/cooccurrence"),
  stability: (n_runs: number) => post("/api/stability", { n_runs }),
  stopStability: () => post("/api/stability/stop", undefined as never),
  rename: (concept: string, name: string) => post("/api/rename", { concept, name }),
  selection: (layout: Layout, polygon: [number, number][], k: number) => post("/api/selection", { layout, polygon, k }),
  binary: () => get("/api/binary"),
  bits: async (concept: number) => new Uint16Array(await bytes("/api/bits", { concept })),
  clusters: () => get("/api/clusters"),
  predict: async () => new Uint16Array(await bytes("/api/predict")),
  atoms: async (cluster: number | null) => new Float32Array(await bytes("/api/atoms", { cluster })),
  reconstruct: async (id: string) => new Float32Array(await bytes("/api/reconstruct", { id })),
  analogram: (asked: Sent<paths["/api/analogram"]["post"]>, signal?: AbortSignal) =>
    post("/api/analogram", asked, signal),
  thumbnail: (id: string) => address("/api/thumbnail", { id }),
};
