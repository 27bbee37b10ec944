import { describe, expect, it } from "vitest";
import { byCode, byValue, css, faint, hex, hue, inkOn, mix, pack, plainPaint, type Rgb } from "../../src/lib/colours";

const linear = (v: number) => (v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4);
const dot = (a: number[], b: number[]) => a.reduce((sum, v, i) => sum + v * b[i], 0);
/** Machado, Oliveira and Fernandes (2009), severity 1, on linear light. */
const DICHROMATS = {
  protanope: [
    [0.152286, 1.052583, -0.204868],
    [0.114503, 0.786281, 0.099216],
    [-0.003882, -0.048116, 1.051998],
  ],
  deuteranope: [
    [0.367322, 0.860646, -0.227968],
    [0.280085, 0.672501, 0.047413],
    [-0.01182, 0.04294, 0.968881],
  ],
  tritanope: [
    [1.255528, -0.076749, -0.178779],
    [-0.078411, 0.930809, 0.147602],
    [0.004733, 0.691367, 0.3039],
  ],
};
function oklab(rgb: number[]): number[] {
  const lms = [
    [0.4122214708, 0.5363325363, 0.0514459929],
    [0.2119034982, 0.6806995451, 0.1073969566],
    [0.0883024619, 0.2817188376, 0.6299787005],
  ].map((row) => Math.cbrt(dot(row, rgb)));
  return [
    [0.2104542553, 0.793617785, -0.0040720468],
    [1.9779984951, -2.428592205, 0.4505937099],
    [0.0259040371, 0.7827717662, -0.808675766],
  ].map((row) => dot(row, lms));
}

describe("colours", () => {
  it("are written as CSS, as hex and as the bytes of a pixel", () => {
    const rgb: Rgb = [1, 171, 255];
    expect(css(rgb)).toBe("rgb(1 171 255)");
    expect(hex(rgb)).toBe("#01abff");
    expect([...new Uint8Array(Uint32Array.of(pack(rgb)).buffer)]).toEqual([1, 171, 255, 255]);
  });
  it("mix from one end to the other", () => {
    expect(mix([0, 10, 200], [100, 20, 100], 0)).toEqual([0, 10, 200]);
    expect(mix([0, 10, 200], [100, 20, 100], 0.5)).toEqual([50, 15, 150]);
    expect(mix([0, 10, 200], [100, 20, 100], 1)).toEqual([100, 20, 100]);
  });
  it.each([1, 2, 4, 5, 6, 7, 10, 12, 15, 21, 30, 42, 60])("of %i concepts all differ, in both themes", (n) => {
    for (const dark of [true, false]) {
      const all = Array.from({ length: n }, (_, i) => hex(hue(i, n, dark)));
      expect(new Set(all).size).toBe(n);
    }
  });
  it.each([true, false])("of twelve stay apart for who sees no red, green or blue (dark: %s)", (dark) => {
    const all = Array.from({ length: 12 }, (_, i) => hue(i, 12, dark));
    for (const seen of [
      (rgb: Rgb) => rgb.map(linear),
      ...Object.values(DICHROMATS).map(
        (m) => (rgb: Rgb) => m.map((row) => Math.min(1, Math.max(0, dot(row, rgb.map(linear))))),
      ),
    ]) {
      const labs = all.map((rgb) => oklab(seen(rgb)));
      for (const [i, a] of labs.entries())
        for (const b of labs.slice(i + 1)) expect(100 * Math.hypot(...a.map((v, k) => v - b[k]))).toBeGreaterThan(5);
    }
  });
  it("carry ink that can be read", () => {
    expect(inkOn([255, 255, 255])).toBe("#000");
    expect(inkOn([0, 0, 0])).toBe("#fff");
    expect(inkOn([0, 0, 255])).toBe("#fff");
    expect(inkOn([255, 255, 0])).toBe("#000");
  });
});

describe("paint", () => {
  it("is the same for all points, or none", () => {
    expect([...plainPaint(2, [1, 2, 3]).colours]).toEqual([pack([1, 2, 3]), pack([1, 2, 3])]);
    expect(plainPaint(0, [1, 2, 3]).colours).toHaveLength(0);
  });
  it("by value goes from faint to full, with the strong on top and the negative faint", () => {
    const strong: Rgb = [200, 0, 0];
    const { colours, order, high } = byValue(Float32Array.of(0.5, -1, 0, 0.25), strong, false);
    expect(high).toBeCloseTo(0.5);
    expect(colours[0]).toBe(pack(strong));
    expect([colours[1], colours[2]]).toEqual([pack(faint(false)), pack(faint(false))]);
    expect([...order!]).toEqual([1, 2, 3, 0]);
  });
  it("by value bears no values, and nothing but zeros", () => {
    expect(byValue(new Float32Array(0), [1, 1, 1], true).colours).toHaveLength(0);
    expect([...byValue(new Float32Array(2), [1, 1, 1], true).colours]).toEqual(Array(2).fill(pack(faint(true))));
  });
  it("by value is not made pale by one point in a thousand", () => {
    const values = Float32Array.from({ length: 1000 }, (_, i) => (i ? 0.1 : 1));
    expect(byValue(values, [1, 1, 1], true).high).toBeCloseTo(0.1);
  });
  it("by code draws points without a colour below", () => {
    const { colours, order } = byCode(Uint16Array.of(1, 65_535, 0), [[1, 0, 0], [0, 1, 0]], true); // prettier-ignore
    expect([...colours]).toEqual([pack([0, 1, 0]), pack(faint(true)), pack([1, 0, 0])]);
    expect([...order!]).toEqual([1, 0, 2]);
    expect(byCode(Uint16Array.of(0, 0), [[1, 0, 0]], true).order).toBeNull();
  });
});
