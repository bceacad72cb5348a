import { quoted } from "./what-is-asked.ts";

/** A value, and the field that it is one of: `address`, `prefix`, `interface`, or a field of records. */
export interface ValueOf {
  readonly field: string;
  readonly value: string;
}

interface Kind {
  readonly label: string;
  readonly lead: string;
  /** The filter that finds its entries; undefined: no entry has such a value. */
  readonly search?: string | undefined;
}

const does = "does, and since when";

const known: Readonly<Record<string, (value: string) => Kind>> = {
  address: () => ({ label: "", lead: `What this address is called and why, and what it ${does}.` }),
  prefix: (value) => ({
    label: "",
    lead: `What this network is called, and what it ${does}.`,
    search: `key in ${value}`,
  }),
  name: (value) => ({
    label: "Name",
    lead: `What is called so, and what it ${does}.`,
    search: `name = ${quoted(value)}`,
  }),
  tag: (value) => ({ label: "Tag", lead: `What has this tag, and what it ${does}.`, search: `tag = ${quoted(value)}` }),
  as: () => ({ label: "AS", lead: `What this autonomous system ${does}.` }),
  exporter: () => ({ label: "Exporter", lead: "What this exporter sees." }),
  interface: () => ({ label: "Interface", lead: "What comes in at this interface, and what goes out." }),
};

/** The words of records for names and tags, as entries have them. */
const sameAs: Readonly<Record<string, string>> = {
  "ip.subnet.name": "name",
  "ip.subnet.tags": "tag",
  "ip.addr": "address",
  "as.asn": "as",
};
const ownFields = /^(?:host|as|geo|ip|l4|vlan|mac|sec|user|locality|isInternal|country|city|port|service|vlan)(?:\.|$)/;

/** The field without the end of a flow before it: what is looked at is the value at either end. */
function endless(field: string): string {
  const short = field.replace(/^(?:flow\.)?(?:src|dst)\./, "");
  if (field === "flow.export.ip.addr") return "exporter";
  return short === field && known[field] === undefined ? short : (sameAs[short] ?? short);
}

/** How the page speaks of a value. */
export function kindOf({ field, value }: ValueOf): Kind {
  const short = endless(field);
  const kind = known[short]?.(value);
  if (kind !== undefined) return kind;
  const isOfMetadata = !ownFields.test(short) && !/^(?:flow|app|tcp|icmp|exporter|in|out|proto)\b|^l4\./.test(field);
  return {
    label: short,
    lead: `The flows with this value, and what they do.`,
    // A key that begins with a period is below the end of a flow, as most are.
    ...(isOfMetadata && {
      search: ["", "."].map((dot) => `\`metadata.${dot}${short}\` = ${quoted(value)}`).join(" or "),
    }),
  };
}

/** The heading of the page. */
export function titleOf(of: ValueOf): string {
  const { label } = kindOf(of);
  return label === "" ? of.value : `${label} ${of.value}`;
}

/** The page of a value by which flows were ranked; undefined for what has none: numbers of ports without their protocol, indices. */
export function fieldOfKey(dimension: string): string | undefined {
  if (/\.(?:index|bits|rate)$|\.isInternal$/.test(dimension)) return undefined;
  return endless(dimension);
}
