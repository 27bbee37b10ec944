// The address of the page, which is its state, as text.

export type View = "map" | "item" | "concepts" | "structure";
export type Values = Record<string, string | string[] | null | undefined>;

/** A query with some values changed: a list is given value by value, and nothing takes one away. */
export function put(query: URLSearchParams, values: Values): URLSearchParams {
  const next = new URLSearchParams(query);
  for (const [key, value] of Object.entries(values)) {
    next.delete(key);
    for (const one of [value || []].flat()) next.append(key, one);
  }
  return next;
}

/** What goes along to another view: how the map looks, if the map is there. */
export function along(view: View, query: URLSearchParams): URLSearchParams {
  const kept = view === "map" || view === "item" ? ["colour", "layout"] : [];
  return put(new URLSearchParams(), Object.fromEntries(kept.map((key) => [key, query.get(key)])));
}

export function write(view: View, query: URLSearchParams): string {
  const text = query.toString();
  return text ? `/${view}?${text}` : `/${view}`;
}

export function read({ pathname, search }: { pathname: string; search: string }) {
  return { view: (pathname.slice(1) || "map") as View, query: new URLSearchParams(search) };
}
