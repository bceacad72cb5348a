import {
  type Clock,
  type Log,
  createMetrics,
  silentLog,
  systemClock,
  type Metrics,
} from "../../src/base/report/index.ts";
import {
  type Credential,
  type Session,
  type SessionTarget,
  SnmpClient,
  type UsmCredential,
} from "../../src/snmp/index.ts";
import {
  createFakeNetwork,
  createSnmpAgent,
  counter32,
  gauge,
  identifier,
  integer,
  octets,
  tableOf,
  type AgentOptions,
  type FakeNetwork,
  type SnmpAgent,
} from "./snmp-agent/index.ts";

export const agentAddress = "192.0.2.1";
export const agentPort = 161;

/** A small device: the system group and an interface table of three rows. */
export const smallTable = tableOf({
  "1.3.6.1.2.1.1.1.0": octets("a small device"),
  "1.3.6.1.2.1.1.2.0": identifier("1.3.6.1.4.1.8072.3.2.10"),
  "1.3.6.1.2.1.1.3.0": { type: "TimeTicks", value: 0 },
  "1.3.6.1.2.1.1.5.0": octets("r1"),
  "1.3.6.1.2.1.2.1.0": integer(3),
  "1.3.6.1.2.1.2.2.1.1.1": integer(1),
  "1.3.6.1.2.1.2.2.1.1.2": integer(2),
  "1.3.6.1.2.1.2.2.1.1.7": integer(7),
  "1.3.6.1.2.1.2.2.1.2.1": octets("lo"),
  "1.3.6.1.2.1.2.2.1.2.2": octets("eth0"),
  "1.3.6.1.2.1.2.2.1.2.7": octets("eth1"),
  "1.3.6.1.2.1.2.2.1.5.1": gauge(10_000_000),
  "1.3.6.1.2.1.2.2.1.5.2": gauge(4_294_967_295),
  "1.3.6.1.2.1.2.2.1.5.7": gauge(0),
  "1.3.6.1.2.1.2.2.1.10.1": counter32(1000, 10),
  "1.3.6.1.2.1.2.2.1.10.2": counter32(2000, 10),
  "1.3.6.1.2.1.2.2.1.10.7": counter32(4_294_967_290, 10),
  "1.3.6.1.2.1.31.1.1.1.6.1": { type: "Counter64", value: 18_446_744_073_709_551_615n },
});

export const communityCredential: Credential = { version: "2c", community: "public" };

export const usmUser: UsmCredential = {
  version: "3",
  username: "operator",
  authenticationProtocol: "sha256",
  authenticationPassphrase: "maplesyrup",
  privacyProtocol: "aes",
  privacyPassphrase: "buckwheat",
};

/** A client and one agent on a network within the process. */
export interface SessionFixture {
  readonly network: FakeNetwork;
  readonly agent: SnmpAgent;
  readonly metrics: Metrics;
  readonly client: SnmpClient;
  readonly open: (target?: Partial<SessionTarget>) => Session;
  /** Datagrams ignored so far for a reason. */
  readonly ignored: (reason: string) => Promise<number | undefined>;
}

export interface FixtureOptions extends Partial<AgentOptions> {
  readonly clock?: Clock;
  readonly log?: Log;
  readonly randomBytes?: (count: number) => Uint8Array;
}

export function createSessionFixture(options: FixtureOptions = {}): SessionFixture {
  const { clock = systemClock, log = silentLog, randomBytes, ...agentOptions } = options;
  const network = createFakeNetwork();
  const agent = createSnmpAgent({ table: smallTable, users: [usmUser], clock, ...agentOptions });
  network.attachAgent(agentAddress, agentPort, agent);
  const metrics = createMetrics();
  const client = new SnmpClient({ metrics, log, clock }, network.open, randomBytes);
  return {
    network,
    agent,
    metrics,
    client,
    open: (target = {}) =>
      client.open({
        ip: agentAddress,
        port: agentPort,
        credential: communityCredential,
        timeout: 5000,
        retries: 0,
        exponentialTimeout: false,
        ...target,
      }),
    ignored: (reason) => metrics.value("netgloss_snmp_ignored_datagrams_total", { reason }),
  };
}

/** A target that gives up quickly, for agents that are not going to answer. */
export const impatient = { timeout: 100, retries: 0 } as const;

/** A clock that stands until it is moved. */
export function createManualClock(): Clock & { advance(ms: number): void } {
  let time = 1_000_000;
  return { now: () => time, monotonic: () => time, advance: (ms) => void (time += ms) };
}
