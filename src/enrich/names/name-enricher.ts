import { mapOf, optional, mapping, scalar } from "../../base/yaml/index.ts";
import { fileReader, lineOf, type ReadFile } from "../files/operator-file.ts";
import { privilegedServices, serviceNames } from "./service-names.gen.ts";
import {
  renderFields,
  scopeOf,
  type Enricher,
  type LineEnricher,
  type NumberAdditions,
  type NumberTable,
  type RecordFields,
  type RenderedFields,
} from "../../record/index.ts";
import type { Metrics } from "../../base/report/index.ts";

/** The names of ports, by the number of the transport protocol. */
export type PortNames = ReadonlyMap<number, ReadonlyMap<number, string>>;

const protocolNumbers = { tcp: 6, udp: 17, dccp: 33, sctp: 132 } as const;
type ProtocolName = keyof typeof protocolNumbers;

const protocolLetters: Readonly<Record<string, number>> = { t: 6, u: 17, s: 132, d: 33 };

/** Returns the built-in names: IANA's registry of services below port 32768. Each call reads the registry again. */
export function knownPortNames(): PortNames {
  const names = new Map<number, Map<number, string>>();
  for (const number of Object.values(protocolNumbers)) names.set(number, new Map());
  for (const line of serviceNames.split("\n")) {
    const space = line.indexOf(" ");
    const port = Number.parseInt(line, 10);
    const letters = line.slice(String(port).length, space) || "tu";
    const name = line.slice(space + 1);
    for (const letter of letters) names.get(protocolLetters[letter] as number)?.set(port, name);
  }
  return names;
}

const firstPrivilegedPort = 512;
const firstUserPort = 1024;

/** Returns the ports of known servers: the built-in names without ports below 1024 that systems give to privileged clients. */
export function servicePorts(): PortNames {
  const isServer = (port: number): boolean =>
    port < firstPrivilegedPort || port >= firstUserPort || privilegedServices.includes(port);
  return new Map(
    Array.from(knownPortNames(), ([protocol, names]) => [
      protocol,
      new Map([...names].filter(([port]) => isServer(port))),
    ]),
  );
}

/** Returns the names of both. If both have a name, that of the first counts. */
export function joinPortNames(first: PortNames, second: PortNames): PortNames {
  return new Map(
    Object.values(protocolNumbers).map((number) => [
      number,
      new Map([...(second.get(number) ?? []), ...(first.get(number) ?? [])]),
    ]),
  );
}

const portNumber = scalar("a port from 0 to 65535", (given) => {
  const number = /^(0|[1-9][0-9]{0,4})$/.test(given) ? Number(given) : Number.NaN;
  return number <= 65_535 ? number : undefined;
});
const namesOfPorts = optional(mapOf(portNumber, lineOf(255), { name: "<port>" }), "Names of its ports.");

/** The shape of the file of port names: `{tcp: {8443: portal}, udp: {…}, sctp: {…}, dccp: {…}}`. */
export const portNamesShape = mapping({
  tcp: namesOfPorts,
  udp: namesOfPorts,
  dccp: namesOfPorts,
  sctp: namesOfPorts,
}).to(
  (names) => new Map(Object.entries(names).map(([protocol, of]) => [protocolNumbers[protocol as ProtocolName], of])),
);

export const readPortNames: (bytes: Uint8Array) => ReadFile<PortNames> = fileReader(portNamesShape);

/**
 * The names of code points: class selectors (RFC 2474), assured forwarding (RFC 2597), expedited forwarding (RFC 3246), voice-admit
 * (RFC 5865), lower effort (RFC 8622). RFC 4594 explains their use. Other code points have no name.
 */
const dscpNames: ReadonlyMap<number, string> = new Map([
  ...Array.from({ length: 8 }, (_, i): [number, string] => [8 * i, `CS${i}`]),
  ...[1, 2, 3, 4].flatMap((of) => [1, 2, 3].map((drop): [number, string] => [8 * of + 2 * drop, `AF${of}${drop}`])),
  [1, "LE"],
  [44, "VA"],
  [46, "EF"],
]);

/**
 * Adds names of numbers: `flow.src.l4.port.name` and `flow.dst.l4.port.name` by transport protocol and port, `ip.dscp.name` and
 * `flow.in.ip.dscp.name` by code point. A name that the record already has stays.
 */
export class NameEnricher implements Enricher {
  readonly lines: LineEnricher;
  readonly #ports: (() => PortNames) | undefined;
  readonly #dscp: boolean;
  readonly #found = { port: 0, dscp: 0 };

