import { findField } from "./fields/field-table.ts";
import { LineValues } from "./line-values.ts";
import { LineWalker } from "./line-walker.ts";

/** The fields with the scopes of a flow's ends. */
export const scopeFields = { source: "flow.src.scope", destination: "flow.dst.scope" } as const;

/** The ends that must be in one of a caller's scopes before the caller may see a field. */
export type ShownWith = "any" | "source" | "destination" | "both";

/** Fields that describe the packets alone: they carry no metadata, exporter or interface. */
const plainFields: ReadonlySet<string> = new Set([
  "@timestamp",
  "flow.start.timestamp",
  "flow.end.timestamp",
  "flow.bytes",
  "flow.packets",
  "flow.scaled.bytes",
  "flow.scaled.packets",
  "flow.sample_rate",
  "flow.src.ip.addr",
  "flow.dst.ip.addr",
  "flow.src.l4.port.id",
  "flow.dst.l4.port.id",
  "flow.server.l4.port.id",
  "l4.proto.id",
  "l4.proto.name",
  "ip.version.ver",
  "ip.dscp.id",
  "ip.ecn.id",
  "tcp.flags.bits",
]);

/**
 * Prefixes of field names that describe the connection, and so belong to neither end. All other fields describe the provider's network:
 * exporters, interfaces, VRFs, labels, next hops.
 */
const ofConnection: readonly string[] = [
  "app.",
  "flow.client.",
  "flow.community.",
  "flow.direction.",
  "flow.end.",
  "flow.http.",
  "flow.locality",
  "flow.server.",
  "flow.tls.",
  "icmp.",
  "ip.",
  "l4.",
  "tcp.",
];

/**
 * Returns the ends that must be in a limited caller's scopes before the caller sees a field of a flow. Of an end in another scope, or in none,
 * the caller sees only address, port and protocol. Fields of the connection are shown only if both ends are in the caller's scopes.
 *
 * @returns undefined if the field is never shown.
 */
export function shownWith(field: string): ShownWith | undefined {
  if (plainFields.has(field)) return "any";
  if (field.startsWith("flow.src.")) return "source";
  if (field.startsWith("flow.dst.")) return "destination";
  // Metadata of an exporter may have any other name.
  if (findField(field) === undefined) return undefined;
  return ofConnection.some((beginning) => field.startsWith(beginning)) ? "both" : undefined;
}

const quote = 0x22;
const newline = 0x0a;
const scopeKey = Buffer.from('.scope":"');
const ends = [Buffer.from('"flow.src'), Buffer.from('"flow.dst')];

/** Finds the lines of flows with an end in given scopes, and removes the fields that callers limited to these scopes may not see. */
export class LimitedLines {
  readonly #scopes: ReadonlySet<unknown>;
  readonly #values = new LineValues();
  readonly #walker = new LineWalker(shownWith);

  constructor(scopes: readonly string[]) {
    this.#scopes = new Set(scopes);
  }

  /** Returns the start and end of the next flow with an end in the scopes; undefined if there is none. `from` is the start of a line. */
  next(lines: Buffer, from: number): { readonly start: number; readonly end: number } | undefined {
    for (let at = lines.indexOf(scopeKey, from); at >= 0; at = lines.indexOf(scopeKey, at + 1)) {
      const value = at + scopeKey.length;
      // A quote within a text is escaped, so a match is a field and not part of a text.
      const isOfEnd = ends.some(
        (end) => at >= end.length && lines.compare(end, 0, end.length, at - end.length, at) === 0,
      );
      if (!isOfEnd || !this.#scopes.has(lines.toString("latin1", value, lines.indexOf(quote, value)))) continue;
      return { start: lines.lastIndexOf(newline, at) + 1, end: lines.indexOf(newline, at) + 1 || lines.length };
    }
    return undefined;
  }

  /** Returns the line of a flow with only the fields that the caller may see. */
  shown(lines: Buffer, start: number, end: number): Buffer {
    this.#values.use(lines, start, end);
    const source = this.#scopes.has(this.#values.get(scopeFields.source));
    const destination = this.#scopes.has(this.#values.get(scopeFields.destination));
    const isShown: Readonly<Record<ShownWith, boolean>> = {
      any: true,
      source,
      destination,
      both: source && destination,
    };
    const parts: Buffer[] = [];
    this.#walker.walk(lines, start, end, (with_, name, _, valueEnd) => {
      if (!isShown[with_]) return;
      parts.push(Buffer.from(parts.length === 0 ? "{" : ","), lines.subarray(name, valueEnd));
    });
    return Buffer.concat([...parts, Buffer.from(parts.length === 0 ? "{}\n" : "}\n")]);
  }
}
