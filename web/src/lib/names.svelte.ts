// What clusters and binary concepts are called: by words, once these are known.

import { api } from "./api";
import { distinct } from "./format";
import { ready, shared } from "./state.svelte";

export const called = $state({ clusters: null as string[] | null, bits: null as string[] | null });
let asked = false;
let wanted = false;

/** The names, asked for once each, when they can be had. */
export function learnNames() {
  if (shared.info?.n_clusters && ready("clusters") && !asked) {
    asked = true;
    api
      .clusters()
      .then((found) => (called.clusters = distinct(found.clusters.map((c) => c.name))))
      .catch(() => (asked = false)); // asked again when it is next looked at
  }
  if (shared.info?.n_binary && ready("bits") && !wanted) {
    wanted = true;
    api
      .binary()
      .then((found) => {
        const names: string[] = [];
        for (const c of found.concepts) names[c.concept] = c.words.slice(0, 2).join(", ") || (c.label?.name ?? "");
        called.bits = distinct(names);
      })
      .catch(() => (wanted = false));
  }
}

export const clusterName = (c: number) => called.clusters?.[c] ?? `group ${c + 1}`;
export const bitName = (j: number) => called.bits?.[j] ?? `yes/no ${j + 1}`;
