import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";

const directory = resolve(import.meta.dirname, "../../../test/support/public-facts");

/**
 * What modules say that are in no table of facts, in the columns of these tables: module, name, OID, type, convention,
 * access, units, hint, labels, index. The folder `public-facts` has a file for each make:
 *
 *     # SP2-MIB: public software that reads the module, to compare with; not each line was compared with all of it
 *     SP2-MIB 1.3.6.1.4.1.12148.10
 *     mainsVoltageEntry 3.4.1 ROW index:mainsVoltageIndex
 *     mainsVoltageValue 3.4.1.6 INTEGER32 units:V
 *
 * An OID counts from that of its module's line. A ROW is no object that can be read. Behind the type may stand
 * `convention:`, `units:`, `hint:`, `labels:` and `index:`.
 */
export function publicFacts(): string[] {
  return readdirSync(directory).flatMap((file) => factsOf(readFileSync(join(directory, file), "utf8"), file));
}

function factsOf(text: string, file: string): string[] {
  let [module, above] = ["", ""];
  return text.split("\n").flatMap((line, index) => {
    if (line === "" || line.startsWith("#")) return [];
    const [, name = "", oid = "", type, rest = ""] = /^(\S+) ([\d.]+)(?: (\w+)(?: (.*))?)?$/.exec(line) ?? [];
    if (oid === "") throw new Error(`public-facts/${file}:${String(index + 1)}: no module, and no object: ${line}`);
    if (type === undefined) {
      [module, above] = [name, oid];
      return [];
    }
    const more = new Map(
      rest.split(/ (?=(?:convention|units|hint|labels|index):)/).map((part) => {
        const [key = "", ...value] = part.split(":");
        return [key, value.join(":")];
      }),
    );
    const of = (key: string): string => more.get(key) ?? "";
    const [base, access] = type === "ROW" ? ["", "NoAccess"] : [type, "ReadOnly"];
    const columns = [module, name, `${above}.${oid}`, base, of("convention"), access];
    return [[...columns, of("units"), of("hint"), of("labels"), of("index"), ""].join("\t")];
  });
}
