import { describe, expect, it } from "vitest";
import { many, percent, signed, width } from "../../src/lib/format";

describe("percent", () => {
  it.each([
    [0, 0, "0 %"],
    [0.125, 0, "13 %"],
    [0.125, 1, "12.5 %"],
    [1, 0, "100 %"],
    [-0.05, 0, "−5 %"],
    [-0.001, 0, "0 %"],
    [-0.0001, 1, "0.0 %"],
    [-0.0006, 1, "−0.1 %"],
  ])("writes %d with %d digits as %s", (share, digits, text) => expect(percent(share, digits)).toBe(text));
});

describe("width", () => {
  it.each([
    [0, "0%"],
    [0.5, "50%"],
    [1, "100%"],
    [1.7, "100%"],
    [-0.2, "0%"],
    [NaN, "0%"],
    [Infinity, "100%"],
  ])("of %d is %s", (share, text) => expect(width(share)).toBe(text));

  it("is a length that a style keeps, unlike the text for people", () => {
    const bar = document.createElement("i");
    const valid = /^\d+(\.\d+)?%$/;
    for (const share of [0, 1 / 3, 0.07, 1]) {
      expect(width(share)).toMatch(valid);
      expect(percent(share)).not.toMatch(valid);
      bar.style.width = width(share);
      expect(Number.parseFloat(bar.style.width)).toBeCloseTo(100 * share);
    }
  });
});

describe("signed and many", () => {
  it("always shows the sign", () => {
    expect(signed(0.126)).toBe("+0.13");
    expect(signed(-0.126)).toBe("−0.13");
    expect(signed(0)).toBe("+0.00");
    expect(signed(-2, 0)).toBe("−2");
  });
  it("sets thousands apart", () => {
    expect(many(999)).toBe("999");
    expect(many(1_000)).toBe("1\u202f000");
    expect(many(12_345_678)).toBe("12\u202f345\u202f678");
  });
});
