// Points drawn by the GPU: one call, two buffers.

import type { Painter, Scene } from "./painter";

const VERTEX = `#version 300 es
in vec2 place; in vec4 colour; in float chosen;
uniform vec2 scale, shift; uniform float size, dimmed;
out vec4 tint; out float extent;
void main() {
  float faint = dimmed * (1.0 - chosen);
  gl_Position = vec4(place * scale + shift, 0.0, 1.0);
  extent = max(1.0, size * (1.0 - 0.2 * faint)) + 1.0;
  gl_PointSize = extent;
  tint = vec4(colour.rgb, mix(0.92, 0.18, faint) * min(1.0, max(0.45, size * 0.67)));
}`;
const FRAGMENT = `#version 300 es
precision mediump float;
in vec4 tint; in float extent; out vec4 pixel;
void main() {
  float distance = length(gl_PointCoord - 0.5) * extent;
  float cover = clamp(extent * 0.5 - distance, 0.0, 1.0);
  pixel = vec4(tint.rgb, tint.a * cover);
}`;

export class GpuPainter implements Painter {
  readonly kind = "gpu";
  private readonly program: WebGLProgram;
  private readonly buffers: Record<string, WebGLBuffer> = {};
  private held: Partial<Record<string, unknown>> = {};

  constructor(
    private readonly canvas: HTMLCanvasElement,
    private readonly gl: WebGL2RenderingContext,
  ) {
    this.program = gl.createProgram()!;
    for (const [kind, source] of [
      [gl.VERTEX_SHADER, VERTEX],
      [gl.FRAGMENT_SHADER, FRAGMENT],
    ] as const) {
      const shader = gl.createShader(kind)!;
      gl.shaderSource(shader, source);
      gl.compileShader(shader);
      gl.attachShader(this.program, shader);
    }
    gl.linkProgram(this.program);
    if (!gl.getProgramParameter(this.program, gl.LINK_STATUS))
      throw new Error(gl.getProgramInfoLog(this.program) ?? "");
    gl.useProgram(this.program);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA);
  }

  draw({ camera, places, paint, radius, ground, chosen }: Scene) {
    const { gl, canvas } = this;
    this.attribute("place", places, 2, gl.FLOAT, false);
    this.attribute("colour", paint.colours, 4, gl.UNSIGNED_BYTE, true);
    if (chosen) this.attribute("chosen", chosen, 1, gl.UNSIGNED_BYTE, false);
    else gl.disableVertexAttribArray(gl.getAttribLocation(this.program, "chosen"));
    gl.viewport(0, 0, canvas.width, canvas.height);
    gl.clearColor(ground[0] / 255, ground[1] / 255, ground[2] / 255, 1);
    gl.clear(gl.COLOR_BUFFER_BIT);
    const [sx, sy] = [(2 * camera.scale) / camera.width, (2 * camera.scale) / camera.height];
    this.uniform("scale", sx, sy);
    this.uniform("shift", (2 * camera.x) / camera.width - 1, 1 - (2 * camera.y) / camera.height);
    gl.uniform1f(gl.getUniformLocation(this.program, "size"), 2 * radius * (canvas.width / camera.width));
    gl.uniform1f(gl.getUniformLocation(this.program, "dimmed"), chosen ? 1 : 0);
    if (paint.order) {
      this.upload("order", paint.order, gl.ELEMENT_ARRAY_BUFFER);
      gl.drawElements(gl.POINTS, paint.order.length, gl.UNSIGNED_INT, 0);
    } else {
      gl.drawArrays(gl.POINTS, 0, paint.colours.length);
    }
  }

  private uniform(name: string, x: number, y: number) {
    this.gl.uniform2f(this.gl.getUniformLocation(this.program, name), x, y);
  }

  private attribute(name: string, data: ArrayBufferView, size: number, type: number, normalised: boolean) {
    const { gl } = this;
    this.upload(name, data, gl.ARRAY_BUFFER);
    const place = gl.getAttribLocation(this.program, name);
    gl.enableVertexAttribArray(place);
    gl.vertexAttribPointer(place, size, type, normalised, 0, 0);
  }

  /** To the GPU, unless it has the very same array already (one that is being moved is a new one each time). */
  private upload(name: string, data: ArrayBufferView, target: number) {
    const { gl } = this;
    this.buffers[name] ??= gl.createBuffer()!;
    gl.bindBuffer(target, this.buffers[name]);
    if (this.held[name] !== data) gl.bufferData(target, data as ArrayBufferView<ArrayBuffer>, gl.STATIC_DRAW);
    this.held[name] = data;
  }
}
