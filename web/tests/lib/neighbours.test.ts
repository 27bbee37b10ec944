import { describe, expect, it } from "vitest";
import { put } from "../../src/lib/address";
import {
  askNarrowed,
  askWhole,
  isNarrowed,
  queryFor,
  reasonsFor,
  readChoice,
  titleOf,
  toggle,
  writeChoice,
} from "../../src/lib/neighbours";
import { info } from "../info";

const choice = (text: string, presence = true) => readChoice(new URLSearchParams(text), info({ presence }));

describe("readChoice", () => {
  it("has the usual answer for an address that says nothing", () => {
    expect(choice("id=a")).toEqual({ concept: [], without: [], diverse: false, projection: false, k: 20 });
  });
  it("passes over concepts that the model does not have", () => {
    expect(choice("concept=animal&concept=nothing&without=else").concept).toEqual(["animal"]);
    expect(isNarrowed(choice("concept=nothing&without=else"))).toBe(false);
  });
  it.each([
    ["k=0", 20],
    ["k=-3", 1],
    ["k=2.9", 2],
    ["k=many", 20],
    ["k=1e9", 200],
    ["k=Infinity", 200],
  ])("keeps %s within limits", (text, k) => expect(choice(text).k).toBe(k));
  it("asks for gates only where the model has them", () => {
    expect(choice("score=projection").projection).toBe(true);
    expect(choice("score=projection", false).projection).toBe(false);
  });
  it("comes back from what writeChoice puts into an address", () => {
    for (const text of ["", "concept=plant&without=animal&diverse=1&k=50&score=projection"]) {
      expect(put(new URLSearchParams(), writeChoice(choice(text))).toString()).toBe(text);
    }
  });
});

describe("questions", () => {
  it("are titled by what they ask", () => {
    expect(titleOf(choice(""))).toBe("As a whole");
    expect(titleOf(choice("concept=animal&concept=plant"))).toBe("By animal + plant");
    expect(titleOf(choice("without=animal&without=plant"))).toBe("As a whole without animal, plant");
    expect(titleOf(choice("concept=plant&without=animal"))).toBe("By plant without animal");
  });
  it("use gates only to look through a concept", () => {
    expect(askNarrowed(choice("concept=plant&score=projection")).score).toBe("projection");
    expect(askNarrowed(choice("without=plant")).score).toBe(null);
  });
  it("make the whole list diverse only where it stands alone", () => {
    expect(askWhole(choice("diverse=1")).diverse).toBe(true);
    expect(askWhole(choice("diverse=1&concept=plant"))).toEqual({ k: 20, diverse: false });
  });
  it("say by null that no concept is meant", () => {
    expect(queryFor("a", { concept: [], k: 5 })).toEqual({ x: "a", concept: null, without: null, k: 5 });
    expect(queryFor("a", { without: ["plant"], k: 5 }).without).toEqual(["plant"]);
    expect(queryFor({ text: "a dog" }, { k: 5 })).toEqual({ text: "a dog", concept: null, without: null, k: 5 });
    expect(reasonsFor({ text: "a dog" }, ["b"], { k: 5 })).toMatchObject({ text: "a dog", y: ["b"] });
    const asked = { concept: null, without: ["plant"], score: null, words: true };
    expect(reasonsFor("a", ["b"], { concept: [], without: ["plant"], k: 5 })).toEqual({ x: "a", y: ["b"], ...asked });
  });
});

it("toggle adds at the end and takes away without touching the list", () => {
  const list = ["a", "b"];
  expect(toggle(list, "c")).toEqual(["a", "b", "c"]);
  expect(toggle(list, "a")).toEqual(["b"]);
  expect(list).toEqual(["a", "b"]);
});
