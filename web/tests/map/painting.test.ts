import { describe, expect, it } from "vitest";
import { css, faint, hue, pack, plainDot } from "../../src/lib/colours";
import { needs, paintBy, paintPlain, type Source } from "../../src/map/painting";
import { info } from "../info";

const source: Source = {
  shares: async () => Float32Array.of(0, 0.5, 1),
  strongest: async () => Uint16Array.of(0, 1, 1),
  labels: async (_, value) => (value === undefined ? Uint16Array.of(0, 65_535, 0) : Uint16Array.of(1, 0, 1)),
  bits: async () => Uint16Array.of(0, 0, 1),
  predict: async () => Uint16Array.of(2, 2, 0),
  matches: async () => Uint16Array.of(1, 0, 0),
};
const tags = { name: "tags", kind: "label", values: ["plant"], counts: [2] };

describe("paintBy", () => {
  it("gives each concept a colour, a count and a way to see it alone", async () => {
    const { legend, paint, ramp } = await paintBy({ kind: "strongest" }, info(), true, source);
    expect(legend.map(({ name, count, address }) => [name, count, address])).toEqual([
      ["animal", 1, "share:animal"],
      ["plant", 2, "share:plant"],
    ]);
    expect(legend[1].colour).toBe(css(hue(1, 2, true)));
    expect([...paint.colours]).toEqual([0, 1, 1].map((i) => pack(hue(i, 2, true))));
    expect(ramp).toBeNull();
  });
  it("shows a share as a ramp in the concept's colour", async () => {
    const { legend, ramp } = await paintBy({ kind: "share", concept: "plant" }, info(), false, source);
    expect(legend).toEqual([]);
    expect(ramp).toEqual({ name: "plant", from: css(faint(false)), to: css(hue(1, 2, false)), high: 1 });
  });
  it("counts labels, not items without one", async () => {
    const { legend } = await paintBy({ kind: "label", column: "tags" }, info({ columns: [tags] }), true, source);
    expect(legend).toEqual([{ name: "plant", colour: css(hue(0, 1, true)), count: 2, address: "has:tags:plant" }]);
  });
  it("has no legend for a column that is not there", async () => {
    const { legend, paint } = await paintBy({ kind: "label", column: "gone" }, info(), true, source);
    expect(legend).toEqual([]);
    expect([...paint.colours]).toEqual(Array(3).fill(pack(faint(true))));
  });
  it("shows a label alone, in the colour of the concept of that name if there is one", async () => {
    const known = await paintBy({ kind: "has", column: "tags", value: "plant" }, info(), true, source);
    expect(known.legend).toEqual([{ name: "plant", colour: css(hue(1, 2, true)), count: 2, address: "" }]);
    const other = await paintBy({ kind: "has", column: "tags", value: "blue" }, info(), true, source);
    expect(other.legend[0].colour).toBe(css(plainDot(true)));
  });
  it("shows all clusters, also empty ones, or one alone", async () => {
    const clustered = info({ n_clusters: 3 });
    const all = await paintBy({ kind: "cluster", cluster: null }, clustered, true, source);
    expect(all.legend.map(({ name, count }) => [name, count])).toEqual([["group 1", 1], ["group 2", 0], ["group 3", 2]]); // prettier-ignore
    const one = await paintBy({ kind: "cluster", cluster: 2 }, clustered, true, source);
    expect(one.legend).toEqual([{ name: "group 3", colour: css(hue(2, 3, true)), count: 2, address: "" }]);
    expect([...one.paint.order!]).toEqual([2, 0, 1]);
  });
  it("shows a binary concept, or one colour", async () => {
    expect((await paintBy({ kind: "bit", concept: 4 }, info(), true, source)).legend[0]).toMatchObject({ count: 1 });
    expect(await paintBy({ kind: "none" }, info(), true, source)).toEqual(paintPlain(3, true));
  });
});

it("needs says what must be computed first", () => {
  expect(needs({ kind: "strongest" })).toBe("shares");
  expect(needs({ kind: "share", concept: "x" })).toBe("shares");
  expect(needs({ kind: "cluster", cluster: 1 })).toBe("clusters");
  expect(needs({ kind: "bit", concept: 1 })).toBe("bits");
  expect(needs({ kind: "label", column: "x" })).toBeNull();
  expect(needs({ kind: "none" })).toBeNull();
});
