import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";

const rule = "-".repeat(78);

/**
 * The licences and notices of all packages that the program runs with, as one text: those of the lock, and those that the build put into
 * the pages. Builds of a package for other platforms carry the text of the package itself. A package without a text of its own has its
 * SPDX expression.
 *
 * @param lock what productionLock returns; the packages are read from node_modules, as far as they are installed.
 * @param pages the list of packages that the build of the pages wrote.
 */
export function thirdPartyLicences(lock, pages) {
  const sections = Object.entries(lock.packages)
    .filter(([folder]) => folder !== "" && (existsSync(folder) || lock.packages[folder].optional !== true))
    .map(([folder, { version, license }]) => ({
      name: folder.slice(folder.lastIndexOf("node_modules/") + "node_modules/".length),
      version,
      license,
      text: textsIn(folder),
    }));
  const bundled = JSON.parse(gunzipSync(readFileSync(pages)).toString("utf8"));
  for (const { name, version, identifier, text = "" } of bundled) {
    sections.push({ name: `${name} (in the pages)`, version, license: identifier, text });
  }
  const head = "netgloss is licensed under Apache-2.0 (see LICENSE). It is shipped with the following packages.\n";
  const ofOne = ({ name, version, license, text }) =>
    `${rule}\n${name} ${version}: ${license}\n${rule}\n${text.trim() === "" ? `Licence: ${license}` : text.trim()}\n`;
  return [head, ...sections.toSorted((a, b) => (a.name < b.name ? -1 : 1)).map(ofOne)].join("\n");
}

function textsIn(folder) {
  if (!existsSync(folder)) return "";
  return readdirSync(folder)
    .filter((name) => /^(?:licen[cs]e|notice|copying)/i.test(name))
    .map((name) => readFileSync(join(folder, name), "utf8").trim())
    .join("\n\n");
}
