// Numbers as people read them, and as a style sheet does.

/** For people: with a space before the sign and a true minus, and never "−0". */
export const percent = (share: number, digits = 0) =>
  `${(100 * share)
    .toFixed(digits)
    .replace(/^-(0(\.0*)?)$/, "$1")
    .replace("-", "−")} %`;

/** For a style: the length of a bar, which neither leaves its track nor is invalid. */
export const width = (share: number) => `${Number.isNaN(share) ? 0 : 100 * Math.min(1, Math.max(0, share))}%`;

export const signed = (value: number, digits = 2) => (value < 0 ? "−" : "+") + Math.abs(value).toFixed(digits);

/** Thousands set apart by a narrow space. */
export const many = (n: number) => n.toLocaleString("en-GB").replaceAll(",", "\u202f");

/** A name that came before gets a number; what has none is known by its number alone. */
export function distinct(names: string[]): string[] {
  const seen = new Map<string, number>();
  return Array.from(names, (name = "") => {
    const times = (seen.get(name) ?? 0) + 1;
    seen.set(name, times);
    return !name ? `unnamed ${times}` : times > 1 ? `${name} (${times})` : name;
  });
}
