// How the map looks, as text that goes into the address of the page.

import type { Info } from "../lib/api";

export type Colour =
  | { kind: "none" }
  | { kind: "strongest" }
  | { kind: "share"; concept: string }
  | { kind: "label"; column: string }
  | { kind: "has"; column: string; value: string }
  | { kind: "cluster"; cluster: number | null }
  | { kind: "bit"; concept: number };

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
  return { kind: "none" };
}

const enc = encodeURIComponent;

export function writeColour(colour: Colour): string {
  if (colour.kind === "share") return `share:${enc(colour.concept)}`;
  if (colour.kind === "label") return `label:${enc(colour.column)}`;
  if (colour.kind === "has") return `has:${enc(colour.column)}:${enc(colour.value)}`;
  if (colour.kind === "cluster") return colour.cluster === null ? "cluster" : `cluster:${colour.cluster}`;
  if (colour.kind === "bit") return `bit:${colour.concept}`;
  return colour.kind;
}

/** What the map shows when nobody chose: concepts, else clusters, else a column of labels. */
export function standardColour(info: Info): Colour {
  if (info.concepts.length) return { kind: "strongest" };
  if (info.n_clusters) return { kind: "cluster", cluster: null };
  const column = info.columns.find((c) => c.kind === "label");
  return column ? { kind: "label", column: column.name } : { kind: "none" };
}

export function parseLasso(text: string | null): [number, number][] | null {
  const corners = (text ?? "").split("_").map((pair) => pair.split("~").map(Number) as [number, number]);
  const sound = corners.length >= 3 && corners.every((c) => c.length === 2 && c.every(Number.isFinite));
  return sound ? corners.slice(0, 500) : null;
}

export const writeLasso = (polygon: [number, number][]) =>
  polygon.map(([x, y]) => `${x.toFixed(3)}~${y.toFixed(3)}`).join("_");
