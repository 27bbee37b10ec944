// Finds the point nearest to a place: points sorted into the cells of a grid.

export class Grid {
  private readonly side: number;
  private readonly starts: Uint32Array;
  private readonly rows: Uint32Array;

  constructor(private readonly places: Float32Array) {
    const n = places.length / 2;
    this.side = Math.min(1024, Math.max(1, Math.ceil(Math.sqrt(n / 3))));
    const cells = new Uint32Array(n);
    this.starts = new Uint32Array(this.side * this.side + 1);
    for (let i = 0; i < n; i++) {
      cells[i] = this.cell(places[2 * i]) + this.side * this.cell(places[2 * i + 1]);
      this.starts[cells[i] + 1]++;
    }
    for (let c = 1; c < this.starts.length; c++) this.starts[c] += this.starts[c - 1];
    const next = this.starts.slice();
    this.rows = new Uint32Array(n);
    for (let i = 0; i < n; i++) this.rows[next[cells[i]]++] = i;
  }

  private cell(value: number) {
    return Math.min(this.side - 1, Math.max(0, Math.floor(((value + 1) / 2) * this.side)));
  }

  /** Whether there is any point in a rectangle, looked for cell by cell. */
  any(left: number, low: number, right: number, high: number): boolean {
    for (let cy = this.cell(low); cy <= this.cell(high); cy++) {
      for (let cx = this.cell(left); cx <= this.cell(right); cx++) {
        const c = cx + this.side * cy;
        for (let j = this.starts[c]; j < this.starts[c + 1]; j++) {
          const [x, y] = [this.places[2 * this.rows[j]], this.places[2 * this.rows[j] + 1]];
          if (x >= left && x <= right && y >= low && y <= high) return true;
        }
      }
    }
    return false;
  }

  /** Row of the nearest point within a radius, or -1. */
  nearest(x: number, y: number, radius: number): number {
    let best = radius * radius;
    let found = -1;
    for (let cy = this.cell(y - radius); cy <= this.cell(y + radius); cy++) {
      for (let cx = this.cell(x - radius); cx <= this.cell(x + radius); cx++) {
        const c = cx + this.side * cy;
        for (let j = this.starts[c]; j < this.starts[c + 1]; j++) {
          const i = this.rows[j];
          const distance = (this.places[2 * i] - x) ** 2 + (this.places[2 * i + 1] - y) ** 2;
          if (distance <= best) {
            best = distance;
            found = i;
          }
        }
      }
    }
    return found;
  }
}

/** Which points lie within a polygon, by the even-odd rule, as the service counts them. */
export function inside(places: Float32Array, polygon: [number, number][]): Uint8Array {
  const within = new Uint8Array(places.length / 2);
  for (let e = 0; e < polygon.length; e++) {
    const [x1, y1] = polygon[e];
    const [x2, y2] = polygon[(e + 1) % polygon.length];
    if (y1 === y2) continue;
    const low = Math.min(y1, y2);
    const high = Math.max(y1, y2);
    for (let i = 0; i < within.length; i++) {
      const y = places[2 * i + 1];
      if (y < low || y > high || y1 > y === y2 > y) continue;
      if (places[2 * i] < (x2 - x1) * ((y - y1) / (y2 - y1)) + x1) within[i] ^= 1;
    }
  }
  return within;
}
