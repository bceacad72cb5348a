// Copies docs/ to pages/, where the site is built: VitePress resolves its own packages from there. Links that leave docs/ become plain text.
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

const here = import.meta.dirname;
const pages = join(here, "pages");
rmSync(pages, { recursive: true, force: true });
cpSync(join(here, "../docs"), pages, { recursive: true });
cpSync(join(here, "index.md"), join(pages, "index.md"));
for (const name of readdirSync(pages, { recursive: true, encoding: "utf8" }).filter((one) => one.endsWith(".md"))) {
  const path = join(pages, name);
  const text = readFileSync(path, "utf8").replace(/\[([^\]]+)\]\((\.\.\/[^)#]*)(?:#[^)]*)?\)/g, (link, words, target) =>
    existsSync(join(dirname(path), target)) ? link : words,
  );
  writeFileSync(path, text);
}
