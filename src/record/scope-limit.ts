import { findField } from "./fields/field-table.ts";
import { LineValues } from "./line-values.ts";
import { LineWalker } from "./line-walker.ts";

/** The fields that say in which scope the ends of a flow are. */
export const scopeFields = { source: "flow.src.scope", destination: "flow.dst.scope" } as const;

/** Which ends have to be in one of a caller's scopes for a field to be shown to the caller. */
export type ShownWith = "any" | "source" | "destination" | "both";

/** What a record says of the packets alone: no word of anybody's metadata, of an exporter or of an interface. */
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
 * What is of the connection, and so of neither end: beginnings of names. All others are of the provider's network, whoever's packets these are:
 * of exporters, interfaces, VRFs, labels, next hops.
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
 * Says when a field of a flow is shown to callers who are limited to scopes. Of an end in another scope, or in none, they get address, port
 * and protocol alone; what is of the connection where both ends are in their scopes.
 *
 * @returns undefined: never.
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

/** Finds the flows with an end in some scopes among lines, and leaves of them what callers who are limited to these scopes may see. */
export class LimitedLines {
  readonly #scopes: ReadonlySet<unknown>;
  readonly #values = new LineValues();
  readonly #walker = new LineWalker(shownWith);

  constructor(scopes: readonly string[]) {
    this.#scopes = new Set(scopes);
  }

  /** Returns where the next flow with an end in the scopes begins and ends, from the beginning of a line on; undefined: there is none. */
  next(lines: Buffer, from: number): { readonly start: number; readonly end: number } | undefined {
    for (let at = lines.indexOf(scopeKey, from); at >= 0; at = lines.indexOf(scopeKey, at + 1)) {
      const value = at + scopeKey.length;
      // A quote within a text is escaped: this is a field, and no part of a text.
      const isOfEnd = ends.some(
        (end) => at >= end.length && lines.compare(end, 0, end.length, at - end.length, at) === 0,
      );
      if (!isOfEnd || !this.#scopes.has(lines.toString("latin1", value, lines.indexOf(quote, value)))) continue;
      return { start: lines.lastIndexOf(newline, at) + 1, end: lines.indexOf(newline, at) + 1 || lines.length };
    }
    return undefined;
  }

  /** Returns the line of a flow with what is shown of it. */
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
