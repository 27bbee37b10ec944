// An item and its neighbours, to be marked on the map.

import type { Hit } from "../lib/api";
import type { Mark, Marks } from "./scatter";

interface Around {
  /** row of the item itself */
  centre: number | null;
  /** neighbours that a line leads to, in their colour */
  linked: Hit[];
  colour: string;
  /** neighbours to compare with */
  others: Hit[];
  hovered: number | null;
  dark: boolean;
}

/** What comes last is drawn on top. */
export function marksAround({ centre, linked, colour, others, hovered, dark }: Around): Marks {
  const grey = dark ? "#7d889b" : "#8a93a3";
  const pointed: Mark[] = hovered === null ? [] : [{ row: hovered, colour: dark ? "#fff" : "#000", linked: true }];
  return {
    centre,
    around: [
      ...others.map((hit) => ({ row: hit.item.row, colour: grey })),
      ...linked.map((hit) => ({ row: hit.item.row, colour, linked: true })),
      ...pointed,
    ],
  };
}
