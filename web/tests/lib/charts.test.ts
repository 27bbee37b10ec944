import { beforeEach, expect, it } from "vitest";
import { bars, hitsChart, whyChart } from "../../src/lib/charts";
import { shared } from "../../src/lib/state.svelte";
import { hit, info } from "../info";

beforeEach(() => (shared.info = info()));
const drawn = (svg: string) => new DOMParser().parseFromString(svg, "image/svg+xml").documentElement;
const lengths = (svg: string) =>
  [...drawn(svg).querySelectorAll("rect")].slice(1).map((r) => Number(r.getAttribute("width")));

it("bars are as long as their shares, the largest the longest", () => {
  const svg = bars("Parts", [{ name: "animal", share: 0.5 }, { name: "plant", share: 0.25 }]); // prettier-ignore
  expect(lengths(svg)).toEqual([380, 190]);
  expect(svg).toContain("25.0 %");
});
it("texts of the data stay texts", () => {
  const svg = bars('<script>&"', []);
  expect(svg).toContain("&lt;script&gt;&amp;&quot;");
  expect(svg).not.toContain("<script>");
});
it("hits show their parts within one line, whatever they add up to", () => {
  const svg = hitsChart("By animal", "query", [{ ...hit(0), shares: [1.5, 0.5] }, { ...hit(1), shares: [-0.5, 0.5] }]); // prettier-ignore
  expect(lengths(svg)).toEqual([60, 20, 0, 40]);
});
it("terms for and against lie on either side of the line", () => {
  const why = {
    names: ["animal", "plant"],
    terms: [0.4, -0.2],
    residual: 0.1,
    score: 0.8,
    presence: 0.5,
    residual_share: 0,
    words: [],
  };
  const [up, down, , likely] = [...drawn(whyChart("a and b", why)).querySelectorAll("rect")].slice(1);
  expect([Number(up.getAttribute("x")), Number(up.getAttribute("width"))]).toEqual([330, 136]);
  expect([Number(down.getAttribute("x")), Number(down.getAttribute("width"))]).toEqual([262, 68]);
  expect([Number(likely.getAttribute("x")), Number(likely.getAttribute("width"))]).toEqual([330, 170]);
});
