import assert from "node:assert/strict";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { test } from "node:test";

/** What each room under `src/` may import. The table in docs/decisions.md explains the house; this one is the law. */
const mayImport: Readonly<Record<string, readonly string[]>> = {
  ip: [],
  report: [],
  record: ["ip"],
  yaml: [],
  file: ["report"],
  udm: ["ip", "report", "yaml", "file"],
  enrich: ["ip", "report", "record", "yaml", "file", "udm"],
  flow: ["ip", "report", "record"],
  snmp: ["ip", "report", "record"],
  output: ["report", "record"],
  api: ["ip", "report", "udm", "snmp"],
  app: ["ip", "report", "record", "yaml", "file", "udm", "enrich", "flow", "snmp", "output", "api"],
};

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
      if (!imported.startsWith(source)) problems.push(`${where}: outside src`);
      else if (!mayImport[room]?.includes(otherRoom)) problems.push(`${where}: ${room} may not import ${otherRoom}`);
      else if (relative(root, imported) === sharedWithTheKernel) continue;
      else if (imported !== join(source, otherRoom, "index.ts")) problems.push(`${where}: not through its index.ts`);
    }
  }
  assert.deepEqual(problems, []);
});

test("every folder under src is a room of the table", () => {
  const unknown = readdirSync(source).filter((name) => !(name in mayImport));
  assert.deepEqual(unknown, []);
});

test("files are named in kebab-case", () => {
  const odd = sourceFiles(source).filter((file) => !/\/[a-z0-9]+(-[a-z0-9]+)*(\.gen|_pb|\.d)?\.ts$/.test(file));
  assert.deepEqual(odd, []);
});

function sourceFiles(folder: string): string[] {
  return readdirSync(folder).flatMap((name) => {
    const path = join(folder, name);
    if (statSync(path).isDirectory()) return sourceFiles(path);
    return path.endsWith(".ts") ? [path] : [];
  });
}

function roomOf(path: string): string {
  return relative(source, path).split("/")[0] ?? "";
}

function imports(file: string): string[] {
  const text = readFileSync(file, "utf8");
  const pattern =
    /^\s*(?:import|export)\b[^;]*?\bfrom\s+"([^"]+)"|^\s*import\s+"([^"]+)"|\bimport\(\s*"([^"]+)"\s*\)/gm;
  return [...text.matchAll(pattern)].map((match) => match[1] ?? match[2] ?? match[3] ?? "");
}
