// What draws the points. Without a GPU, writing pixels in memory is many times faster than a software WebGL.

import type { Paint, Rgb } from "../lib/colours";
import { GpuPainter } from "./gpu";
import { PixelPainter } from "./pixels";
import type { Camera } from "./camera";

export interface Scene {
  camera: Camera;
  places: Float32Array;
  paint: Paint;
  /** radius of a point in CSS pixels */
  radius: number;
  ground: Rgb;
  /** points outside a choice are dimmed */
  chosen: Uint8Array | null;
}

export interface Painter {
  readonly kind: "gpu" | "pixels";
  draw(scene: Scene): void;
}

/** "gpu" or "pixels" can be forced, to test both on one machine. */
export function makePainter(canvas: HTMLCanvasElement, force: string | null): Painter {
  if (force === "gpu" || (force !== "pixels" && hasGpu())) {
    const gl = canvas.getContext("webgl2", { antialias: false, preserveDrawingBuffer: true });
    if (gl) return new GpuPainter(canvas, gl);
  }
  return new PixelPainter(canvas);
}

/** Whether WebGL runs on a GPU; browsers also offer one that is made of software, without saying so plainly. */
function hasGpu(): boolean {
  const gl = document.createElement("canvas").getContext("webgl2", { failIfMajorPerformanceCaveat: true });
  if (!gl) return false;
  const names = gl.getExtension("WEBGL_debug_renderer_info");
  const renderer = String(gl.getParameter(names ? names.UNMASKED_RENDERER_WEBGL : gl.RENDERER));
  gl.getExtension("WEBGL_lose_context")?.loseContext();
  return !/swiftshader|llvmpipe|softpipe|software|basic render/i.test(renderer);
}
