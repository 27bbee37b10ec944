// Analograms on paper and on the screen: where nodes and names go. Stretching keeps parallel edges parallel.

import type { Analogram } from "./api";

export const MOST_DRAWN = 24;

export interface Placed {
  x: number;
  y: number;
  /** what stands here, and where its name goes */
  items: number[];
  anchor: "start" | "middle" | "end";
  dx: number;
  dy: number;
}

/** ``aside`` is kept free at both sides, for names; ``said`` is what is written at a node. */
export function placed(
  graph: Analogram,
  width: number,
  height: number,
  aside: number,
  said: (items: number[]) => string,
): Placed[] {
  const xs = graph.nodes.map((n) => n.x);
  const ys = graph.nodes.map((n) => n.y);
  const [left, right, low, high] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
  const wide = (width - 2 * aside) / Math.max(right - left, 1e-9);
  const tall = (height - 76) / Math.max(high - low, 1e-9);
  const scale = Math.min(wide, tall);
  const [sx, sy] = [Math.min(wide, 1.9 * scale), Math.min(tall, 1.9 * scale)];
  const at = graph.nodes.map((node) => ({
    x: width / 2 + (node.x - (left + right) / 2) * sx,
    y: height / 2 - (node.y - (low + high) / 2) * sy,
    items: node.items,
  }));
  return named(at, graph.edges, said, width, height);
}

type Box = [left: number, top: number, right: number, bottom: number];
const SIDES: [anchor: Placed["anchor"], dx: number, dy: number][] = [
  ["start", 10, 4],
  ["end", -10, 4],
  ["middle", 0, 20],
  ["middle", 0, -11],
  ["start", 8, 17],
  ["end", -8, 17],
  ["start", 8, -8],
  ["end", -8, -8],
];
const LINE = 14;

/** Each name at the side of its node where it covers least: other names, nodes, edges; outwards if that is equal. */
function named(
  nodes: { x: number; y: number; items: number[] }[],
  edges: Analogram["edges"],
  said: (items: number[]) => string,
  width: number,
  height: number,
): Placed[] {
  const taken: Box[] = [];
  return nodes.map((node) => {
    const { x, y } = node;
    if (!node.items.length) return { ...node, anchor: "start" as const, dx: 0, dy: 0 };
    const long = 6.7 * said(node.items).length;
    const [ox, oy] = [x - width / 2, y - height / 2];
    const out = Math.hypot(ox, oy) || 1;
    let best = { cost: Infinity, place: SIDES[0], box: [0, 0, 0, 0] as Box };
    for (const down of [0, LINE, -LINE, 2 * LINE]) {
      for (const place of SIDES) {
        const [anchor, dx, dy] = [place[0], place[1], place[2] + down];
        const from = x + dx - (anchor === "start" ? 0 : anchor === "end" ? long : long / 2);
        const box: Box = [from, y + dy - 11, from + long, y + dy + 3];
        const away = (ox * Math.sign(dx) + oy * (anchor === "middle" ? Math.sign(dy) : 0)) / out;
        const cost =
          40 * Number(box[0] < 2 || box[1] < 2 || box[2] > width - 2 || box[3] > height - 2) +
          20 * taken.filter((other) => meet(box, other)).length +
          8 * nodes.filter((other) => meet(box, [other.x - 5, other.y - 5, other.x + 5, other.y + 5])).length +
          3 * edges.filter(([v, u]) => crosses(box, nodes[v], nodes[u])).length +
          Math.abs(down) / LINE -
          away / 2;
        if (cost < best.cost) best = { cost, place: [anchor, dx, dy], box };
      }
    }
    taken.push(best.box);
    const [anchor, dx, dy] = best.place;
    return { ...node, anchor, dx, dy };
  });
}

const meet = (a: Box, b: Box) => a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3];

/** Whether a part of the line from v to u lies within the box. */
function crosses([left, top, right, bottom]: Box, v: { x: number; y: number }, u: { x: number; y: number }): boolean {
  let [first, last] = [0, 1];
  for (const [from, to, low, high] of [
    [v.x, u.x, left, right],
    [v.y, u.y, top, bottom],
  ]) {
    if (from === to) {
      if (from < low || from > high) return false;
      continue;
    }
    const [a, b] = [(low - from) / (to - from), (high - from) / (to - from)];
    first = Math.max(first, Math.min(a, b));
    last = Math.min(last, Math.max(a, b));
  }
  return first < last;
}

/** The middle of a concept's outermost edge, for its number. */
export function marks(graph: Analogram, at: Placed[], width: number, height: number): { x: number; y: number }[] {
  return graph.concepts.map((_, concept) => {
    let best = { x: 0, y: 0 };
    let far = -1;
    for (const [v, u, c] of graph.edges) {
      if (c !== concept) continue;
      const middle = { x: (at[v].x + at[u].x) / 2, y: (at[v].y + at[u].y) / 2 };
      const away = Math.hypot(middle.x - width / 2, middle.y - height / 2);
      if (away > far) [best, far] = [middle, away];
    }
    return best;
  });
}
