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
    config(md) {
      md.core.ruler.before("normalize", "comments", (state) => {
        state.src = state.src.replace(/<!--[^]*?-->\n?/g, "");
      });
      // Braces in the pages are what rules of ours replace, no expressions of Vue.
      for (const rule of ["text", "code_inline"]) {
        const render = md.renderer.rules[rule];
        md.renderer.rules[rule] = (...given) => render(...given).replaceAll("{{", "&#123;&#123;");
      }
    },
  },
  themeConfig: {
    search: { provider: "local" },
    outline: [2, 3],
    nav: [
      page("Start", "first-flow"),
      page("Settings", "reference/settings"),
      page("Fields", "reference/records"),
      page("API", "api"),
    ],
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
          page("Find out why flows are missing", "doctor"),
          page("Get names from an IPAM or a table", "sources"),
          page("Keep networks with the same addresses apart", "scopes"),
          page("Name interfaces, ports and more", "names"),
          page("Enrich by files and databases", "enrichment"),
          page("Rules", "rules"),
          page("Poll SNMP devices", "snmp"),
          page("Define what is polled", "snmp-definitions"),
          page("Send records to stores", "outputs"),
          page("Shape records", "shaping"),
          page("Use the pages and Explore", "pages"),
          page("Watch flows by rules", "watch"),
          page("Ready rules", "watch-ready"),
          page("Read flows in Python", "arrow"),
          page("Run several collectors", "fleet"),
          page("Secure it and let users in", "access"),
          page("Monitor it", "monitoring"),
          page("Size it", "sizing"),
        ],
      },
      {
        text: "Reference",
        items: [
          page("Settings", "reference/settings"),
          page("Commands", "reference/commands"),
          page("Command line", "command-line"),
          page("Fields of records", "reference/records"),
          page("Filters", "filters"),
          page("Metadata", "metadata"),
          page("API", "api"),
          page("Metrics", "reference/metrics"),
          page("SNMP by vendor", "reference/snmp-vendors"),
          page("File formats", "reference/file-formats"),
          page("Settings of NetObserv", "reference/netobserv-settings"),
        ],
      },
      {
        text: "Why",
        items: [
          page("The life of a flow", "life-of-a-flow"),
          page("The life of a write", "life-of-a-write"),
          page("Decisions", "decisions"),
          page("The source tree", "house"),
          page("Adding an output", "adding-an-output"),
        ],
      },
    ],
  },
});
