/**
 * The pages by the last segment of their path; "" is the Overview. All are one level deep, so that relative addresses work below any path that
 * a proxy puts in front.
 */
export const pagePaths = [
  "",
  "explore",
  "explain",
  "metadata",
  "live",
  "exporters",
  "devices",
  "map",
  "outputs",
  "settings",
] as const;

export type PagePath = (typeof pagePaths)[number];

/** Which page a path shows, or undefined. */
export function pageOf(pathname: string): PagePath | undefined {
  const last = pathname.slice(pathname.lastIndexOf("/") + 1);
  return pagePaths.find((path) => path === last);
}

/** What stands before the name of the page: `/`, or what a proxy puts there. */
export function baseOf(pathname: string): string {
  return pathname.slice(0, pathname.lastIndexOf("/") + 1);
}
