import { expect, it } from "vitest";
import { csv } from "../../src/lib/download";

it("csv quotes what would end a cell", () => {
  expect(csv([["a,b", 'say "x"', "two\nlines", "plain"]])).toBe('"a,b","say ""x""","two\nlines",plain\r\n');
});
it("csv writes lists, numbers and what is missing", () => {
  expect(csv([[["x", "y"], -0.5, 0, null, undefined, false]])).toBe("x; y,-0.5,0,,,false\r\n");
});
it("csv gives a spreadsheet nothing to run", () => {
  expect(csv([["=1+1", "+a", "-b", "@c", "\td"]])).toBe("'=1+1,'+a,'-b,'@c,'\td\r\n");
});
it("csv has a line per row", () => {
  expect(csv([["a"], ["b"]]).split("\r\n")).toEqual(["a", "b", ""]);
});
