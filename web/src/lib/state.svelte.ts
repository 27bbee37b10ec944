// What all views share: the collection, what is ready, dark or light, and a line of news.

import { api, Problem, type Info, type Item, type Status } from "./api";
import { css, hue } from "./colours";

const wanted = () => localStorage.getItem("pellucid-theme");
const system = matchMedia("(prefers-color-scheme: dark)");

export const shared = $state({
  info: null as Info | null,
  problem: "",
  /** the service does not answer any more */
  lost: false,
  status: { progress: {}, failed: {} } as Status,
  dark: wanted() ? wanted() === "dark" : system.matches,
  news: "",
});

function paintTheme() {
  document.documentElement.dataset.theme = shared.dark ? "dark" : "light";
}
paintTheme();
system.addEventListener("change", () => {
  if (!wanted()) setDark(system.matches, false);
});

export function setDark(dark: boolean, remember = true) {
  shared.dark = dark;
  if (remember) localStorage.setItem("pellucid-theme", dark ? "dark" : "light");
  paintTheme();
}

let clearing = 0;
export function tell(news: string) {
  shared.news = news;
  clearTimeout(clearing);
  clearing = setTimeout(() => (shared.news = ""), 3500);
}

export async function start() {
  try {
    shared.info = await api.collection();
    shared.problem = "";
  } catch (error) {
    shared.problem = (error as Problem).message;
    if ((error as Problem).status === 0) setTimeout(start, QUIET);
    return;
  }
  await poll();
}

/** Milliseconds after which the service is asked how it is: while it works, and while it does not. */
const BUSY = 500;
const QUIET = 3000;
let asking = 0;
document.addEventListener("visibilitychange", () => shared.info && !document.hidden && poll());

export const ready = (name: string) => (shared.status.progress[name] ?? 0) >= 1;

/** How far the service is, or that it is gone; asked again and again, but for a page that nobody sees. */
export async function poll() {
  clearTimeout(asking);
  const mine = ++turn;
  let next = QUIET;
  try {
    shared.status = await api.status(AbortSignal.timeout(QUIET));
    shared.lost = false;
    const { progress, failed } = shared.status;
    if (Object.keys(progress).some((name) => progress[name] < 1 && !(name in failed))) next = BUSY;
  } catch {
    shared.lost = true;
  }
  if (mine === turn && !document.hidden) asking = setTimeout(poll, next);
}
let turn = 0;

export function conceptColour(name: string): string {
  const names = shared.info?.concepts ?? [];
  return css(hue(Math.max(0, names.indexOf(name)), names.length, shared.dark));
}

export function caption(item: Item): string {
  const column = shared.info?.text_column;
  const text = column !== null && column !== undefined ? item.columns[column] : null;
  return typeof text === "string" && text ? text : item.id;
}
