import { beforeEach, describe, expect, it } from "vitest";
import { python } from "../../src/lib/python";
import { shared } from "../../src/lib/state.svelte";
import { info } from "../info";

beforeEach(() => (shared.info = info()));
const last = (code: string, from: number) => code.trimEnd().split("\n").slice(from);

describe("a search as Python", () => {
  it("names only what was asked for", () => {
    expect(python.search("a", { k: 20 })).toContain('hits = search.search("a", k=20)\n');
    expect(
      python.search("a", {
        concept: ["animal", "plant"],
        without: ["plant"],
        k: 5,
        diverse: true,
        score: "projection",
      }),
    ).toContain(
      'search.search("a", k=5, concept=["animal", "plant"], without="plant", score="projection", diverse=True)',
    );
    expect(python.search("a", { k: 20, score: null })).not.toContain("score=");
  });
  it("does without concepts where there is no model", () => {
    shared.info = info({ concepts: [], model: null });
    const code = python.search("a", { k: 20 });
    expect(code).toContain('search = ConceptSearch(collection)\nhits = search.search("a", k=20)');
    expect(code).not.toMatch(/model/);
  });
  it("is explained as it was asked", () => {
    expect(python.explain("a", "b", { concept: ["animal"], without: ["plant"], k: 5 })).toContain(
      'print(search.explain("a", "b", concept="animal", without="plant"))',
    );
  });
  it("starts from a text, with the encoder by its name or in words", () => {
    shared.info = info({ encoder: "clip:some/model" });
    const code = python.search({ text: "a dog" }, { k: 3 });
    expect(code).toContain("import Collection, ConceptSearch, Text\n");
    expect(code).toContain('encoder = "clip:some/model"\nsearch = ConceptSearch(collection, model, encoder=encoder)');
    expect(code).toContain('search.search(Text("a dog"), k=3)');
    shared.info = info({ encoder: "embed" });
    expect(python.explain({ text: "a dog" }, "b")).toContain("encoder = ...  # the one");
  });
  it("says where the model is missing if it came without a file", () => {
    shared.info = info({ model: null });
    expect(python.search("a", { k: 1 })).toContain("model = ...  # the model that was given to pellucid.explore");
  });
});

describe("texts that come from the data", () => {
  it("cannot break out of their quotes", () => {
    const id = 'a"); import os #\n\\';
    const [line] = last(python.item(id), -1);
    expect(line).toBe('print(collection.item(collection.position("a\\"); import os #\\n\\\\")))');
    expect(python.shares('x"y')).toContain('.index("x\\"y")');
  });
});

describe("other results as Python", () => {
  it("load the model they need", () => {
    shared.info = info({ files: { clusters: "/data/c.safetensors" } });
    expect(python.predict()).toContain('clusters = pellucid.load("/data/c.safetensors")');
    expect(python.bits(3)).toContain("binary = ...  #");
    expect(python.bits(3)).toContain("bits[:, 3].sum()");
  });
  it("measure parts as the page does, by shares", () => {
    expect(python.parts("a")).toContain("model.shares(x)[0]");
    expect(python.selectionParts(["a", "b"])).toContain("model.shares(X).mean(axis=0)");
    expect(python.selectionParts(["a", "b"])).toContain('ids = ["a","b"]');
  });
  it("draw the concepts if no items are chosen", () => {
    expect(python.analogram(null, "items", 30)).toContain("names = list(model.concept_names_)");
    expect(python.analogram(["a"], "model", 60)).toContain("binary.concepts_ = binary.transform(X)");
    expect(python.analogram(["a"], "model", 60)).toContain("max_nodes=60");
  });
  it("end with a line", () => {
    for (const code of [
      python.map("pca"),
      python.concepts(),
      python.cooccurrence(),
      python.clusters(),
      python.binary(),
    ]) {
      expect(code).toMatch(/^import pellucid\n[^]*[^\n]\n$/);
    }
  });
});
