import { beforeEach, describe, expect, it } from "vitest";
import { Camera } from "../../src/map/camera";

let camera: Camera;
beforeEach(() => {
  camera = new Camera();
  camera.resize(800, 600);
});

describe("camera", () => {
  it("begins with the whole map in view, up being up", () => {
    expect(camera.screen(0, 0)).toEqual([400, 300]);
    const [right, up] = camera.screen(1, 1);
    expect(right).toBeCloseTo(400 + 276);
    expect(up).toBeCloseTo(300 - 276);
    expect(camera.zoom).toBeCloseTo(1);
  });
  it("finds the place of a pixel and back", () => {
    camera.zoomAt(100, 500, 3.7);
    const [x, y] = camera.place(123, 456);
    const [px, py] = camera.screen(x, y);
    expect(px).toBeCloseTo(123);
    expect(py).toBeCloseTo(456);
  });
  it("zooms about the pointer", () => {
    const before = camera.place(100, 200);
    camera.zoomAt(100, 200, 5);
    const after = camera.place(100, 200);
    expect(after[0]).toBeCloseTo(before[0]);
    expect(after[1]).toBeCloseTo(before[1]);
    expect(camera.zoom).toBeCloseTo(5);
  });
  it("looks where it is told, and says where", () => {
    camera.look({ x: 0.3, y: -0.2, zoom: 7 });
    const { x, y, zoom } = camera.view;
    expect([x, y, zoom].map((v) => +v.toFixed(9))).toEqual([0.3, -0.2, 7]);
    expect(camera.place(400, 300)[1]).toBeCloseTo(-0.2);
  });
  it("never leaves the square of the points", () => {
    camera.zoomAt(0, 0, 40);
    for (const [dx, dy] of [
      [9e5, 0],
      [0, 9e5],
      [-9e6, -9e6],
    ]) {
      camera.x += dx;
      camera.y += dy;
      camera.hold();
      const { x, y } = camera.view;
      expect(Math.max(Math.abs(x), Math.abs(y))).toBeLessThanOrEqual(1.0500001);
    }
  });
  it("zooms neither too far in nor out", () => {
    camera.zoomAt(0, 0, 1e9);
    expect(camera.zoom).toBeCloseTo(2000);
    camera.zoomAt(0, 0, 1e-9);
    expect(camera.zoom).toBeCloseTo(0.5);
  });
  it("keeps the middle and the zoom when the window changes", () => {
    camera.zoomAt(300, 300, 4);
    const middle = camera.place(400, 300);
    camera.resize(500, 900);
    const now = camera.place(250, 450);
    expect(now[0]).toBeCloseTo(middle[0]);
    expect(now[1]).toBeCloseTo(middle[1]);
    expect(camera.zoom).toBeCloseTo(4);
  });
  it("moves only to show what is not in view", () => {
    expect(camera.show(0.1, 0.1)).toBe(false);
    expect(camera.screen(0, 0)).toEqual([400, 300]);
    expect(camera.show(5, -5)).toBe(true);
    const [px, py] = camera.screen(5, -5);
    expect([Math.round(px), Math.round(py)]).toEqual([400, 300]);
  });
  it("counts what lies in the margin as out of view", () => {
    const [x, y] = camera.place(59, 300);
    expect(camera.show(x, y, 60)).toBe(true);
  });
});
