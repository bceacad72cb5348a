import assert from "node:assert/strict";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { test } from "node:test";
import { until } from "../support/until.ts";
import { pollVendorDevices } from "./poll-vendor-devices.ts";
import type { VendorDevice } from "./vendor-devices.ts";

/**
 * Recordings of makes, written from their MIB modules, with the records that they give. A file has
 * - `@ sysObjectID sysDescr`: a device;
 * - `MIB::object`, then the names of attributes after `instance`, then a row of values for each instance;
 * - `> {…}` after a row: what the record has of it. `UPDATE_GOLDEN=1` writes these lines.
 */
const folder = resolve(import.meta.dirname, "../../../test/snmp/makes");

/** A row of a table of a device, and the line that has its record. */
interface RecordedRow {
  readonly object: string;
  readonly instance: string;
  readonly expected: string;
  readonly line: number;
}

interface RecordedMake {
  readonly file: string;
  readonly lines: readonly string[];
  readonly devices: readonly (VendorDevice & { readonly rows: readonly RecordedRow[] })[];
}

/** A number, or a text: in quotes where it looks like a number. */
function valueOf(cell: string): string | number {
  if (/^".*"$/.test(cell)) return cell.slice(1, -1);
  return /^-?\d+$/.test(cell) ? Number(cell) : cell;
}

function readMake(file: string): RecordedMake {
  const lines = readFileSync(join(folder, file), "utf8").trimEnd().split("\n");
  const devices: {
    sysObjectId: string;
    descr: string;
    values: Record<string, string | number>;
    facts: object;
    rows: RecordedRow[];
  }[] = [];
  let object = "";
  let columns: readonly string[] = [];
  for (const [line, text] of lines.entries()) {
    const device = devices.at(-1);
    const [, sysObjectId = "", descr = ""] = /^@ (\S+) (.*)$/.exec(text) ?? [];
    if (sysObjectId !== "") devices.push({ sysObjectId, descr, values: {}, facts: {}, rows: [] });
    else if (/^\S+::/.test(text)) object = text;
    else if (text.startsWith("  instance"))
      columns = text
        .split("|")
        .slice(1)
        .map((cell) => cell.trim());
    else if (text.startsWith("  ") && !text.startsWith("  >") && device !== undefined) {
      const [instance = "", ...cells] = text.split("|").map((cell) => cell.trim());
      const [mib = ""] = object.split("::");
      for (const [i, cell] of cells.entries())
        if (cell !== "") device.values[`${mib}::${columns[i]}.${instance}`] = valueOf(cell);
      const next = lines[line + 1] ?? "";
      device.rows.push({ object, instance, line, expected: next.startsWith("  > ") ? next.slice(4) : "" });
    }
  }
  return { file, lines, devices: devices as unknown as RecordedMake["devices"] };
}

/** Fields that every record has. */
const common = /^(?:@timestamp|system\.ip\.addr|system\.host\.name|snmp\.|agent\.|collector\.|event\.)/;

const makes = readdirSync(folder).map(readMake);

test("each make gives the records that stand beside its recording", { timeout: 120_000 }, async (t) => {
  const devices = makes.flatMap((make) => make.devices.map((device) => ({ make, device })));
  const { records } = await pollVendorDevices(
    t,
    devices.map(({ device }) => device),
  );
  const wrong: string[] = [];
  const found = new Map<string, string>();
  const rows = devices.flatMap(({ make, device }, i) =>
    device.rows.map((row) => ({ ...row, file: make.file, ip: `192.0.2.${i + 1}` })),
  );
  const keyOf = (ip: unknown, object: unknown): string => `${String(ip)} ${String(object)}`;
  const byObject = (): Map<string, (typeof records)[number][]> => {
    const grouped = new Map<string, (typeof records)[number][]>();
    for (const record of records) {
      const key = keyOf(record["system.ip.addr"], record["snmp.object.name"]);
      const of = grouped.get(key) ?? [];
      if (of.push(record) === 1) grouped.set(key, of);
    }
    return grouped;
  };
  const wanted = new Map<string, number>();
  for (const { ip, object } of rows) wanted.set(keyOf(ip, object), (wanted.get(keyOf(ip, object)) ?? 0) + 1);
  await until(
    "a record of each row",
    () => {
      const got = byObject();
      return [...wanted].every(([key, count]) => (got.get(key)?.length ?? 0) >= count);
    },
    30_000,
  ).catch(() => {});
  const got = byObject();
  for (const { file, line, ip, object, instance, expected } of rows) {
    const record = got.get(keyOf(ip, object))?.shift();
    const json =
      record && JSON.stringify(Object.fromEntries(Object.entries(record).filter(([field]) => !common.test(field))));
    if (json !== undefined) found.set(`${file}:${line}`, json);
    if (json !== expected) wrong.push(`${file}:${line + 1} ${object} ${instance}: ${json}, not ${expected}`);
  }
  if (process.env["UPDATE_GOLDEN"] === undefined) return assert.deepEqual(wrong, []);
  for (const { file, lines } of makes) {
    const text = lines.flatMap((line, i) => {
      const json = found.get(`${file}:${i}`);
      return line.startsWith("  >") ? [] : json === undefined ? [line] : [line, `  > ${json}`];
    });
    writeFileSync(join(folder, file), `${text.join("\n")}\n`);
  }
});
