import { expect, it, vi } from "vitest";
import type { api } from "../../src/lib/api";
import { allIds, ItemsByRow } from "../../src/lib/items";

const served = (count: number) =>
  vi.fn<typeof api.items>(async (asked) => {
    const { row, start = 0, k = 20 } = asked ?? {};
    const rows = row ?? Array.from({ length: Math.min(k, Math.max(0, count - start)) }, (_, i) => start + i);
    return { items: rows.map((r) => ({ id: `item-${r}`, row: r, columns: {} })) };
  });

it("asks for an item once", async () => {
  const items = served(9);
  const byRow = new ItemsByRow(items);
  expect(byRow.known(0)).toBeNull();
  expect((await byRow.get(0)).id).toBe("item-0");
  expect((await byRow.get(0)).id).toBe("item-0");
  expect(byRow.known(0)?.id).toBe("item-0");
  expect(items).toHaveBeenCalledTimes(1);
});
it("asks again after a failure", async () => {
  const items = served(9);
  items.mockRejectedValueOnce(new Error("busy"));
  const byRow = new ItemsByRow(items);
  await expect(byRow.get(3)).rejects.toThrow("busy");
  expect((await byRow.get(3)).id).toBe("item-3");
});
it("brings all ids, page by page", async () => {
  const items = served(2_500);
  const ids = await allIds(2_500, items);
  expect([ids.length, ids[0], ids[2_499]]).toEqual([2_500, "item-0", "item-2499"]);
  expect(items).toHaveBeenCalledTimes(3);
  expect(await allIds(0, items)).toEqual([]);
});
it("ends where items were deleted meanwhile", async () => {
  expect(await allIds(10, served(4))).toHaveLength(4);
});
