// Writes the *.gen.ts of the tables in definitions/, and proto/flow/v1/flow.proto: fields of records, elements of vendors, names of ICMP, structures of sFlow, names of NetObserv.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { flowProto } from "./flow-proto.js";
import { checkProtoNumbers, protoRest, readFieldTable } from "./read-fields.js";
import { checksumFile, writeChecksums } from "./checksums.js";

process.chdir(join(import.meta.dirname, ".."));
const files = new Set();

generate("definitions/fields.tsv", "src/record/fields/fields.gen.ts", (text) => {
  const fields = readFieldTable(text);
  checkProtoNumbers(fields);
  const rows = fields.map((field) => JSON.stringify(field).replaceAll("\\", "\\\\"));
  return [
    "/** Every field of records, as JSON: to parse it takes a fraction of what literals take. */",
    `export const fieldsJson = \`[\n${rows.join(",\n").replaceAll("`", "\\`").replaceAll("${", "\\${")}\n]\`;`,
    "",
    "/** Numbers of the maps of proto/flow/v1/flow.proto for what has no number of its own. */",
    `export const protoRest = ${JSON.stringify(protoRest)};`,
  ];
});

generate("definitions/fields.tsv", "proto/flow/v1/flow.proto", (text) => flowProto(readFieldTable(text), protoRest));

generate("definitions/vendor-elements.tsv", "src/flow/elements/registry/vendor-types.gen.ts", (text) => {
  const rows = new Map();
  for (const [pen, id, name, type] of rowsOf(text)) {
    rows.set(pen, [...(rows.get(pen) ?? []), `    ${JSON.stringify([Number(id), name, type])},\n`]);
  }
  return [
    'import type { VendorRow } from "./information-element.ts";',
    "",
    "/** Elements of vendors that publish no registry, by private enterprise number. */",
    "export const vendorTypes: readonly (readonly [pen: number, rows: readonly VendorRow[]])[] = [",
    ...Array.from(rows, ([pen, elements]) => `  [${pen}, [\n${elements.join("")}  ]],`),
    "];",
  ];
});

generate("definitions/icmp.tsv", "src/flow/kernel/icmp-names.gen.ts", (text) => {
  const protocols = new Map();
  for (const [protocol, type, code, name] of rowsOf(text)) {
    const types = protocols.get(protocol) ?? protocols.set(protocol, []).get(protocol);
    if (code === "") types.push([Number(type), name, []]);
    else types.at(-1)[2].push([Number(code), name]);
  }
  return [
    "/** A type of ICMP: its name, and those of its codes. */",
    "export type IcmpName = readonly [type: number, name: string, codes: readonly (readonly [code: number, name: string])[]];",
    "",
    "/** Types and codes of ICMP and ICMPv6 by the number of the protocol. */",
    ...mapOf("icmpNamesOf", "number, readonly IcmpName[]", protocols),
  ];
});

const vendorFormat = 4096;
generate("definitions/sflow-structures.tsv", "src/flow/wire/sflow/structures.gen.ts", (text) => {
  const structures = { flow: new Map(), counters: new Map() };
  for (const [sample, format, field, type] of rowsOf(text)) {
    const [number, vendor = 0] = format.split(":").toReversed().map(Number);
    const key = vendor * vendorFormat + number;
    structures[sample].set(key, [...(structures[sample].get(key) ?? []), [field, type]]);
  }
  return [
    'import type { CounterType, FlowType, XdrLayout } from "./xdr-reader.ts";',
    "",
    "/** Flow records by format, without those that are more than a row of fields. */",
    ...mapOf("flowRecordLayouts", "number, XdrLayout<FlowType>", structures.flow),
    "",
    "/** Counter records by format. */",
    ...mapOf("counterLayouts", "number, XdrLayout<CounterType>", structures.counters),
  ];
});

generate("definitions/drop-reasons.tsv", "src/flow/wire/sflow/drop-reasons.gen.ts", (text) => [
  "/** Why a packet was discarded, by code. */",
  ...mapOf("sflowDropReasons", "number, string", new Map(rowsOf(text))),
]);

generate("definitions/netobserv.tsv", "src/app/settings/netobserv/netobserv-names.gen.ts", (text) => {
  const names = rowsOf(text).map(([name, example, setting, values, accepted, missing, needs, differs]) => {
    const valueOf = Object.fromEntries(values.split(",").flatMap((pair) => (pair === "" ? [] : [pair.split("=")])));
    const as = setting === "" ? undefined : { setting, values: valueOf };
    const said = Object.entries({ accepted, missing, needs, differs }).filter(([, words]) => words !== "");
    return [name, { example, as, ...Object.fromEntries(said) }];
  });
  return [
    'import type { KnownName } from "./netobserv-names.ts";',
    "",
    "/** Every public name of ElastiFlow NetObserv, without its prefix. */",
    "export const netObservNames: Readonly<Record<string, KnownName>> = {",
    ...names.map(([name, known]) => `  ${name}: ${JSON.stringify(known)},`),
    "};",
  ];
});

writeChecksums(join("src/record/fields", `definitions-${checksumFile}`), [...files]);

/** Cells of the lines behind the names of the columns; lines that begin with `#` are comments. */
function rowsOf(text) {
  const lines = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  return lines.slice(1).map((line) => line.split("\t"));
}

/** A constant that is a map with numbers as keys. */
function mapOf(name, types, entries) {
  const lines = Array.from(entries, ([key, value]) => `  [${key}, ${JSON.stringify(value)}],`);
  return [`export const ${name}: ReadonlyMap<${types}> = new Map<${types}>([`, ...lines, "]);"];
}

function generate(source, output, linesOf) {
  const head = `// Generated from ${source} by scripts/generate-definitions.js; do not edit.`;
  mkdirSync(dirname(output), { recursive: true });
  writeFileSync(output, `${[head, ...linesOf(readFileSync(source, "utf8"))].join("\n")}\n`);
  files.add(source).add(output);
}