  /**
   * @param ports returns the current names of ports; undefined if ports get no names.
   * @param dscp true if code points get names.
   */
  constructor(ports: (() => PortNames) | undefined, dscp: boolean, metrics: Metrics) {
    this.#ports = ports;
    this.#dscp = dscp;
    const additions = ports === undefined ? [] : ends.map((end) => this.#portAdditions(ports, end));
    if (dscp) {
      const names = new Map(
        Array.from(dscpNames, ([id, name]) => [id, renderFields(dscpFields.map((field) => [field, name]))]),
      );
      additions.push({
        field: "ip.dscp.id",
        adds: [dscpField],
        tableFor: () => names,
        added: (records) => void (this.#found.dscp += records),
      });
    }
    this.lines = { begin() {}, numbers: additions, addresses: [] };
    metrics.counterFrom("netgloss_enrich_names_total", "Numbers of records that got a name.", ["kind"], () =>
      Object.entries(this.#found).map(([kind, count]) => [{ kind }, count] as const),
    );
  }

  enrich(record: RecordFields): void {
    const protocol = this.#ports === undefined ? undefined : record.get("l4.proto.id");
    const names = typeof protocol === "number" ? this.#ports?.().get(protocol) : undefined;
    if (names !== undefined) {
      for (const end of ends) this.#add(record, names, "port", `${end}.l4.port.id`, `${end}.l4.port.name`);
    }
    if (!this.#dscp || record.has(dscpField)) return;
    this.#add(record, dscpNames, "dscp", "ip.dscp.id", dscpField);
    const name = record.get(dscpField);
    if (name !== undefined) record.set(inDscpField, name);
  }

  #add(
    record: RecordFields,
    names: ReadonlyMap<number, string>,
    kind: "port" | "dscp",
    field: string,
    as: string,
  ): void {
    const number = record.get(field);
    if (typeof number !== "number" || record.has(as)) return;
    const name = names.get(number);
    if (name === undefined) return;
    this.#found[kind]++;
    record.set(as, name);
  }

  #portAdditions(names: () => PortNames, end: string): NumberAdditions {
    const adds = `${end}.l4.port.name`;
    // A change of the file replaces all names at once.
    const rendered = new WeakMap<PortNames, NumberTable>();
    return {
      field: `${end}.l4.port.id`,
      scope: "l4.proto.id",
      adds: [adds],
      tableFor() {
        const now = names();
        const known = rendered.get(now) ?? new PortTexts(now, adds);
        rendered.set(now, known);
        return known;
      },
      added: (records) => void (this.#found.port += records),
    };
  }
}

const ends = ["flow.src", "flow.dst"] as const;
/** The fields that name a code point. The first decides whether a record already has the name. */
const dscpField = "ip.dscp.name";
const inDscpField = "flow.in.ip.dscp.name";
const dscpFields = [dscpField, inDscpField] as const;

/** The names of ports in the form that lines have. Each is rendered on first use, because few of the thousands are used. */
class PortTexts implements NumberTable {
  readonly #adds: string;
  /** The texts by protocol and port (16 bits): first the name, then the rendered text. */
  readonly #texts = new Map<number, string | RenderedFields>();
  /**
   * One bit for each named port, by protocol. Ports of clients differ in each flow, and the bit saves a look-up in the large
   * table.
   */
  readonly #named: (Uint8Array | undefined)[] = [];

  constructor(names: PortNames, adds: string) {
    this.#adds = adds;
    for (const [protocol, ports] of names) {
      const named = (this.#named[protocol] ??= new Uint8Array(8192));
      for (const [port, name] of ports) {
        this.#texts.set(protocol * 65_536 + port, name);
        named[port >>> 3] = (named[port >>> 3] as number) | (1 << (port & 7));
      }
    }
  }

  /** @param scoped a number made by {@link scopedNumber}. */
  get(scoped: number): RenderedFields | undefined {
    const port = scoped >>> 0;
    const protocol = scopeOf(scoped);
    const named = port > 65_535 ? undefined : this.#named[protocol];
    if (named === undefined || ((named[port >>> 3] as number) & (1 << (port & 7))) === 0) return undefined;
    const key = protocol * 65_536 + port;
    const text = this.#texts.get(key);
    if (typeof text !== "string") return text;
    const rendered = renderFields([[this.#adds, text]]);
    this.#texts.set(key, rendered);
    return rendered;
  }
}
