import { describe, expect, it } from "vitest";
import type { MapName } from "../../src/lib/api";
import { Camera } from "../../src/map/camera";
import { NEAR, placeLabels } from "../../src/map/labels";

const name = (text: string, x: number, y: number, level: number): MapName => ({ name: text, x, y, count: 9, level, group: null }); // prettier-ignore
const measure = (text: string) => 8 * text.length;
let state = 3;
const random = () => ((state = (state * 16_807) % 2_147_483_647) / 2_147_483_647) * 2 - 1;
const many = Array.from({ length: 90 }, (_, i) => name(`name ${i}`, random(), random(), i < 12 ? 0 : 1));

function camera(zoom = 1): Camera {
  const made = new Camera();
  made.resize(900, 700);
  made.look({ x: 0, y: 0, zoom });
  return made;
}

describe("names on the map", () => {
  it.each([1, NEAR, 4, 20])("never lie on each other, nor beyond the edge, at zoom %f", (zoom) => {
    const placed = placeLabels(many, camera(zoom), measure);
    for (const [i, a] of placed.entries()) {
      expect(Math.min(a.px - a.width / 2, 900 - a.px - a.width / 2)).toBeGreaterThan(0);
      for (const b of placed.slice(i + 1)) {
        const apart = Math.abs(a.px - b.px) >= (a.width + b.width) / 2 || Math.abs(a.py - b.py) >= (a.height + b.height) / 2; // prettier-ignore
        expect(apart).toBe(true);
      }
    }
  });
  it("are those of groups from afar, and words, too, from near", () => {
    expect(new Set(placeLabels(many, camera(), measure).map((l) => l.level))).toEqual(new Set([0]));
    expect(new Set(placeLabels(many, camera(NEAR), measure).map((l) => l.level))).toEqual(new Set([0, 1]));
  });
  it("are words from afar where there are few groups", () => {
    const words = many.filter((n) => n.level === 1);
    const placed = placeLabels([name("only", 0, 0, 0), ...words], camera(), measure);
    expect(placed[0].name).toBe("only");
    expect(placed.length).toBeGreaterThan(8);
    expect(placed.length).toBeLessThanOrEqual(20);
  });
  it("give way to panels", () => {
    const everywhere = [{ left: 0, top: 0, right: 900, bottom: 700 }];
    expect(placeLabels(many, camera(), measure, everywhere)).toEqual([]);
  });
});
