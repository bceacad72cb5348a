/** The pages by the segment of their path; "" is the Overview. */
export const pagePaths = [
  "",
  "alerts",
  "explore",
  "boards",
  "explain",
  "metadata",
  "live",
  "exporters",
  "devices",
  "map",
  "outputs",
  "settings",
] as const;

/** Pages of one thing, whose path goes on: `address/192.0.2.1`, `value/tag/pci`, `value/prefix/10.0.0.0/8`. */
export const deepPaths = ["address", "value"] as const;

export type PagePath = (typeof pagePaths)[number];
type DeepPath = (typeof deepPaths)[number];

/** A page, and what stands behind it in its path. */
export interface PagePlace {
  readonly page: PagePath | DeepPath | undefined;
  readonly rest: readonly string[];
}

/**
 * Which page a path shows.
 *
 * @param base what stands before the name of the page: `/`, or what a proxy puts there.
 */
export function placeOf(pathname: string, base: string): PagePlace {
  const [first = "", ...encoded] = pathname.slice(base.length).split("/");
  const rest = encoded.map(decoded);
  const deep = rest.length > 0 && rest[0] !== "" ? deepPaths.find((path) => path === first) : undefined;
  return { page: deep ?? (rest.length === 0 ? pagePaths.find((path) => path === first) : undefined), rest };
}

/** So many segments may stand behind such a page: the collector serves no deeper path. */
export const deepest = 6;

/** The path of a value behind its page; undefined where its segments would not arrive as they are, or are too many. */
export function deepPath(page: DeepPath, ...parts: readonly string[]): string | undefined {
  const segments = parts.join("/").split("/");
  // Half of a character that takes two units has no code in a path.
  if (segments.length > deepest || segments.some((segment) => /^\.{0,2}$|\p{Surrogate}/u.test(segment)))
    return undefined;
  return [page, ...segments.map((segment) => encodeURIComponent(segment).replaceAll("%3A", ":"))].join("/");
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
