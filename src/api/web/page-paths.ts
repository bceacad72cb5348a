/** Below `/`; the table of the pages themselves is in `web/src/navigation/page-paths.ts`, and a test holds both equal. */
export const pagePaths: readonly string[] = [
  "",
  "explore",
  "explain",
  "metadata",
  "live",
  "exporters",
  "devices",
  "outputs",
  "settings",
];
