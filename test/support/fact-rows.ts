/**
 * Lines of the columns of MIB facts: module, name, OID, type, convention, access, units, hint, labels, index.
 *
 * @param objects `name arcs TYPE`, and `units:`, `labels:` or `index:` of it. A ROW is no object that can be read.
 */
export function factRows(module: string, above: string, objects: readonly string[]): string[] {
  return objects.map((text) => {
    const [, name = "", oid = "", type = "", key = "", value = ""] =
      /^(\S+) (\S+) (\S+)(?: (\w+):(.*))?$/.exec(text) ?? [];
    const of = (wanted: string): string => (key === wanted ? value : "");
    const access = type === "ROW" ? "NoAccess" : "ReadOnly";
    const base = type === "ROW" ? "" : type;
    const columns = [module, name, `${above}.${oid}`, base, of("convention"), access];
    return [...columns, of("units"), of("hint"), of("labels"), of("index"), ""].join("\t");
  });
}
