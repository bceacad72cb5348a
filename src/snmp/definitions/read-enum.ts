import { formatOid, parseOid } from "../session/oid.ts";
import { quote } from "../../base/text/index.ts";
import { describe, isNull, type MapReader } from "./map-reader.ts";
import type { YamlMap, YamlValue } from "./yaml-values.ts";

/** Labels by number; of a bitmap by bit number. */
export function readNumberLabels(map: YamlMap, reader: MapReader, isBitmap: boolean): Map<number, string> {
  const labels = new Map<number, string>();
  for (const [key, node] of map) {
    const number = Number(key);
    const isNumber = isBitmap ? /^\d{1,5}$/.test(key) : /^-?\d{1,10}$/.test(key);
    if (!isNumber)
      reader.error([key], "key", `expected a ${isBitmap ? "bit number" : "whole number"}, found ${quote(key)}`);
    const label = readLabel(key, node, reader);
    if (isNumber && labels.has(number)) reader.error([key], "key", `${number} is there twice`);
    if (label !== undefined) labels.set(number, label);
  }
  return labels;
}

/** Labels by OID, as text with a leading dot. */
export function readOidLabels(map: YamlMap, reader: MapReader): Map<string, string> {
  const labels = new Map<string, string>();
  for (const [key, node] of map) {
    const oid = parseOid(key);
    if (oid === undefined) reader.error([key], "key", `${quote(key)} is not an OID such as .1.3.6.1.2.1.1.5`);
    const label = readLabel(key, node, reader);
    if (oid !== undefined && label !== undefined) labels.set(formatOid(oid), label);
  }
  return labels;
}

function readLabel(key: string, node: YamlValue, reader: MapReader): string | undefined {
  // A label may well be the word null.
  if (typeof node === "string" && node !== "") return node;
  reader.error([key], isNull(node) ? "key" : "value", `${key}: expected a label, found ${describe(node)}`);
  return undefined;
}
