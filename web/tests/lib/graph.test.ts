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

const said = (items: number[]) => items.map((i) => square.names[i]).join(" ");

it("places nodes within the frame, keeps room for names and parallel edges parallel", () => {
  const at = placed(square, 800, 500, 100, said);
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
  const at = placed(square, 800, 500, 100, said);
  expect(at.map((node) => node.anchor)).toEqual(["end", "start", "end", "start"]);
});
it("moves names apart that would lie on each other", () => {
  const near: Analogram = { ...square, nodes: [0, 0.001, 0.002].map((y, i) => ({ x: i / 1000, y, items: [i] })) };
  near.nodes.push({ x: 1, y: 1, items: [] }, { x: -1, y: -1, items: [] });
  const boxes = placed(near, 800, 500, 100, said)
    .filter((node) => node.items.length)
    .map((node) => [node.x + node.dx - (node.anchor === "end" ? 6.7 : 0), node.y + node.dy]);
  for (const [i, [x, y]] of boxes.entries())
    for (const [left, line] of boxes.slice(0, i))
      expect(Math.abs(x - left) >= 6.7 || Math.abs(y - line) >= 13.9).toBe(true);
});
it("writes a name where no edge runs, if there is such a side", () => {
  // edges to the right and above: the name of the left node goes left or down
  const at = placed(square, 800, 500, 100, () => "a long name");
  const [left, , up] = at;
  expect(left.anchor === "end" || left.dy > 10).toBe(true);
  expect(up.anchor === "end" || up.dy < 0).toBe(true);
});
it("bears a single node", () => {
  const [only] = placed({ ...square, nodes: [{ x: 3, y: 4, items: [0] }], edges: [] }, 800, 500, 100, said);
  expect([only.x, only.y]).toEqual([400, 250]);
});
it("numbers a concept at its outermost edge", () => {
  const at = placed(square, 800, 500, 100, said);
  const [first] = marks(square, at, 800, 500);
  const middles = [[0, 1], [2, 3]].map(([v, u]) => (at[v].y + at[u].y) / 2); // prettier-ignore
  expect(middles).toContain(first.y);
  expect(first.x).toBeCloseTo(400);
});
