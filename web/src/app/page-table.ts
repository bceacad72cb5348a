import type { ComponentType } from "preact";
import type { deepPaths, PagePath, PagePlace } from "../navigation/page-paths.ts";

/** A page in the navigation. Its code comes when it is first shown. */
export interface PageRow {
  readonly path: PagePath;
  readonly label: string;
  readonly load: LoadPage;
  /** Whether it has something for those who are limited to scopes; the others are of the whole collector. */
  readonly isOfScopes?: true;
}

type LoadPage = () => Promise<{ readonly default: ComponentType }>;

/** The pages in the order of the navigation. */
const pageTable: readonly PageRow[] = [
  { path: "", label: "Overview", load: () => import("../pages/overview/overview-page.tsx"), isOfScopes: true },
  { path: "alerts", label: "Alerts", load: () => import("../pages/alerts/alerts-page.tsx") },
  { path: "explore", label: "Explore", load: () => import("../pages/explore/explore-page.tsx"), isOfScopes: true },
  { path: "boards", label: "Boards", load: () => import("../pages/boards/boards-page.tsx") },
  { path: "explain", label: "Explain", load: () => import("../pages/explain/explain-page.tsx"), isOfScopes: true },
  { path: "metadata", label: "Metadata", load: () => import("../pages/metadata/metadata-page.tsx"), isOfScopes: true },
  { path: "live", label: "Live", load: () => import("../pages/live/live-page.tsx"), isOfScopes: true },
  { path: "exporters", label: "Exporters", load: () => import("../pages/exporters/exporters-page.tsx") },
  { path: "devices", label: "Devices", load: () => import("../pages/devices/devices-page.tsx") },
  { path: "map", label: "Map", load: () => import("../pages/map/map-page.tsx") },
  { path: "outputs", label: "Outputs", load: () => import("../pages/outputs/outputs-page.tsx") },
  { path: "settings", label: "Settings", load: () => import("../pages/settings/settings-page.tsx") },
];

const loadValuePage: LoadPage = () => import("../pages/explain/value-page.tsx");
const deepPages: Readonly<Record<(typeof deepPaths)[number], LoadPage>> = {
  address: loadValuePage,
  value: loadValuePage,
};

/** The pages that are offered. @param isLimited whether who looks is limited to scopes. */
export const offeredPages = (isLimited: boolean): readonly PageRow[] =>
  isLimited ? pageTable.filter(({ isOfScopes }) => isOfScopes) : pageTable;

/** What loads the code of a page; undefined: there is no such page. */
export function loadOf(page: PagePlace["page"], isLimited: boolean): LoadPage | undefined {
  if (page === "address" || page === "value") return deepPages[page];
  return offeredPages(isLimited).find(({ path }) => path === page)?.load;
}
