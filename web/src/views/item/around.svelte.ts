// What a search found, on the map: rings around it, and everything else fades where it was narrowed.

import type { Choice } from "../../lib/neighbours";
import { conceptColour, shared } from "../../lib/state.svelte";
import { marksAround } from "../../map/marks";
import { stage } from "../../map/stage.svelte";
import type { Search } from "./search.svelte";

interface Shown {
  /** row of the item that was searched from */
  row: number | null;
  choice: Choice;
  whole: Search;
  /** the narrowed search, if there is one */
  narrow: Search | null;
  hovered: number | null;
  /** whether what was found stands out even if nothing was narrowed */
  always?: boolean;
}

export function markOnMap(shown: () => Shown) {
  $effect(() => {
    const { row, choice, whole, narrow, hovered } = shown();
    const ink = shared.dark ? "#ffffff" : "#10131a";
    stage.marks = marksAround({
      centre: row,
      linked: (narrow ?? whole).hits ?? [],
      colour: choice.concept.length ? conceptColour(choice.concept[0]) : ink,
      others: (narrow && whole.hits) || [],
      hovered,
      dark: shared.dark,
    });
  });
  $effect(() => {
    const { row, whole, narrow, always } = shown();
    const rows = narrow || always ? (narrow ?? whole).hits?.map((hit) => hit.item.row) : null;
    stage.lit = rows ? [...(row === null ? [] : [row]), ...rows] : null;
  });
  $effect(() => () => {
    stage.marks = { centre: null, around: [] };
    stage.lit = null;
  });
}
