import { compareKeys, compareSpecificity, type Key } from "../../base/ip/index.ts";
import { quote } from "../../base/text/index.ts";
import type { YamlNode } from "../../base/yaml/index.ts";
import { readKey } from "../files/read-key.ts";
import { readMapFile, type ReadFile, type Reporter } from "../files/read-map-file.ts";
import { pairsOf, readApp, type App } from "./read-app.ts";

/** Applications at an address by their ports. */
export interface AppHost {
  readonly key: Key;
  /** The narrowest range first. */
  readonly ports: readonly AppPorts[];
}

export interface AppPorts {
  readonly first: number;
  /** Inclusive. */
  readonly last: number;
  readonly app: App;
}

/**
 * Reads a file of applications by place: address, CIDR or range → port or `first-last` → `{name, category, subcategory, metadata}`.
 *
 * @returns hosts, the most specific first.
 * @throws FileFindings
 */
export function readAppEnds(bytes: Uint8Array): ReadFile<readonly AppHost[]> {
  return readMapFile(bytes, (root, report) => {
    const hosts = new Map<string, AppHost>();
    for (const { key: keyNode, value } of root?.pairs ?? []) {
      const key = readKey(keyNode, report);
      if (key === undefined) continue;
      if (hosts.has(key.text)) report.error(keyNode, `${quote(keyNode.text)} is given twice`);
      hosts.set(key.text, { key, ports: readPorts(value, report) });
    }
    return [...hosts.values()].toSorted((a, b) =>
      a.key.family === b.key.family ? compareSpecificity(a.key, b.key) : compareKeys(a.key, b.key),
    );
  });
}

function readPorts(node: YamlNode, report: Reporter): AppPorts[] {
  const ports = new Map<string, AppPorts>();
  for (const { key, value } of pairsOf(node, "a mapping from ports to applications", report)) {
    const [first = Number.NaN, last = first] = /^\d{1,5}(?:-\d{1,5})?$/.test(key.text)
      ? key.text.split("-").map(Number)
      : [];
    if (!(first <= last && last <= 65_535)) {
      report.error(key, `${quote(key.text)} is no port: expected 0 to 65535, or a range as in 8000-8099`);
      continue;
    }
    const name = `${first}-${last}`;
    if (ports.has(name)) report.error(key, `port ${quote(key.text)} is given twice`);
    ports.set(name, { first, last, app: readApp(value, true, report) });
  }
  return [...ports.values()].toSorted((a, b) => a.last - a.first - (b.last - b.first) || a.first - b.first);
}
