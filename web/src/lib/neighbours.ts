// Which neighbours of an item are asked for: what the address says, in words, and as a query.

import type { From, Info, Query, Reasons } from "./api";
import type { Values } from "./address";
import type { Asked } from "./python";

export interface Choice {
  concept: string[];
  without: string[];
  diverse: boolean;
  projection: boolean;
  k: number;
}

export const MOST = 200;
export const USUAL = 20;

/** Names that the model does not have are passed over. */
export function readChoice(
  query: URLSearchParams,
  { concepts, presence }: Pick<Info, "concepts" | "presence">,
): Choice {
  const known = (key: string) => query.getAll(key).filter((name) => concepts.includes(name));
  return {
    concept: known("concept"),
    without: known("without"),
    diverse: query.get("diverse") === "1",
    projection: presence && query.get("score") === "projection",
    k: Math.min(MOST, Math.max(1, Math.trunc(Number(query.get("k"))) || USUAL)),
  };
}

/** The same choice in an address. */
export const writeChoice = ({ concept, without, diverse, projection, k }: Choice): Values => ({
  concept,
  without,
  diverse: diverse ? "1" : null,
  k: k === USUAL ? null : String(k),
  score: projection ? "projection" : null,
});

export const isNarrowed = ({ concept, without }: Choice) => concept.length > 0 || without.length > 0;

export function titleOf({ concept, without }: Choice): string {
  const by = concept.length ? `By ${concept.join(" + ")}` : "As a whole";
  return without.length ? `${by} without ${without.join(", ")}` : by;
}

/** Seen through the chosen concepts, without those left out. */
export const askNarrowed = ({ concept, without, k, diverse, projection }: Choice): Asked => ({
  concept,
  without,
  k,
  diverse,
  score: projection ? "projection" : null,
});

/** The item as it is; beside a narrowed list it is there to compare with, and not made diverse. */
export const askWhole = (choice: Choice): Asked => ({ k: choice.k, diverse: choice.diverse && !isNarrowed(choice) });

const start = (from: From) => (typeof from === "string" ? { x: from } : { text: from.text });

/** No concept at all is said by null. */
export const queryFor = (from: From, { concept, without, ...rest }: Asked): Query => ({
  ...start(from),
  concept: concept?.length ? concept : null,
  without: without?.length ? without : null,
  ...rest,
});

/** Why items have the scores that a search shows. */
export const reasonsFor = (from: From, y: string[], { concept, without, score }: Asked): Reasons => ({
  ...start(from),
  y,
  concept: concept?.length ? concept : null,
  without: without?.length ? without : null,
  score: score ?? null,
  words: true,
});

export const toggle = (list: string[], name: string) =>
  list.includes(name) ? list.filter((other) => other !== name) : [...list, name];
