import { afterEach, describe, expect, it, vi } from "vitest";
import { address, api, Problem } from "../../src/lib/api";

const answering = (answer: unknown, init?: ResponseInit) => {
  const body = answer instanceof ArrayBuffer ? answer : JSON.stringify(answer);
  const asked = vi.fn(async () => new Response(body, init));
  vi.stubGlobal("fetch", asked);
  return asked as unknown as ReturnType<typeof vi.fn<typeof fetch>>;
};

afterEach(() => vi.unstubAllGlobals());

describe("address", () => {
  it("gives a list value by value, and leaves out what is not given", () => {
    expect(address("/api/items", { row: [0, 7], k: 0 })).toBe("/api/items?row=0&row=7&k=0");
    expect(address("/api/labels", { column: "a b", value: undefined })).toBe("/api/labels?column=a+b");
    expect(address("/api/atoms", { cluster: null })).toBe("/api/atoms");
    expect(api.thumbnail("a/b&c")).toBe("/api/thumbnail?id=a%2Fb%26c");
  });
});

describe("api", () => {
  it("reads arrays as they lie in memory", async () => {
    answering(Float32Array.of(0.5, -1).buffer);
    expect([...(await api.map("pca"))]).toEqual([0.5, -1]);
    answering(Uint16Array.of(65_535, 2).buffer);
    expect([...(await api.strongest())]).toEqual([65_535, 2]);
  });
  it("sends a search as JSON and hands back the hits", async () => {
    const asked = answering({ hits: [{ rank: 1 }] });
    expect(await api.search({ x: "a", k: 3 })).toEqual([{ rank: 1 }]);
    const [path, init] = asked.mock.calls[0];
    expect([path, init?.method, init?.body]).toEqual(["/api/search", "POST", '{"x":"a","k":3}']);
  });
  it("passes on what the service says is wrong", async () => {
    answering({ detail: "There is no item x." }, { status: 404 });
    await expect(api.item("x")).rejects.toMatchObject({ message: "There is no item x.", status: 404 });
  });
  it("says something even if the answer is not JSON", async () => {
    vi.stubGlobal("fetch", async () => new Response("<html>", { status: 502 }));
    await expect(api.status()).rejects.toThrow("The explorer answered 502.");
  });
  it("tells a dead service from a search that was given up", async () => {
    vi.stubGlobal("fetch", () => Promise.reject(new TypeError("Failed to fetch")));
    await expect(api.status()).rejects.toBeInstanceOf(Problem);
    vi.stubGlobal("fetch", () => Promise.reject(new DOMException("stopped", "AbortError")));
    await expect(api.status()).rejects.not.toBeInstanceOf(Problem);
  });
});
