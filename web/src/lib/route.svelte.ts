// The address of the page is its state: every view can be linked to, and the back button goes back.

export type View = "map" | "item" | "concepts" | "structure";

function read() {
  const view = location.pathname.slice(1) || "map";
  return { view: view as View, query: new URLSearchParams(location.search) };
}

export const route = $state(read());

function update() {
  const now = read();
  route.view = now.view;
  route.query = now.query;
}

addEventListener("popstate", update);

type Values = Record<string, string | string[] | null | undefined>;

/** The address of a view; what says how the map looks goes along. */
export function link(view: View, values: Values = {}): string {
  const query = new URLSearchParams();
  for (const kept of ["colour", "layout"]) {
    const value = route.query.get(kept);
    if (value && !(kept in values) && (view === "map" || view === "item")) query.set(kept, value);
  }
  for (const [key, value] of Object.entries(values)) {
    for (const one of Array.isArray(value) ? value : value ? [value] : []) query.append(key, one);
  }
  const text = query.toString();
  return `/${view}${text ? `?${text}` : ""}`;
}

export function go(address: string, replace = false) {
  if (address === location.pathname + location.search) return;
  history[replace ? "replaceState" : "pushState"](null, "", address);
  update();
}

/** The same view with some values changed (null takes one away). */
export function change(values: Values, replace = false) {
  const query = new URLSearchParams(route.query);
  for (const [key, value] of Object.entries(values)) {
    query.delete(key);
    for (const one of Array.isArray(value) ? value : value ? [value] : []) query.append(key, one);
  }
  const text = query.toString();
  go(`/${route.view}${text ? `?${text}` : ""}`, replace);
}

/** Lets plain links change the view without loading the page again. */
export function follow(event: MouseEvent) {
  const anchor = (event.target as Element).closest?.("a");
  if (!anchor || event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey) return;
  if (anchor.origin !== location.origin || anchor.target || anchor.hasAttribute("download")) return;
  if (anchor.pathname.startsWith("/api/") || anchor.getAttribute("href")?.startsWith("#")) return;
  event.preventDefault();
  go(anchor.pathname + anchor.search);
}
