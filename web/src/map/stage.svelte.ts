// What the panels want the map to show.

import type { Marks } from "./scatter";

export const stage = $state({
  marks: { centre: null, around: [] } as Marks,
  /** rows that stand out, while all others fade */
  lit: null as number[] | null,
});
