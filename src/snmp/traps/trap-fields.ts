import type { RecordFields } from "../../record/index.ts";
import type { Attribute, Definitions, IndexPart, ObjectDefinition } from "../definitions/definitions.ts";
import { formatOid, type Oid } from "../session/ber.ts";
import type { VarBind } from "../session/ber.ts";
import { convertValue } from "../values/convert-value.ts";
import { decodeIndex } from "../values/convert-value.ts";
import { putRow, type Cell } from "../values/put-row.ts";
import type { NameTables } from "../values/put-value.ts";
import { syntaxes, type Syntax } from "../values/syntaxes-and-units.ts";
import type { Trap } from "./trap.ts";

interface Found {
  /** The attribute, or the part of an index: notifications have its column although it cannot be read in a table. */
  readonly target: Attribute | IndexPart;
  readonly object: ObjectDefinition;
}

/** Finds the attribute or the part of an index for an instance: the one whose OID is the longest prefix of the instance. */
export class AttributeIndex {
  readonly #root: Arc = { found: undefined, next: undefined };

  constructor(definitions: Definitions) {
    for (const object of definitions.objects.values()) {
      for (const target of object.index) arcAt(this.#root, target.oid).found ??= { target, object };
      for (const target of object.attributes.values()) arcAt(this.#root, target.oid).found = { target, object };
    }
  }

  find(oid: Oid): (Found & { readonly suffix: Oid }) | undefined {
    let arc: Arc | undefined = this.#root;
    let found: Found | undefined;
    let length = 0;
    for (let i = 0; i < oid.length && arc !== undefined; i++) {
      arc = arc.next?.get(oid[i] as number);
      if (arc?.found === undefined) continue;
      ({ found } = arc);
      length = i + 1;
    }
    return found && { target: found.target, object: found.object, suffix: oid.slice(length) };
  }
}

/**
 * A node in a tree of OIDs. A storm of notifications looks up some values of each one, and texts of all prefixes would cost more than
 * all other work.
 */
interface Arc {
  found: Found | undefined;
  next: Map<number, Arc> | undefined;
}

function arcAt(root: Arc, oid: Oid): Arc {
  let arc = root;
  for (const number of oid) {
    const next: Map<number, Arc> = (arc.next ??= new Map<number, Arc>());
    let child = next.get(number);
    if (child === undefined) next.set(number, (child = { found: undefined, next: undefined }));
    arc = child;
  }
  return arc;
}

/** snmpTrapOID, whose enumeration has the names of notifications. */
const snmpTrapOidText = ".1.3.6.1.6.3.1.1.4.1";
const text = syntaxes.get("OctetString") as Syntax;

/**
 * Adds a notification to a record: its own fields below `snmp.trap`, and its values under the names of polled objects. Values without a
 * definition become texts in `snmp.trap.varbinds`, as `OID = value`.
 */
export function putTrap(fields: RecordFields, trap: Trap, attributes: AttributeIndex, names: NameTables): void {
  const oid = formatOid(trap.oid);
  const label = names.enums.oid.get(snmpTrapOidText)?.get(oid);
  fields.set("snmp.trap.oid", oid);
  if (label !== undefined) fields.set("snmp.trap.name", label);
  fields.set("snmp.trap.kind", trap.kind);
  fields.set("snmp.trap.version", trap.version);
  if (trap.uptime !== undefined) fields.set("snmp.trap.uptime", trap.uptime * 10);
  if (trap.enterprise !== undefined) fields.set("snmp.trap.enterprise", formatOid(trap.enterprise));
  if (trap.user !== undefined) fields.set("snmp.trap.user", trap.user);
  const unknown: string[] = [];
  const cells: Cell[] = [];
  const said = new Set<string>();
  for (const varbind of trap.varbinds) {
    const found = attributes.find(varbind.oid);
    if (found === undefined || varbind.value === null) {
      unknown.push(varbindText(varbind));
      continue;
    }
    for (const cell of indexCells(found.object.index, found.suffix)) {
      if (said.has(cell[0].field)) continue;
      said.add(cell[0].field);
      cells.push(cell);
    }
    if (said.has(found.target.field)) continue;
    said.add(found.target.field);
    cells.push([found.target, varbind]);
  }
  const { unreadable, implausible } = putRow(fields, cells, names);
  for (const [definition, value] of cells)
    if (unreadable.includes(definition) || implausible.includes(definition))
      unknown.push(`${definition.oidText} = ${String(convertValue(text, value) ?? "")}`);
  if (unknown.length > 0) fields.set("snmp.trap.varbinds", unknown);
}

function indexCells(index: readonly IndexPart[], suffix: Oid): Cell[] {
  const parts = decodeIndex(
    index.map(({ type }) => type),
    suffix,
  );
  if (parts === undefined || index.length === 0) return [];
  return index.map((part, i): Cell => [part, parts[i] as NonNullable<(typeof parts)[number]>]);
}

function varbindText(varbind: VarBind): string {
  const value = varbind.value === null ? varbind.type : convertValue(text, varbind);
  return `${formatOid(varbind.oid)} = ${String(value ?? "")}`;
}
