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
