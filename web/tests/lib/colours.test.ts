import { describe, expect, it } from "vitest";
import { byCode, byValue, css, faint, hex, hue, inkOn, mix, pack, plainPaint, type Rgb } from "../../src/lib/colours";

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
