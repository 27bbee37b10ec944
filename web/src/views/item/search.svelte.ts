// One list of neighbours, asked for again whenever the question changes.

import { api, type Hit, type Query } from "../../lib/api";
import { ready } from "../../lib/state.svelte";

export class Search {
  hits = $state.raw<Hit[] | null>(null);
  problem = $state("");

  constructor(question: () => Query | null) {
    const asked = $derived(JSON.stringify(question())); // text, so that only a real change asks again
    const measured = $derived(ready("shares"));
    $effect(() => {
      const query: Query | null = JSON.parse(asked);
      void measured; // the list shows parts once these are
      this.hits = null;
      this.problem = "";
      if (query === null) return;
      const controller = new AbortController();
      api
        .search(query, controller.signal)
        .then((hits) => (this.hits = hits))
        .catch((error) => {
          if (error.name !== "AbortError") this.problem = error.message;
        });
      return () => controller.abort();
    });
  }
}
