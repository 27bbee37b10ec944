import { expect, it } from "vitest";
import { marksAround } from "../../src/map/marks";
import { hit } from "../info";

const around = { centre: 7, linked: [hit(1)], colour: "red", others: [hit(2)], hovered: null, dark: false };

it("draws others below, neighbours above, what is pointed at on top", () => {
  const { centre, around: marks } = marksAround({ ...around, hovered: 2 });
  expect(centre).toBe(7);
  expect(marks.map(({ row, linked = false }) => [row, linked])).toEqual([[2, false], [1, true], [2, true]]); // prettier-ignore
  expect(marks[1].colour).toBe("red");
});
it("marks row 0, too, and nothing where nothing is", () => {
  expect(marksAround({ ...around, hovered: 0 }).around).toHaveLength(3);
  expect(marksAround({ ...around, linked: [], others: [] }).around).toEqual([]);
});
