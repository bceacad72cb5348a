import { parseAddress, type Address } from "../../ip/index.ts";
import type { DemoFlow } from "./demo-flow.ts";
import { pick, randomInt, type Random } from "./random.ts";

interface Service {
  readonly server: () => Address;
  readonly port: number;
  readonly protocol: number;
}

const tcp = 6;
const udp = 17;
const finishedTcpFlags = 0x1b; // FIN SYN PSH ACK

/**
 * Conversations of a small made-up company, whose addresses (of documentation and private ranges) are those of the
 * sample metadata file. Each call makes one conversation: the way there and the way back.
 *
 * @param hasTenants whether there are a warehouse and a data centre, too. @param now when the conversation ended, milliseconds since the epoch.
 */
export function createDemoNetwork(
  random: Random,
  { hasTenants = false }: { readonly hasTenants?: boolean } = {},
): { conversation(family: 4 | 6, now: number): [DemoFlow, DemoFlow] } {
  const host = (prefix: string, from: number, to: number) => (): Address =>
    address(`${prefix}${randomInt(random, from, to)}`);
  const at = (text: string) => (): Address => address(text);

  const clients = {
    4: [
      host("10.10.10.", 10, 60),
      host("10.10.10.", 10, 60),
      host("192.0.2.", 10, 40),
      ...(hasTenants ? [host("10.20.0.", 10, 60)] : []),
    ],
    6: [host("2001:db8:10:10::", 10, 60), host("2001:db8:20::", 10, 40)],
  } as const;
  const tenants: readonly Service[] = [
    { server: host("10.30.1.", 10, 14), port: 443, protocol: tcp },
    { server: host("10.30.2.", 10, 14), port: 443, protocol: udp },
    { server: host("10.30.2.", 20, 22), port: 8443, protocol: tcp },
  ];
  const services: { 4: readonly [Service, ...Service[]]; 6: readonly [Service, ...Service[]] } = {
    4: [
      { server: at("10.10.20.5"), port: 443, protocol: tcp },
      { server: at("10.10.20.9"), port: 5432, protocol: tcp },
      { server: at("10.10.20.53"), port: 53, protocol: udp },
      { server: host("198.51.100.", 10, 20), port: 443, protocol: tcp },
      { server: host("203.0.113.", 1, 8), port: 443, protocol: udp },
      ...(hasTenants ? tenants : []),
    ],
    6: [
      { server: at("2001:db8:10:20::5"), port: 443, protocol: tcp },
      { server: at("2001:db8:10:20::53"), port: 53, protocol: udp },
      { server: host("2001:db8:ffff::", 1, 8), port: 443, protocol: tcp },
    ],
  };

  return {
    conversation(family, now) {
      const client = pick(random, clients[family])();
      const service = pick(random, services[family]);
      const server = service.server();
      const clientPort = randomInt(random, 32_768, 60_999);
      const isDns = service.port === 53;
      const packets = isDns ? 1 : randomInt(random, 4, 400);
      const start = now - (isDns ? randomInt(random, 1, 40) : randomInt(random, 100, 20_000));
      const shared = {
        protocol: service.protocol,
        tcpFlags: service.protocol === tcp ? finishedTcpFlags : 0,
        start,
        end: now,
      };
      const request: DemoFlow = {
        ...shared,
        source: client,
        destination: server,
        sourcePort: clientPort,
        destinationPort: service.port,
        packets,
        bytes: packets * randomInt(random, 60, 200),
        inputInterface: 1,
        outputInterface: 2,
      };
      const response: DemoFlow = {
        ...shared,
        source: server,
        destination: client,
        sourcePort: service.port,
        destinationPort: clientPort,
        packets,
        bytes: packets * randomInt(random, 80, 1400),
        inputInterface: 2,
        outputInterface: 1,
      };
      return [request, response];
    },
  };
}

function address(text: string): Address {
  const parsed = parseAddress(text);
  if (parsed === undefined) throw new TypeError(`not an address: ${text}`);
  return parsed;
}
