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

/** ``aside`` is kept free at both sides, for names. */
export function placed(graph: Analogram, width: number, height: number, aside: number): Placed[] {
  const xs = graph.nodes.map((n) => n.x);
  const ys = graph.nodes.map((n) => n.y);
  const [left, right, low, high] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
  const wide = (width - 2 * aside) / Math.max(right - left, 1e-9);
  const tall = (height - 76) / Math.max(high - low, 1e-9);
  const scale = Math.min(wide, tall);
  const [sx, sy] = [Math.min(wide, 1.9 * scale), Math.min(tall, 1.9 * scale)];
  const found = graph.nodes.map((node): Placed => {
    const x = width / 2 + (node.x - (left + right) / 2) * sx;
    const y = height / 2 - (node.y - (low + high) / 2) * sy;
    const out = Math.atan2(y - height / 2, x - width / 2);
    const [c, s] = [Math.cos(out), Math.sin(out)];
    const anchor = c > 0.35 ? "start" : c < -0.35 ? "end" : "middle";
    return {
      x,
      y,
      items: node.items,
      anchor,
      dx: anchor === "middle" ? 0 : 10 * Math.sign(c),
      dy: anchor === "middle" ? (s > 0 ? 20 : -11) : 4,
    };
  });
  return apart(found, aside);
}

/** Names that would lie on each other move down by a line. */
function apart(nodes: Placed[], wide: number): Placed[] {
  const left = (n: Placed) => n.x + n.dx - (n.anchor === "start" ? 0 : n.anchor === "end" ? wide : wide / 2);
  const named = nodes.filter((n) => n.items.length).sort((a, b) => a.y + a.dy - b.y - b.dy);
  named.forEach((node, i) => {
    for (const above of named.slice(0, i)) {
      const near = Math.abs(left(node) - left(above)) < wide * 0.9;
      if (near && Math.abs(node.y + node.dy - above.y - above.dy) < 14) node.dy = above.y + above.dy + 14 - node.y;
    }
  });
  return nodes;
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
