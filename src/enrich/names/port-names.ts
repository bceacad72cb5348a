import { isNullNode, type YamlNode } from "../../yaml/index.ts";
import { readMapFile, type ReadFile, type Reporter } from "../files/read-map-file.ts";
import { privilegedServices, serviceNames } from "./service-names.gen.ts";
import { quote } from "../../text/index.ts";

/** Names of ports by the number of the transport protocol. */
export type PortNames = ReadonlyMap<number, ReadonlyMap<number, string>>;

const protocolNumbers = { tcp: 6, udp: 17, dccp: 33, sctp: 132 } as const;
type ProtocolName = keyof typeof protocolNumbers;

const maxName = 255;

const protocolLetters: Readonly<Record<string, number>> = { t: 6, u: 17, s: 132, d: 33 };

/** What is known without a file: IANA's registry of services below 32768, read again with each call. */
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

/** Ports at which one expects a server: the same without those below 1024 that systems give to clients with privileges. */
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

/** The names of both, of the first where both have one. */
export function joinPortNames(first: PortNames, second: PortNames): PortNames {
  return new Map(
    Object.values(protocolNumbers).map((number) => [
      number,
      new Map([...(second.get(number) ?? []), ...(first.get(number) ?? [])]),
    ]),
  );
}

/**
 * Reads a file of names: `{tcp: {8443: portal}, udp: {…}, sctp: {…}, dccp: {…}}`.
 *
 * @throws FileFindings
 */
export function readPortNames(bytes: Uint8Array): ReadFile<PortNames> {
  return readMapFile(bytes, (root, report) => {
    const names = new Map<number, Map<number, string>>();
    for (const { key, value } of root?.pairs ?? []) {
      if (!Object.hasOwn(protocolNumbers, key.text)) {
        report.error(key, `${quote(key.text)} is none of ${Object.keys(protocolNumbers).join(", ")}`);
      } else names.set(protocolNumbers[key.text as ProtocolName], readPorts(value, report));
    }
    return names;
  });
}

function readPorts(node: YamlNode, report: Reporter): Map<number, string> {
  const ports = new Map<number, string>();
  if (node.kind !== "mapping") {
    if (!isNullNode(node)) report.error(node, "expected a mapping from ports to names");
    return ports;
  }
  for (const { key, value } of node.pairs) {
    const port = /^(0|[1-9][0-9]{0,4})$/.test(key.text) ? Number(key.text) : Number.NaN;
    if (!(port <= 65_535)) report.error(key, `${quote(key.text)} is not a port: expected a number from 0 to 65535`);
    else if (ports.has(port)) report.error(key, `port ${port} is given twice`);
    else if (
      value.kind !== "scalar" ||
      value.text === "" ||
      value.text.length > maxName ||
      /\p{Cc}/u.test(value.text)
    ) {
      report.error(value, `port ${port}: expected a name of 1 to ${maxName} characters`);
    } else ports.set(port, value.text);
  }
  return ports;
}
