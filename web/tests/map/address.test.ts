import { describe, expect, it } from "vitest";
import {
  parseColour,
  parseLasso,
  parseView,
  readColour,
  writeView,
  standardColour,
  writeColour,
  writeLasso,
  type Colour,
} from "../../src/map/address";
import { info } from "../info";

describe("colours in an address", () => {
  it.each<Colour>([
    { kind: "none" },
    { kind: "strongest" },
    { kind: "share", concept: "a:b % c/ü" },
    { kind: "label", column: "with:colon" },
    { kind: "has", column: "tags", value: "a:b" },
    { kind: "cluster", cluster: null },
    { kind: "cluster", cluster: 0 },
    { kind: "bit", concept: 12 },
  ])("come back as they were: $kind", (colour) => expect(parseColour(writeColour(colour))).toEqual(colour));

  it("that nobody knows are none", () => {
    expect(parseColour("")).toEqual({ kind: "none" });
    expect(parseColour("rainbow:x")).toEqual({ kind: "none" });
  });
  it("that are broken do not throw", () => {
    expect(parseColour("share:%E0%A4%A")).toEqual({ kind: "share", concept: "%E0%A4%A" });
    expect(parseColour("cluster:x")).toEqual({ kind: "cluster", cluster: 0 });
    expect(parseColour("bit:")).toEqual({ kind: "bit", concept: 0 });
  });
});

describe("standardColour", () => {
  const column = { name: "kind", kind: "label", values: ["x"], counts: [1] };
  it("prefers concepts, then clusters, then labels", () => {
    expect(standardColour(info({ n_clusters: 3 }))).toEqual({ kind: "strongest" });
    const bare = { concepts: [], columns: [column] };
    expect(standardColour(info({ ...bare, n_clusters: 3 }))).toEqual({ kind: "cluster", cluster: null });
    expect(standardColour(info(bare))).toEqual({ kind: "label", column: "kind" });
    expect(standardColour(info({ ...bare, columns: [{ ...column, kind: "text" }] }))).toEqual({ kind: "none" });
  });
});

describe("a lasso in an address", () => {
  it("comes back to a thousandth", () => {
    const text = writeLasso([[0.12345, -1], [1, 0], [0, 1]]); // prettier-ignore
    expect(text).toBe("0.123~-1.000_1.000~0.000_0.000~1.000");
    expect(parseLasso(text)).toEqual([[0.123, -1], [1, 0], [0, 1]]); // prettier-ignore
  });
  it.each([null, "", "0~0_1~1", "0~0_1~1_x~1", "0~0_1~1_1", "0~0_1~1_1~1~1", "0~0_1~1_1~Infinity"])(
    "that is none is nothing: %s",
    (text) => expect(parseLasso(text)).toBeNull(),
  );
  it("has at most 500 corners", () => {
    expect(parseLasso(Array(800).fill("0~1").join("_"))).toHaveLength(500);
  });
});

describe("the camera", () => {
  it("comes back as it was", () => {
    const view = { x: -0.1234, y: 0.5, zoom: 12.5 };
    expect(parseView(writeView(view))).toEqual(view);
  });
  it("is not written for the whole map", () => expect(writeView({ x: 0, y: 0, zoom: 1 })).toBeNull());
  it.each([null, "", "1~2", "a~b~c", "1~2~0", "1~2~-3", "1~2~Infinity"])("is none in %s", (text) =>
    expect(parseView(text)).toBeNull(),
  );
});

describe("a colour in the address", () => {
  it.each(["rainbow", "share:nobody", "label:labels", "has:labels:x", "cluster", "bit:0", ""])(
    "is none for what is not there: %s",
    (text) => expect(readColour(text, info())).toBeNull(),
  );
  it("is one for what is", () => {
    expect(readColour("none", info())).toEqual({ kind: "none" });
    expect(readColour("share:animal", info())).toEqual({ kind: "share", concept: "animal" });
    expect(readColour("cluster:1", info({ n_clusters: 2 }))).toEqual({ kind: "cluster", cluster: 1 });
  });
});
