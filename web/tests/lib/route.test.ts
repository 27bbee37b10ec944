import { beforeEach, describe, expect, it } from "vitest";
import { change, follow, go, link, route } from "../../src/lib/route.svelte";

beforeEach(() => go("/map"));

describe("the address as state", () => {
  it("changes with go, and a link carries the colours along", () => {
    go("/map?colour=none&lasso=0~0_1~0_1~1");
    expect([route.view, route.query.get("colour")]).toEqual(["map", "none"]);
    expect(link("item", { id: "a" })).toBe("/item?colour=none&id=a");
    expect(link("item", { id: "a", colour: null })).toBe("/item?id=a");
    expect(link("concepts")).toBe("/concepts");
  });
  it("changes some values of a view and keeps the others", () => {
    go("/item?id=a&k=50");
    change({ concept: ["x", "y"], k: null });
    expect(location.pathname + location.search).toBe("/item?id=a&concept=x&concept=y");
    expect(route.query.getAll("concept")).toEqual(["x", "y"]);
  });
  it("adds to the history once, or replaces", () => {
    const length = history.length;
    go("/map");
    expect(history.length).toBe(length);
    go("/concepts", true);
    expect(history.length).toBe(length);
    go("/structure");
    expect(history.length).toBe(length + 1);
  });
});

describe("follow", () => {
  function click(html: string, how: MouseEventInit = {}) {
    document.body.innerHTML = html;
    const event = new MouseEvent("click", { bubbles: true, cancelable: true, ...how });
    Object.defineProperty(event, "target", { value: document.body.querySelector("span, a") });
    follow(event);
    return event.defaultPrevented;
  }
  it("takes plain links of the page", () => {
    expect(click('<a href="/item?id=b"><span>b</span></a>')).toBe(true);
    expect([route.view, route.query.get("id")]).toEqual(["item", "b"]);
  });
  it.each([
    ["another place", '<a href="https://example.org/x">x</a>', {}],
    ["a download", '<a href="/x" download>x</a>', {}],
    ["a new tab", '<a href="/x" target="_blank">x</a>', {}],
    ["the service", '<a href="/api/item?id=a">x</a>', {}],
    ["a place on the page", '<a href="#main">x</a>', {}],
    ["a click with Ctrl", '<a href="/concepts">x</a>', { ctrlKey: true }],
    ["the middle button", '<a href="/concepts">x</a>', { button: 1 }],
    ["no link", "<span>x</span>", {}],
  ])("leaves %s to the browser", (_, html, how) => {
    expect(click(html, how)).toBe(false);
    expect(route.view).toBe("map");
  });
});
