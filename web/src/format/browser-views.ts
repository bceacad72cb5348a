/** A view that an earlier version kept in this browser alone. */
export interface BrowserView {
  readonly name: string;
  /** The query of its address in Explore. */
  readonly query: string;
}

/** What was written there; what is no view is left out. */
export function browserViewsOf(text: string | null): readonly BrowserView[] {
  let given: unknown;
  try {
    given = JSON.parse(text ?? "[]");
  } catch {
    return [];
  }
  const isView = (one: Partial<BrowserView> | null): one is BrowserView =>
    typeof one?.name === "string" && one.name.trim() !== "" && typeof one.query === "string";
  return Array.isArray(given) ? given.filter(isView) : [];
}
