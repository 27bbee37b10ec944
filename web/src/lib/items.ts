// Items by their rows on the map.

import { api, type Item } from "./api";

/** Each row is asked for once. */
export class ItemsByRow {
  private readonly seen = new Map<number, Item>();

  constructor(private readonly items: typeof api.items = api.items) {}

  known(row: number): Item | null {
    return this.seen.get(row) ?? null;
  }

  async get(row: number, signal?: AbortSignal): Promise<Item> {
    const item = this.known(row) ?? (await this.items({ row: [row] }, signal)).items[0];
    this.seen.set(row, item);
    return item;
  }
}

export async function allIds(count: number, items: typeof api.items = api.items): Promise<string[]> {
  const ids: string[] = [];
  while (ids.length < count) {
    const more = (await items({ start: ids.length, k: 1000 })).items;
    if (!more.length) break; // some were deleted meanwhile
    ids.push(...more.map((item) => item.id));
  }
  return ids;
}
