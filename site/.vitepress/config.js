// The site is made of docs/ by copy-pages.js. A link to a page that is not there ends the build.
import { defineConfig } from "vitepress";

const page = (text, name) => ({ text, link: `/${name}` });

export default defineConfig({
  title: "netgloss",
  description: "Network data collector with your own names on every address",
  srcDir: "pages",
  outDir: "dist",
  cacheDir: "cache",
  cleanUrls: true,
  markdown: {
    // Links to headings in the pages are as the hosts of source code make them.
    anchor: {
      slugify: (text) =>
        text
          .toLowerCase()
          .replace(/[^\p{L}\p{N}\s_-]/gu, "")
          .trim()
          .replace(/\s/g, "-"),
    },
    // Angle brackets in the pages are placeholders, no elements; comments are for tests.
    html: false,
    config: (md) =>
      md.core.ruler.before("normalize", "comments", (state) => {
        state.src = state.src.replace(/<!--[^]*?-->\n?/g, "");
      }),
  },
  themeConfig: {
    search: { provider: "local" },
    outline: [2, 3],
    nav: [page("Start", "first-flow"), page("Settings", "settings"), page("Fields", "records"), page("API", "api")],
    sidebar: [
      {
        text: "Start",
        items: [
          page("Your first flow", "first-flow"),
          page("Install and upgrade", "install"),
          page("Tutorial: your names in a store", "tutorial"),
          page("Changing over", "change-over"),
        ],
      },
      {
        text: "How to",
        items: [
          page("Find why flows are missing", "troubleshooting"),
          page("Monitor the collector", "monitoring"),
          page("Pass flows on to several collectors", "tee"),
          page("Let users in", "access"),
          page("Take names from an IPAM", "sources"),
          page("Bring in sheets", "column-maps"),
          page("Share names by PostgreSQL", "postgresql"),
          page("A fleet of collectors", "fleet"),
          page("Search networks for devices", "discovery"),
          page("What is read of which make", "snmp-makes"),
          page("Write SNMP definitions", "generate"),
          page("Enrich by files and databases", "enrichment"),
          page("Shape records", "shaping"),
          page("Look back with Explore", "explore"),
        ],
      },
      {
        text: "Reference",
        items: [
          page("Settings", "settings"),
          page("Fields of records", "records"),
          page("Metrics", "metrics"),
          page("Commands", "commands"),
          page("Command line", "command-line"),
          page("API", "api"),
          page("Outputs", "outputs"),
          page("Delivery", "delivery"),
          page("Filters", "filters"),
          page("Pages", "pages"),
          page("Metadata", "metadata"),
          page("SNMP", "snmp"),
          page("Doctor", "doctor"),
          page("Settings of NetObserv", "netobserv-settings"),
        ],
      },
      {
        text: "Why",
        items: [
          page("The life of a flow", "life-of-a-flow"),
          page("The life of a write", "life-of-a-write"),
          page("Sizing", "sizing"),
          page("Security", "security"),
          page("Decisions", "decisions"),
          page("The source tree", "house"),
          page("Adding an output", "adding-an-output"),
        ],
      },
    ],
  },
});
