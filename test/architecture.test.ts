import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { test } from "node:test";
import { houseFigures } from "../scripts/house-figures.ts";
import { risenNumbers, figuresTable } from "./support/figures-table.ts";

/** What each room under `src/` may import. The table in docs/house.md explains the house; this one is the law. */
const mayImport: Readonly<Record<string, readonly string[]>> = {
  base: [],
  record: ["base"],
  fleet: ["base"],
  metadata: ["base"],
  output: ["base", "record"],
  explore: ["base", "record"],
  watch: ["base", "record", "output"],
  snmp: ["base", "record"],
  flow: ["base", "record"],
  enrich: ["base", "record", "metadata"],
  server: ["base", "record", "metadata", "snmp"],
  app: ["base", "record", "fleet", "metadata", "output", "explore", "watch", "snmp", "flow", "enrich", "server"],
};

/**
 * The parts inside a room, in order: a part may import from itself and from those before it; parts of one group know
 * nothing of one another. A part is a folder (`http`), a folder in a folder (`session/usm`) or a file (`index.ts`).
 * `.` stands for the files of the room that no other part names; a row without `.` has it at its end.
 * Every folder directly in a room that has a row is named by the row.
 */
const parts: Readonly<Record<string, readonly (string | readonly string[])[]>> = {
  base: [["text", "report"], ["ip", "file", "postgresql", "yaml"], "settings"],
  record: [
    ["fields", "settings.ts"],
    "filter/filter.ts",
    ["filter/syntax", "filter/vocabulary.ts"],
    "filter/check",
    "record-fields.ts",
    "line-values.ts",
    "line-walker.ts",
    "line-buffer.ts",
    "columns",
    "filter/evaluate",
    "filter",
    ".",
  ],
  metadata: [
    ["model", "settings.ts"],
    "index",
    "history",
    "store",
    "scopes",
    "postgresql",
    "exchange/import-rows.ts",
    "exchange/rows",
    "exchange/map",
    "exchange",
    "sources/source-config.ts",
    "sources/source-reader.ts",
    "sources/kinds",
    "sources/config",
    "sources",
    ".",
  ],
  app: [
    "settings",
    "cli/terminal.ts",
    ["enrichment/enrichment.ts", "parts/flow-elements.ts"],
    "shaping.ts",
    "parts/decoding-options.ts",
    "outputs",
    "threads",
    "views/outputs-view.ts",
    "doctor",
    ["parts/access.ts", "enrichment", "parts/databases.ts"],
    "service",
    ".",
    "checks",
    "reports/schedule.ts",
    "views",
    "reports",
    "parts",
    "collector.ts",
    "demo",
    "cli",
    ["main.ts", "index.ts"],
  ],
  explore: [
    ["settings.ts", "column.ts", "sampling"],
    "block.ts",
    "booking.ts",
    "intake.ts",
    "query",
    "status.ts",
    ["duckdb", "clickhouse"],
    ".",
  ],
  watch: [
    ["settings.ts", "windows.ts", "condition.ts", "sources.ts", "history.ts"],
    "value-codes.ts",
    "batch-rows.ts",
    ["row-filter.ts", "answers"],
    ["rule.ts", "close-look.ts"],
    ["measures.ts", "ready.ts"],
    "rule-watch.ts",
    "alerts.ts",
    "alert-filter.ts",
    "silences.ts",
    "alert-file.ts",
    "actions",
    ["notifier.ts", "watch-file.ts"],
    ".",
  ],
  flow: [
    ["datagram.ts", "settings.ts"],
    "capture",
    "intake",
    "elements",
    "exporters",
    "kernel",
    "wire",
    "relay",
    "line",
    "exporters/state",
    ".",
  ],
  enrich: [
    ["settings.ts", "place-fields.ts", "recent-cache.ts", "shape-lines.ts", "files"],
    "address",
    ["apps", "dns", "mmdb", "names", "netif"],
    "rules",
    ".",
  ],
  server: [
    "access",
    "settings.ts",
    "api-error.ts",
    "json",
    "http",
    "auth",
    "rpc",
    "udm",
    "tools",
    "methods",
    "pages.ts",
    "openapi-document.ts",
    "web-pages.ts",
    ".",
  ],
  fleet: ["settings.ts", "membership.ts", "shares.ts", "postgresql-tables.ts", "."],
  snmp: [
    ["limits.ts", "settings.ts"],
    "session",
    "values",
    "definitions",
    "discovery",
    "sweep",
    "poller",
    "readings",
    "topology",
    "traps",
    "operations",
  ],
};

