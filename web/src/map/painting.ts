// From what the map is coloured by to a colour for each point and a legend.

import type { api, Info } from "../lib/api";
import { byCode, byValue, css, faint, hue, plainDot, plainPaint, type Paint, type Rgb } from "../lib/colours";
import { writeColour, type Colour } from "./address";

export interface Entry {
  name: string;
  colour: string;
  count: number;
  /** the colour that shows this one alone; empty where it is alone already */
  address: string;
}
export interface Ramp {
  name: string;
  from: string;
  to: string;
  high: number;
}
export interface Painted {
  paint: Paint;
  legend: Entry[];
  ramp: Ramp | null;
}
/** Where the numbers come from. */
export type Source = Pick<typeof api, "shares" | "strongest" | "labels" | "bits" | "predict" | "matches">;

/** What clusters and binary concepts are called. */
export interface Called {
  cluster: (c: number) => string;
  bit: (j: number) => string;
}

const NUMBERED: Called = { cluster: (c) => `group ${c + 1}`, bit: (j) => `yes/no ${j + 1}` };

/** What has to be computed before the map can be painted so. */
export function needs({ kind }: Colour): string | null {
  if (kind === "strongest" || kind === "share") return "shares";
  if (kind === "cluster") return "clusters";
  return kind === "bit" ? "bits" : null;
}

export const paintPlain = (n: number, dark: boolean): Painted => ({
  paint: plainPaint(n, plainDot(dark)),
  legend: [],
  ramp: null,
});

export async function paintBy(
  wanted: Colour,
  info: Info,
  dark: boolean,
  source: Source,
  called: Called = NUMBERED,
): Promise<Painted> {
  const { concepts } = info;
  switch (wanted.kind) {
    case "none":
      return paintPlain(info.count, dark);
    case "share": {
      const strong = hue(Math.max(0, concepts.indexOf(wanted.concept)), concepts.length, dark);
      const { high, ...paint } = byValue(await source.shares(wanted.concept), strong, dark);
      return { paint, legend: [], ramp: { name: wanted.concept, from: css(faint(dark)), to: css(strong), high } };
    }
    case "bit":
      return alone(called.bit(wanted.concept), await source.bits(wanted.concept), plainDot(dark), dark);
    case "has": {
      const at = info.labels.indexOf(wanted.value);
      const strong = at >= 0 ? hue(at, concepts.length, dark) : plainDot(dark);
      return alone(wanted.value, await source.labels(wanted.column, wanted.value), strong, dark);
    }
    case "cluster": {
      const { cluster } = wanted;
      const count = info.n_clusters ?? 0;
      const codes = await source.predict();
      if (cluster !== null) {
        const only = codes.map((code) => (code === cluster ? 1 : 0));
        return alone(called.cluster(cluster), only, hue(cluster, count, dark), dark);
      }
      const names = Array.from({ length: count }, (_, c) => called.cluster(c));
      return each(names, codes, dark, (_, c) => ({ kind: "cluster", cluster: c }));
    }
    case "find":
      return alone(`“${wanted.text}”`, await source.matches(wanted.text), plainDot(dark), dark);
    case "strongest":
      return each(concepts, await source.strongest(), dark, (concept) => ({ kind: "share", concept }));
    case "label": {
      const { column } = wanted;
      const values = info.columns.find((c) => c.name === column)?.values ?? [];
      return each(values, await source.labels(column), dark, (value) => ({ kind: "has", column, value }));
    }
  }
}

/** A colour for each name, and for each a way to see it alone. */
function each(names: string[], codes: Uint16Array, dark: boolean, only: (name: string, i: number) => Colour): Painted {
  const table = names.map((_, i) => hue(i, names.length, dark));
  const counts = new Uint32Array(names.length);
  for (const code of codes) if (code < counts.length) counts[code]++;
  const legend = names.map((name, i) => ({
    name,
    colour: css(table[i]),
    count: counts[i],
    address: writeColour(only(name, i)),
  }));
  return { paint: byCode(codes, table, dark), legend, ramp: null };
}

/** Those that have it in a colour, the others faint. */
function alone(name: string, has: Uint16Array, strong: Rgb, dark: boolean): Painted {
  const codes = has.map((on) => (on ? 0 : 1));
  const count = has.reduce((sum, on) => sum + on, 0);
  return {
    paint: byCode(codes, [strong], dark),
    legend: [{ name, colour: css(strong), count, address: "" }],
    ramp: null,
  };
}
