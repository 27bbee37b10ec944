import { describe, expect, it } from "vitest";
import { along, put, read, write } from "../../src/lib/address";

const query = (text: string) => new URLSearchParams(text);

describe("put", () => {
  it("replaces, appends value by value and takes away, and leaves the original alone", () => {
    const before = query("id=a&concept=x&concept=y&k=5");
    const after = put(before, { concept: ["y", "z"], k: null, diverse: "1" });
    expect(after.toString()).toBe("id=a&concept=y&concept=z&diverse=1");
    expect(before.toString()).toBe("id=a&concept=x&concept=y&k=5");
  });
  it("takes away by an empty list, an empty text and by nothing", () => {
    expect(put(query("a=1&b=2&c=3"), { a: [], b: "", c: undefined }).toString()).toBe("");
  });
  it("keeps what has a meaning in addresses", () => {
    const after = put(query(""), { concept: "a&b=c + ü/#?" });
    expect(query(after.toString()).get("concept")).toBe("a&b=c + ü/#?");
  });
});

describe("along", () => {
  it("carries the look of the map to where the map is, and nowhere else", () => {
    const now = query("colour=share:animal&layout=pca&lasso=0~0_1~0_1~1&id=a");
    expect(along("item", now).toString()).toBe("colour=share%3Aanimal&layout=pca");
    expect(along("map", now).toString()).toBe("colour=share%3Aanimal&layout=pca");
    expect(along("concepts", now).toString()).toBe("");
    expect(along("structure", now).toString()).toBe("");
  });
});

describe("read and write", () => {
  it("are inverse", () => {
    const address = write("item", query("id=a+b&concept=x"));
    const [pathname, search] = address.split(/(?=\?)/);
    expect(address).toBe("/item?id=a+b&concept=x");
    expect(read({ pathname, search })).toEqual({ view: "item", query: query("id=a+b&concept=x") });
  });
  it("leave out an empty query, and begin with the map", () => {
    expect(write("map", query(""))).toBe("/map");
    expect(read({ pathname: "/", search: "" }).view).toBe("map");
  });
});
