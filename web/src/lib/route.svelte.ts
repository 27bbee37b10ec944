// The address of the page is its state: every view can be linked to, and the back button goes back.

import { along, put, read, write, type Values, type View } from "./address";

export const route = $state(read(location));

function update() {
  Object.assign(route, read(location));
}

addEventListener("popstate", update);

/** The address of a view; what says how the map looks goes along. */
export const link = (view: View, values: Values = {}) => write(view, put(along(view, route.query), values));

export function go(address: string, replace = false) {
  if (address === location.pathname + location.search) return;
  history[replace ? "replaceState" : "pushState"](null, "", address);
  update();
}

/** The same view with some values changed (null takes one away). */
export function change(values: Values, replace = false) {
  go(write(route.view, put(route.query, values)), replace);
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
