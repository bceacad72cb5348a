import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import type { VendorDevice } from "./vendor-devices.ts";

/**
 * Recordings of makes, written from their MIB modules, with the records that they give. A file has
 * - `@ sysObjectID sysDescr`: a device;
 * - `MIB::object`, then the names of attributes after `instance`, then a row of values for each instance;
 * - `> {…}` after a row: what the record has of it. `UPDATE_GOLDEN=1` writes these lines.
 */
export const makesFolder = resolve(import.meta.dirname, "../../../test/snmp/makes");

/** A row of a table of a device, and the line that has its record. */
interface RecordedRow {
  readonly object: string;
  readonly instance: string;
  readonly expected: string;
  readonly line: number;
}

export interface RecordedMake {
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
  const lines = readFileSync(join(makesFolder, file), "utf8").trimEnd().split("\n");
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

export const recordedMakes = (): readonly RecordedMake[] => readdirSync(makesFolder).map(readMake);
