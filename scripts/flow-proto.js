// The schema of a flow in protobuf, as text.

const scalars = {
  keyword: "string",
  ip: "bytes",
  long: "int64",
  unsigned_long: "uint64",
  double: "double",
  boolean: "bool",
  date: "sfixed64",
  date_nanos: "sfixed64",
  geo_point: "string",
};

/**
 * Writes proto/flow/v1/flow.proto as lines.
 *
 * @param fields of records, by the table. @param rest numbers of the maps for what has no number.
 */
export function flowProto(fields, rest) {
  const numbered = fields
    .filter(({ protoNumber }) => protoNumber !== undefined)
    .map((field) => [field.protoNumber, linesOf(field)]);
  const all = [
    ...numbered,
    [rest.texts, mapLines("other", rest.texts)],
    [rest.values, mapLines("other_json", rest.values)],
  ];
  const body = all.toSorted(([a], [b]) => a - b).flatMap(([, lines]) => lines);
  return [...head, ...body, "}"];
}

const head = [
  "// A record of netgloss. Fields are called as in its lines of JSON, with underscores for dots; their names in JSON are those of the lines.",
  "//",
  "// Addresses are bytes in network order: 4 of IPv4, 16 of IPv6. Times are nanoseconds since 1970-01-01T00:00:00Z, without leap seconds.",
  "// A number belongs to its field for ever. A field that is not there was not in the record.",
  "",
  'syntax = "proto3";',
  "",
  "package flow.v1;",
  "",
  "// A flow, or what else an exporter or a device said.",
  "message Flow {",
];

const rests = {
  other: "Texts without a number: metadata under names of your own, and elements without a name of netgloss.",
  other_json: "Other values without a number, and those that are not of the type of their field, as JSON.",
};

function mapLines(name, number) {
  return [`  // ${rests[name]} By the name of the field.`, `  map<string, string> ${name} = ${number};`];
}

function linesOf({ name, type, isArray, unit, description, protoNumber }) {
  const words = [description, ...(unit === "" || description.includes(unit) ? [] : [unit])].join(", ");
  const label = isArray ? "repeated" : "optional";
  return [
    `  // ${name}: ${words}`,
    `  ${label} ${scalars[type]} ${protoName(name)} = ${protoNumber} [json_name = ${JSON.stringify(name)}];`,
  ];
}

/** `flow.src.isInternal` is `flow_src_is_internal`. */
function protoName(name) {
  return name
    .replace("@", "")
    .replaceAll(".", "_")
    .replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