/** Circles that are left: in the row of app, files of one folder have different places. */
const knownCircles = /^app(?:\/|$)/;

/** Doors of a part of a room, for a thread or a command that would load all of the room for it. Each part of base has one, too, and the settings of a room have theirs. */
const secondDoors: ReadonlySet<string> = new Set([
  "flow/intake/index.ts",
  "explore/sampling/index.ts",
  "output/kinds.ts",
]);

/** The parts of the pages in order: each may import those before it. What several pages share is in `ui`. */
const webParts: readonly string[] = ["format", "navigation", "api", "ui", "pages", "app", "main.tsx"];
const webPackages = /^(?:preact(?:\/hooks)?|uplot|d3-sankey)(?:\/.+\.css)?$/;
const pageFolder = (file: string): string | undefined => /\/web\/src\/pages\/([^/]+)\//.exec(file)?.[1];

/** Where numbers may be read from bytes by hand. Elsewhere a library does it. */
const codecFolders: readonly string[] = [
  "enrich/address",
  "enrich/mmdb",
  "fleet",
  "flow/capture",
  "flow/intake",
  "flow/kernel",
  "flow/line",
  "flow/relay",
  "flow/wire",
  "metadata/index",
  "metadata/store",
  "output/delivery",
  "output/shape",
  "record",
  "server/http",
  "server/rpc",
  "snmp/session",
  "snmp/traps",
  "snmp/values",
];
const readsNumbers = /\bnew DataView\(|\.read(?:(?:U?Int|Float|Double|Big)\w*)(?:BE|LE)\(|\.readU?Int8\(/;

const root = resolve(import.meta.dirname, "../..");
/** The kernel is compiled from this file, too: a door with TypeScript behind it would be too much for its compiler. */
const sharedWithTheKernel = "src/record/address-layout";
const source = join(root, "src");

test("a room imports only from the rooms in its row, and only through their door", () => {
  const problems: string[] = [];
  for (const file of sourceFiles(source)) {
    const room = roomOf(file);
    for (const target of imports(file)) {
      if (!target.startsWith(".")) continue;
      const imported = resolve(dirname(file), target);
      const otherRoom = roomOf(imported);
      if (otherRoom === room) continue;
      const where = `${relative(root, file)} imports ${relative(root, imported)}`;
      const isPackage = /^packages\/[a-z]+\/index\.ts$/.test(relative(root, imported));
      if (room === "app" && isPackage) continue;
      if (!imported.startsWith(source)) problems.push(`${where}: outside src`);
      else if (!mayImport[room]?.includes(otherRoom)) problems.push(`${where}: ${room} may not import ${otherRoom}`);
      else if (relative(root, imported) === sharedWithTheKernel) continue;
      else if (secondDoors.has(relative(source, imported))) continue;
      else if (room === "app" && imported === join(source, otherRoom, "settings.ts")) continue;
      else if (otherRoom === "base" && /^base\/[a-z]+\/index\.ts$/.test(relative(source, imported))) continue;
      else if (imported !== join(source, otherRoom, "index.ts")) problems.push(`${where}: not through its index.ts`);
    }
  }
  assert.deepEqual(problems, []);
});

test("a package imports only itself and parts of base, and has a README", () => {
  const packages = join(root, "packages");
  const problems: string[] = [];
  for (const name of readdirSync(packages)) {
    if (!existsSync(join(packages, name, "README.md"))) problems.push(`${name} has no README.md`);
    for (const file of sourceFiles(join(packages, name))) {
      const targets = imports(file).filter((target) => target.startsWith("."));
      for (const imported of targets.map((target) => relative(root, resolve(dirname(file), target)))) {
        const isOwn = imported.startsWith(`packages/${name}/`);
        if (!isOwn && !/^src\/base\/[a-z]+\/index\.ts$/.test(imported)) problems.push(`${file} imports ${imported}`);
      }
    }
  }
  assert.deepEqual(problems, []);
});

test("what the container image is built of imports nothing that its build leaves out", () => {
  const leftOut = readFileSync(join(root, ".dockerignore"), "utf8").split("\n");
  const problems = ["src", "packages", "scripts"].flatMap((folder) =>
    sourceFiles(join(root, folder)).flatMap((file) =>
      imports(file)
        .filter((target) => target.startsWith("."))
        .map((target) => relative(root, resolve(dirname(file), target)))
        .filter((imported) => leftOut.includes(imported.split("/")[0] ?? ""))
        .map((imported) => `${relative(root, file)} imports ${imported}`),
    ),
  );
  assert.deepEqual(problems, []);
});

test("every room has a README", () => {
  const without = readdirSync(source).filter((room) => !existsSync(join(source, room, "README.md")));
  assert.deepEqual(without, []);
});

test("every folder under src is a room of the table", () => {
  const unknown = readdirSync(source).filter((name) => !(name in mayImport));
  assert.deepEqual(unknown, []);
});

test("inside a room a part imports only from the parts before it", () => {
  const problems = Object.keys(parts).flatMap((room) => wrongPartImports(room));
  assert.deepEqual(problems, []);
});

test("the row of a room names parts that exist, and every folder of the room", () => {
  const problems: string[] = [];
  for (const [room, row] of Object.entries(parts)) {
    const named = row.flat();
    for (const part of named) if (!existsSync(join(source, room, part))) problems.push(`${room}/${part} is not there`);
    for (const entry of readdirSync(join(source, room), { withFileTypes: true })) {
      const isNamed = named.some((part) => part === entry.name || part.startsWith(`${entry.name}/`));
      if (entry.isDirectory() && entry.name !== "gen" && !isNamed) problems.push(`${room}/${entry.name} has no place`);
    }
  }
  assert.deepEqual(problems, []);
});

test("the folders of a room do not import one another in a circle", () => {
  const inCircles = readdirSync(source)
    .flatMap((room) => foldersInCircles(room))
    .filter((folder) => !knownCircles.test(folder));
  assert.deepEqual(inCircles, []);
});

test("the pages are thin: they import no room and few packages, and a page knows nothing of another", () => {
  const folder = join(root, "web/src");
  const problems: string[] = [];
  const levelOf = (file: string): number => webParts.indexOf(relative(folder, file).split("/")[0] ?? "");
  for (const file of sourceFiles(folder, /\.tsx?$/)) {
    for (const target of imports(file)) {
      const imported = resolve(dirname(file), target);
      const where = `${relative(root, file)} imports ${target}`;
      if (!target.startsWith(".")) {
        if (!webPackages.test(target)) problems.push(`${where}: not one of the packages of the pages`);
      } else if (!imported.startsWith(`${folder}/`)) problems.push(`${where}: outside web/src`);
      else if (imported.endsWith(".css")) continue;
      else if (levelOf(imported) > levelOf(file)) problems.push(`${where}: ${webParts[levelOf(imported)]} comes later`);
      else if (pageFolder(imported) !== undefined && levelOf(imported) === levelOf(file)) {
        if (pageFolder(imported) !== pageFolder(file)) problems.push(`${where}: another page`);
      }
    }
    if (!/\/[a-z0-9]+(-[a-z0-9]+)*(\.gen)?\.tsx?$/.test(file))
      problems.push(`${relative(root, file)} is not in kebab-case`);
  }
  assert.deepEqual(problems, []);
});

test("the figures of the house only fall", () => {
  assert.deepEqual(risenNumbers(figuresTable, houseFigures(root)), []);
});

test("codecs are in the folders that may have them, and each of these has one", () => {
  const withCodec = sourceFiles(source)
    .filter((file) => !file.includes("/gen/") && readsNumbers.test(readFileSync(file, "utf8")))
    .map((file) => relative(source, file));
  const isIn = (file: string, folder: string): boolean => file.startsWith(`${folder}/`);
  const elsewhere = withCodec.filter((file) => !codecFolders.some((folder) => isIn(file, folder)));
  const without = codecFolders.filter((folder) => !withCodec.some((file) => isIn(file, folder)));
  assert.deepEqual({ elsewhere, without }, { elsewhere: [], without: [] });
});

test("files are named in kebab-case", () => {
  const odd = sourceFiles(source).filter((file) => !/\/[a-z0-9]+(-[a-z0-9]+)*(\.gen|_pb|\.d)?\.ts$/.test(file));
  assert.deepEqual(odd, []);
});

function wrongPartImports(room: string): string[] {
  const folder = join(source, room);
  const row = (parts[room] ?? []).map((group) => [group].flat());
  const named = row.flat().filter((part) => part !== ".");
  const partOf = (file: string): string => {
    const path = relative(folder, file);
    const holders = named.filter((part) => path === part || path.startsWith(`${part}/`));
    return holders.toSorted((a, b) => b.length - a.length)[0] ?? ".";
  };
  const levelOf = (part: string): number => {
    const level = row.findIndex((group) => group.includes(part));
    return level === -1 ? row.length : level;
  };
  return sourceFiles(folder).flatMap((file) => {
    const from = partOf(file);
    return imports(file)
      .filter((target) => target.startsWith("."))
      .map((target) => resolve(dirname(file), target))
      .filter((imported) => roomOf(imported) === room && !relative(folder, imported).startsWith("gen/"))
      .filter((imported) => partOf(imported) !== from && levelOf(partOf(imported)) >= levelOf(from))
      .map(
        (imported) =>
          `${relative(root, file)} imports ${relative(root, imported)}: ${partOf(imported)} is not before ${from}`,
      );
  });
}

/** The files directly in a room, or in a folder whose files have different places, stand for no folder: some are below, some above. */
function foldersInCircles(room: string): string[] {
  const top = join(source, room);
  const next = new Map<string, Set<string>>();
  for (const file of sourceFiles(top)) {
    const folder = dirname(file);
    const imported = imports(file)
      .filter((target) => target.startsWith("."))
      .map((target) => dirname(resolve(folder, target)))
      .filter((other) => other.startsWith(`${top}/`) && other !== folder);
    if (folder !== top) next.set(folder, new Set([...(next.get(folder) ?? []), ...imported]));
  }
  const namedFiles = (parts[room] ?? []).flat().filter((part) => part.endsWith(".ts"));
  for (const part of namedFiles) next.delete(dirname(join(top, part)));
  const isReached = (from: string): boolean => {
    const seen = new Set<string>();
    const rest = [from];
    for (let at = rest.pop(); at !== undefined; at = rest.pop()) {
      for (const other of next.get(at) ?? []) {
        if (!seen.has(other)) rest.push(other);
        seen.add(other);
      }
    }
    return seen.has(from);
  };
  return [...next.keys()].filter((folder) => isReached(folder)).map((folder) => relative(source, folder));
}

function sourceFiles(folder: string, wanted = /\.ts$/): string[] {
  return readdirSync(folder).flatMap((name) => {
    const path = join(folder, name);
    if (statSync(path).isDirectory()) return sourceFiles(path, wanted);
    return wanted.test(path) ? [path] : [];
  });
}

function roomOf(path: string): string {
  return relative(source, path).split("/")[0] ?? "";
}

const anyImport =
  /^\s*(?:import|export)\b[^;(]*?\bfrom\s+"([^"]+)"|^\s*import\s+"([^"]+)"|\bimport\(\s*"([^"]+)"\s*\)/gm;

function imports(file: string): string[] {
  const text = readFileSync(file, "utf8");
  return [...text.matchAll(anyImport)].map((match) => match[1] ?? match[2] ?? match[3] ?? "");
}
