import { expect, it } from "vitest";
import type { Analogram } from "../../src/lib/api";
import { marks, placed } from "../../src/lib/graph";

const square: Analogram = {
  names: ["a", "b", "c", "d"],
  items: null,
  by: "items",
  cka: 1,
  share: 1,
  nodes: [[-1, -1], [1, -1], [-1, 1], [1, 1]].map(([x, y], i) => ({ x, y, items: [i] })), // prettier-ignore
  edges: [[0, 1, 0], [2, 3, 0], [0, 2, 1], [1, 3, 1]], // prettier-ignore
  concepts: [0, 1].map((c) => ({ share: 0.5, items: [c] })),
};

it("places nodes within the frame, keeps room for names and parallel edges parallel", () => {
  const at = placed(square, 800, 500, 100);
  for (const { x, y } of at) {
    expect(x).toBeGreaterThanOrEqual(100);
    expect(x).toBeLessThanOrEqual(700);
    expect(y).toBeGreaterThanOrEqual(0);
    expect(y).toBeLessThanOrEqual(500);
  }
  expect(at[1].x - at[0].x).toBeCloseTo(at[3].x - at[2].x);
  expect(at[0].y).toBeGreaterThan(at[2].y); // up is up
});
it("writes names outwards", () => {
  const at = placed(square, 800, 500, 100);
  expect(at.map((node) => node.anchor)).toEqual(["end", "start", "end", "start"]);
});
it("moves names apart that would lie on each other", () => {
  const near: Analogram = { ...square, nodes: [0, 0.001, 0.002].map((y, i) => ({ x: i / 1000, y, items: [i] })) };
  near.nodes.push({ x: 1, y: 1, items: [] }, { x: -1, y: -1, items: [] });
  const lines = placed(near, 800, 500, 100)
    .filter((node) => node.items.length)
    .map((node) => node.y + node.dy)
    .sort((a, b) => a - b);
  expect(lines[1] - lines[0]).toBeGreaterThanOrEqual(13.9);
  expect(lines[2] - lines[1]).toBeGreaterThanOrEqual(13.9);
});
it("bears a single node", () => {
  const [only] = placed({ ...square, nodes: [{ x: 3, y: 4, items: [0] }] }, 800, 500, 100);
  expect([only.x, only.y]).toEqual([400, 250]);
});
it("numbers a concept at its outermost edge", () => {
  const at = placed(square, 800, 500, 100);
  const [first] = marks(square, at, 800, 500);
  const middles = [[0, 1], [2, 3]].map(([v, u]) => (at[v].y + at[u].y) / 2); // prettier-ignore
  expect(middles).toContain(first.y);
  expect(first.x).toBeCloseTo(400);
});
