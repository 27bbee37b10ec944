// How the map looks, as text that goes into the address of the page.

import type { Info } from "../lib/api";
import type { View } from "./camera";

export type Colour =
  | { kind: "none" }
  | { kind: "strongest" }
  | { kind: "share"; concept: string }
  | { kind: "label"; column: string }
  | { kind: "has"; column: string; value: string }
  | { kind: "cluster"; cluster: number | null }
  | { kind: "bit"; concept: number }
  | { kind: "find"; text: string };

export function parseColour(text: string): Colour {
  const [kind, a = "", b = ""] = text.split(":").map((part) => {
    try {
      return decodeURIComponent(part);
    } catch {
      return part;
    }
  });
  if (kind === "strongest") return { kind };
  if (kind === "share") return { kind, concept: a };
  if (kind === "label") return { kind, column: a };
  if (kind === "has") return { kind, column: a, value: b };
  if (kind === "cluster") return { kind, cluster: a === "" ? null : Number(a) || 0 };
  if (kind === "bit") return { kind, concept: Number(a) || 0 };
  if (kind === "find" && a) return { kind, text: a };
  return { kind: "none" };
}

const enc = encodeURIComponent;

export function writeColour(colour: Colour): string {
  if (colour.kind === "share") return `share:${enc(colour.concept)}`;
  if (colour.kind === "label") return `label:${enc(colour.column)}`;
  if (colour.kind === "has") return `has:${enc(colour.column)}:${enc(colour.value)}`;
  if (colour.kind === "cluster") return colour.cluster === null ? "cluster" : `cluster:${colour.cluster}`;
  if (colour.kind === "bit") return `bit:${colour.concept}`;
  if (colour.kind === "find") return `find:${enc(colour.text)}`;
  return colour.kind;
}

/** What the map shows when nobody chose: concepts, else clusters, else a column of labels. */
export function standardColour(info: Info): Colour {
  if (info.concepts.length) return { kind: "strongest" };
  if (info.n_clusters) return { kind: "cluster", cluster: null };
  const column = info.columns.find((c) => c.kind === "label");
  return column ? { kind: "label", column: column.name } : { kind: "none" };
}

/** The colour that an address asks for; null if there is no such thing here. */
export function readColour(text: string, info: Info): Colour | null {
  const colour = parseColour(text);
  if (colour.kind === "none" && text !== "none") return null;
  return isKnown(colour, info) ? colour : null;
}

function isKnown(colour: Colour, info: Info): boolean {
  const column = (name: string) => info.columns.find((c) => c.name === name);
  if (colour.kind === "strongest") return info.concepts.length > 0;
  if (colour.kind === "share") return info.concepts.includes(colour.concept);
  if (colour.kind === "cluster") return (info.n_clusters ?? 0) > (colour.cluster ?? 0);
  if (colour.kind === "bit") return colour.concept < (info.n_binary ?? 0);
  if (colour.kind === "label") return column(colour.column)?.kind === "label";
  if (colour.kind === "has") return column(colour.column)?.values.includes(colour.value) ?? false;
  return true;
}

/** Where one looks, as x~y~zoom. */
export function parseView(text: string | null): View | null {
  const [x, y, zoom] = (text ?? "").split("~").map(Number);
  return [x, y, zoom].every(Number.isFinite) && zoom > 0 ? { x, y, zoom } : null;
}

/** Nothing for the whole map. */
export const writeView = ({ x, y, zoom }: View) =>
  Math.hypot(x, y) < 1e-3 && Math.abs(zoom - 1) < 1e-3
    ? null
    : `${x.toFixed(4)}~${y.toFixed(4)}~${Number(zoom.toPrecision(4))}`;

export function parseLasso(text: string | null): [number, number][] | null {
  const corners = (text ?? "").split("_").map((pair) => pair.split("~").map(Number) as [number, number]);
  const sound = corners.length >= 3 && corners.every((c) => c.length === 2 && c.every(Number.isFinite));
  return sound ? corners.slice(0, 500) : null;
}

export const writeLasso = (polygon: [number, number][]) =>
  polygon.map(([x, y]) => `${x.toFixed(3)}~${y.toFixed(3)}`).join("_");
