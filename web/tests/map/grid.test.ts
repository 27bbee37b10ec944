import { describe, expect, it } from "vitest";
import { Grid, inside } from "../../src/map/grid";

/** Places that look random and are the same each time. */
function scattered(n: number): Float32Array {
  let state = 7;
  return Float32Array.from(
    { length: 2 * n },
    () => ((state = (state * 16_807) % 2_147_483_647) / 2_147_483_647) * 2 - 1,
  );
}
const nearestByHand = (places: Float32Array, x: number, y: number, radius: number) => {
  let [best, found] = [radius, -1];
  for (let i = 0; i < places.length / 2; i++) {
    const distance = Math.hypot(places[2 * i] - x, places[2 * i + 1] - y);
    if (distance <= best) [best, found] = [distance, i];
  }
  return found;
};

describe("Grid", () => {
  it("tells whether any point is in a rectangle", () => {
    const grid = new Grid(Float32Array.of(0.5, 0.5, -0.9, 0.2));
    expect(grid.any(0.4, 0.4, 0.6, 0.6)).toBe(true);
    expect(grid.any(-0.4, -0.4, 0.4, 0.4)).toBe(false);
    expect(grid.any(-5, -5, 5, 5)).toBe(true);
    expect(grid.any(0.51, 0.4, 0.6, 0.6)).toBe(false);
  });
  it.each([1, 2, 50, 3000])("finds among %i points what looking at all of them finds", (n) => {
    const places = scattered(n);
    const grid = new Grid(places);
    const asked = scattered(100);
    for (let q = 0; q < 100; q++) {
      const [x, y] = [1.2 * asked[2 * q], 1.2 * asked[2 * q + 1]];
      for (const radius of [0.01, 0.1, 3]) {
        expect(grid.nearest(x, y, radius)).toBe(nearestByHand(places, x, y, radius));
      }
    }
  });
  it("finds nothing where there is nothing", () => {
    expect(new Grid(new Float32Array(0)).nearest(0, 0, 5)).toBe(-1);
    expect(new Grid(Float32Array.of(1, 1)).nearest(-1, -1, 1)).toBe(-1);
  });
  it("finds points in corners and outside the square", () => {
    const grid = new Grid(Float32Array.of(-1, -1, 1, 1, 1.5, 1.5));
    expect(grid.nearest(-1, -1, 0.01)).toBe(0);
    expect(grid.nearest(1, 1, 0.01)).toBe(1);
    expect(grid.nearest(1.5, 1.5, 0.01)).toBe(2);
  });
});

describe("inside", () => {
  const square: [number, number][] = [[0, 0], [1, 0], [1, 1], [0, 1]]; // prettier-ignore
  const within = (polygon: [number, number][], ...places: number[]) => [...inside(Float32Array.from(places), polygon)];

  it("tells inside from outside, whichever way round", () => {
    const places = [0.5, 0.5, 1.5, 0.5, -0.5, 0.5, 0.5, 1.5, 0.5, -0.5];
    expect(within(square, ...places)).toEqual([1, 0, 0, 0, 0]);
    expect(within([...square].reverse(), ...places)).toEqual([1, 0, 0, 0, 0]);
  });
  it("leaves out what is surrounded twice", () => {
    const star = [0, 2, 4, 1, 3].map((i): [number, number] => [
      Math.sin(i * 0.4 * Math.PI),
      Math.cos(i * 0.4 * Math.PI),
    ]);
    expect(within(star, 0, 0, 0, 0.8)).toEqual([0, 1]);
  });
  it("sees the dent of a polygon", () => {
    const dented: [number, number][] = [[0, 0], [2, 0], [2, 2], [1, 0.5], [0, 2]]; // prettier-ignore
    expect(within(dented, 1, 1, 0.3, 1, 1.7, 1)).toEqual([0, 1, 1]);
  });
  it("gives each point of neighbouring polygons to one of them", () => {
    const right = square.map(([x, y]): [number, number] => [x + 1, y]);
    for (const y of [0.25, 0.5]) expect(within(square, 1, y)[0] + within(right, 1, y)[0]).toBe(1);
  });
  it("finds nothing in a line or without points", () => {
    expect(within([[0, 0], [1, 1], [0, 0]], 0.5, 0.5)).toEqual([0]); // prettier-ignore
    expect(within(square)).toEqual([]);
  });
});
