import type { ComponentType } from "preact";
import type { deepPaths, PagePath, PagePlace } from "../navigation/page-paths.ts";

/** A page in the navigation. Its code comes when it is first shown. */
export interface PageRow {
  readonly path: PagePath;
  readonly label: string;
  readonly load: LoadPage;
}

type LoadPage = () => Promise<{ readonly default: ComponentType }>;

/** The pages in the order of the navigation. */
export const pageTable: readonly PageRow[] = [
  { path: "", label: "Overview", load: () => import("../pages/overview/overview-page.tsx") },
  { path: "explore", label: "Explore", load: () => import("../pages/explore/explore-page.tsx") },
  { path: "boards", label: "Boards", load: () => import("../pages/boards/boards-page.tsx") },
  { path: "explain", label: "Explain", load: () => import("../pages/explain/explain-page.tsx") },
  { path: "metadata", label: "Metadata", load: () => import("../pages/metadata/metadata-page.tsx") },
  { path: "live", label: "Live", load: () => import("../pages/live/live-page.tsx") },
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

/** What loads the code of a page; undefined: there is no such page. */
export function loadOf(page: PagePlace["page"]): LoadPage | undefined {
  if (page === "address" || page === "value") return deepPages[page];
  return pageTable.find(({ path }) => path === page)?.load;
}
