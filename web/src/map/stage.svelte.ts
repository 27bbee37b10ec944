// What the panels want the map to show.

import type { Marks, Scatter } from "./scatter";

export const stage = $state({
  marks: { centre: null, around: [] } as Marks,
  layout: "pca",
});

/** The map on the screen, for pictures of it. */
export const current: { scatter: Scatter | null } = { scatter: null };

const enc = encodeURIComponent;

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

export function writeColour(colour: Colour): string {
  if (colour.kind === "share") return `share:${enc(colour.concept)}`;
  if (colour.kind === "label") return `label:${enc(colour.column)}`;
  if (colour.kind === "has") return `has:${enc(colour.column)}:${enc(colour.value)}`;
  if (colour.kind === "cluster") return colour.cluster === null ? "cluster" : `cluster:${colour.cluster}`;
  if (colour.kind === "bit") return `bit:${colour.concept}`;
  return colour.kind;
}

export function parseLasso(text: string | null): [number, number][] | null {
  const corners = (text ?? "").split("_").map((pair) => pair.split("~").map(Number) as [number, number]);
  const sound = corners.length >= 3 && corners.every((c) => c.length === 2 && c.every(Number.isFinite));
  return sound ? corners.slice(0, 500) : null;
}

export const writeLasso = (polygon: [number, number][]) =>
  polygon.map(([x, y]) => `${x.toFixed(3)}~${y.toFixed(3)}`).join("_");
