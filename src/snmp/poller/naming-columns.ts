import { oidStartsWith, type Oid } from "../session/oid.ts";

/** ENTITY-MIB (RFC 6933), LLDP-MIB (IEEE 802.1AB), HOST-RESOURCES-MIB (RFC 2790). */
const columns = {
  entityDescr: [1, 3, 6, 1, 2, 1, 47, 1, 1, 1, 1, 2],
  entityParent: [1, 3, 6, 1, 2, 1, 47, 1, 1, 1, 1, 4],
  entityClass: [1, 3, 6, 1, 2, 1, 47, 1, 1, 1, 1, 5],
  entityPosition: [1, 3, 6, 1, 2, 1, 47, 1, 1, 1, 1, 6],
  entityName: [1, 3, 6, 1, 2, 1, 47, 1, 1, 1, 1, 7],
  portIdSubtype: [1, 0, 8802, 1, 1, 2, 1, 3, 7, 1, 2],
  portId: [1, 0, 8802, 1, 1, 2, 1, 3, 7, 1, 3],
  portDescr: [1, 0, 8802, 1, 1, 2, 1, 3, 7, 1, 4],
  deviceDescr: [1, 3, 6, 1, 2, 1, 25, 3, 2, 1, 3],
} as const satisfies Readonly<Record<string, Oid>>;

/** A column that rows of other tables are named by. */
export type NamingColumn = keyof typeof columns;

export function namingColumn(oid: Oid): NamingColumn | undefined {
  return (Object.keys(columns) as NamingColumn[]).find(
    (name) => columns[name].length === oid.length && oidStartsWith(oid, columns[name]),
  );
}
