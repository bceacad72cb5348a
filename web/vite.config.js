import { join } from "node:path";

/** @type {import("vite").UserConfig} */
export default {
  root: import.meta.dirname,
  // Paths are relative, and each page is one level deep: a proxy may put the pages below any path.
  base: "./",
  publicDir: false,
  build: {
    outDir: join(import.meta.dirname, "../dist/pages"),
    emptyOutDir: true,
    target: "es2022",
    // Nothing is inlined: the policy of the pages takes files of this server only.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // What of other packages is in the pages: their licences are shown with those of the collector.
    license: { fileName: "licences.json" },
  },
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  // For work on the pages: `npm run dev` in web/, next to a running collector.
  server: { proxy: { "^/(api|livez|readyz|metrics|session|login|logout|openapi.json)": "http://127.0.0.1:8080" } },
};
