// Which neighbours of an item are asked for: what the address says, in words, and as a query.

import type { Info, Query, Reasons } from "./api";
import type { Values } from "./address";
import type { Asked } from "./python";

export interface Choice {
  concept: string[];
  without: string[];
  diverse: boolean;
  gated: boolean;
  k: number;
}

export const MOST = 200;
export const USUAL = 20;

/** Names that the model does not have are passed over. */
export function readChoice(query: URLSearchParams, { concepts, gated }: Pick<Info, "concepts" | "gated">): Choice {
  const known = (key: string) => query.getAll(key).filter((name) => concepts.includes(name));
  return {
    concept: known("concept"),
    without: known("without"),
    diverse: query.get("diverse") === "1",
    gated: gated && query.get("score") === "gated",
    k: Math.min(MOST, Math.max(1, Math.trunc(Number(query.get("k"))) || USUAL)),
  };
}

/** The same choice in an address. */
export const writeChoice = ({ concept, without, diverse, gated, k }: Choice): Values => ({
  concept,
  without,
  diverse: diverse ? "1" : null,
  k: k === USUAL ? null : String(k),
  score: gated ? "gated" : null,
});

export const isNarrowed = ({ concept, without }: Choice) => concept.length > 0 || without.length > 0;

export function titleOf({ concept, without }: Choice): string {
  const by = concept.length ? `By ${concept.join(" + ")}` : "As a whole";
  return without.length ? `${by} without ${without.join(", ")}` : by;
}

/** Seen through the chosen concepts, without those left out. */
export const askNarrowed = ({ concept, without, k, diverse, gated }: Choice): Asked => ({
  concept,
  without,
  k,
  diverse,
  score: gated && concept.length ? "gated" : "cosine",
});

/** The item as it is; beside a narrowed list it is there to compare with, and not made diverse. */
export const askWhole = (choice: Choice): Asked => ({ k: choice.k, diverse: choice.diverse && !isNarrowed(choice) });

/** No concept at all is said by null. */
export const queryFor = (x: string, { concept, without, ...rest }: Asked): Query => ({
  x,
  concept: concept?.length ? concept : null,
  without: without?.length ? without : null,
  ...rest,
});

/** Why items have the scores that a search shows. */
export const reasonsFor = (x: string, y: string[], { concept, without, score }: Asked): Reasons => ({
  x,
  y,
  concept: concept?.length ? concept : null,
  without: without?.length ? without : null,
  score: score ?? "cosine",
  words: true,
});

export const toggle = (list: string[], name: string) =>
  list.includes(name) ? list.filter((other) => other !== name) : [...list, name];
