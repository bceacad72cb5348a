import { browserViewsOf, type BrowserView } from "../format/browser-views.ts";
import { readState } from "./explore-state.ts";
import { readLook, savedLook } from "./look.ts";
import type { NewView } from "./saved-views.ts";

const key = "netgloss.explore.saved";

/** The views that are still in this browser; none where its storage is closed. */
export function readBrowserViews(): readonly BrowserView[] {
  try {
    return browserViewsOf(localStorage.getItem(key));
  } catch {
    return [];
  }
}

/** Keeps these and no others; none: nothing is left in the browser. */
export function keepBrowserViews(views: readonly BrowserView[]): void {
  if (views.length === 0) localStorage.removeItem(key);
  else localStorage.setItem(key, JSON.stringify(views));
}

/** It as one that people share. */
export function sharedViewOf({ name, query }: BrowserView): NewView {
  const asked = new URLSearchParams(query);
  const { filter, dimensions, measure, when, limit, compare } = readState(asked);
  return {
    name: name.trim().slice(0, 100),
    description: "",
    role: "viewer",
    from: asked.get("from") ?? "-1h",
    to: asked.get("to") ?? "now",
    filter,
    dimensions: [...dimensions],
    measure,
    when,
    limit,
    compare,
    show: "both",
    ...savedLook(readLook(asked)),
  };
}
