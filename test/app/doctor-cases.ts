import type { Facts, HostCounters } from "../../src/app/doctor/facts.ts";
import { measuredFacts } from "./doctor-traffic.ts";
import { createFlowRig, receivedAt, type FlowRig } from "../support/flow-rig.ts";
import {
  dataSet,
  exportSeconds,
  fields,
  ipv4,
  ipfix,
  ipfixTemplates,
  netflow5,
  netflow9,
  netflow9Templates,
  packetSet,
  uint,
  type PacketTemplate,
  counterSample,
  flowSample,
  sflow,
} from "../../packages/testkit/index.ts";

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;

/** Facts of a collector that has run for an hour and was not busy. */
function factsOf(rig: FlowRig, changes: Partial<Facts> = {}): Facts {
  const exporters = rig.pipeline.exporters();
  return {
    now: rig.time,
    startedAt: receivedAt - hour,
    enabled: true,
    ports: [{ port: 2055, drops: 0, queued: 0 }],
    streamPorts: [],
    otherSockets: [],
    host: quietHost,
    strictInterfaces: [],
    counts: {
      datagrams: exporters.reduce((sum, { datagrams }) => sum + datagrams, 0),
      queueDrops: 0,
      lineDrops: 0,
      refused: {},
    },
    exporters,
    names: new Map(),
    measured: [],
    ...changes,
  };
}

const quietHost: HostCounters = { noPorts: 0, bufferErrors: 0, checksumErrors: 0, reversePathFilter: 0 };
const nobody = (changes: Partial<Facts> = {}): Facts => factsOf(createFlowRig(), changes);

const bytesOnly: PacketTemplate = { id: 259, fields: fields([1, 4]) };
const withSampler: PacketTemplate = { id: 260, fields: fields([1, 4], [48, 1]) };
const samplers: PacketTemplate = { id: 300, scopeCount: 1, fields: fields([1, 4], [48, 1], [50, 4]) };
const domainRate: PacketTemplate = { id: 301, scopeCount: 1, fields: fields([1, 4], [34, 4]) };
const flow = dataSet(bytesOnly, [uint(1000, 4)]);
const samplerSays = (id: number, rate: number): Buffer => dataSet(samplers, [uint(0, 4), uint(id, 1), uint(rate, 4)]);
const domainSays = (rate: number): Buffer => dataSet(domainRate, [uint(0, 4), uint(rate, 4)]);
/** In the header of a datagram that is sent now. */
const secondsAt = (rig: FlowRig): number => Math.floor(rig.time / 1000);

function sent(send: (rig: FlowRig) => void, options?: Parameters<typeof createFlowRig>[0]): FlowRig {
  const rig = createFlowRig(options);
  send(rig);
  return rig;
}

/** NetFlow v5 of flows that follow one another: nothing is wrong with it. */
function healthy(rig: FlowRig): void {
  for (const sequence of [0, 1, 2]) rig.send(netflow5([{}], { sequence }));
}

/** Reports the flows of clients with these ports, each once. */
function report(rig: FlowRig, address: string, firstPort: number, endPort: number): void {
  let sequence = 0;
  for (let port = firstPort; port < endPort; port += 30) {
    const ports = Array.from({ length: Math.min(30, endPort - port) }, (_, i) => port + i);
    rig.send(
      netflow5(
        ports.map((client) => ({ protocol: 6, ports: [client, 443] as const })),
        { sequence },
      ),
      { address },
    );
    sequence += ports.length;
  }
}

/** A device at the edge, and one in the core, which sees the same flows and as many others. */
function onOnePath(rig: FlowRig): void {
  report(rig, "192.0.2.1", 1024, 9216);
  report(rig, "192.0.2.2", 1024, 17_408);
}

function reportDirections(rig: FlowRig, directions: readonly number[]): void {
  const seen: PacketTemplate = { id: 262, fields: fields([8, 4], [12, 4], [4, 1], [7, 2], [11, 2], [61, 1], [34, 4]) };
  let sequence = 0;
  for (let port = 1024; port < 9216; port += 32) {
    const records = Array.from({ length: 32 }, (_, i) =>
      directions.map((direction) => [
        ipv4("10.0.0.1"),
        ipv4("10.0.0.2"),
        uint(6, 1),
        uint(port + i, 2),
        uint(443, 2),
        uint(direction, 1),
        uint(1, 4),
      ]),
    ).flat();
    rig.send(netflow9([netflow9Templates(seen), dataSet(seen, ...records)], { sequence: sequence++ }));
  }
}

export interface DoctorCase {
  readonly facts: () => Facts;
  /** The exporter that is asked for. */
  readonly address?: string;
}

const compared = (of: Parameters<typeof measuredFacts>[0]): Facts => measuredFacts(of, factsOf);
const heardBy = (changes: (rig: FlowRig) => void) => (): Facts => factsOf(sent(changes));

/** By what is wrong. */
export const doctorCases: Readonly<Record<string, DoctorCase>> = {
  healthy: { facts: heardBy(healthy) },
  "flows are off": { facts: () => nobody({ enabled: false, ports: [] }) },
  "not in its fleet": {
    facts: () => {
      const rig = sent(healthy);
      return factsOf(rig, {
        leftFleet: { fleet: "fra", member: "fra1", reason: "the database of the fleet does not answer" },
      });
    },
  },
  "outputs that are away, full or refused": {
    facts() {
      const rig = sent(healthy);
      const spool = { spoolMode: "overflow", spoolBytes: 1000, spoolMaxBytes: 4000 } as const;
      const fault = "kafka-1:9092 refuses connections: nothing listens there";
      return factsOf(rig, {
        outputs: [
          { name: "file", state: "working", deliveredRecords: 5 },
          {
            ...spool,
            name: "kafka",
            state: "failing",
            fault,
            faultSince: rig.time - 5 * minute,
            blame: "store",
            waitingRecords: 696,
            deliveredRecords: 0,
            droppedRecords: 5304,
            drops: [{ reason: "spool_full", records: 5304 }],
          },
          {
            ...spool,
            name: "elasticsearch",
            state: "failing",
            fault: "es:9200 does not take records: validation_exception: raise cluster.max_shards_per_node",
            faultSince: rig.time - 2 * minute,
            blame: "operator",
            waitingRecords: 1,
          },
          {
            name: "loki",
            state: "working",
            refusedRecords: 3,
            refusals: [{ reason: "entry too far behind", records: 3, at: rig.time }],
            deadLetters: { records: 3, bytes: 900, reasons: [], isResending: false },
          },
          { name: "http", state: "working", refusedRecords: 1, refusals: [] },
        ],
      });
    },
  },
  "traps are refused": {
    facts() {
      const rig = sent(healthy);
      const lastAt = rig.time - minute;
      return factsOf(rig, {
        refusedTraps: [
          { sender: "192.0.2.7", reason: "time_window", count: 3, lastAt },
          { sender: "192.0.2.8", reason: "time_window", count: 12, lastAt },
          { sender: "192.0.2.9", reason: "community", count: 1, lastAt: rig.time - 2 * hour },
        ],
      });
    },
  },
  "nothing received yet": { facts: () => nobody({ startedAt: receivedAt - 30 * second }) },
  "nothing received": { facts: () => nobody() },
  "nothing received, no counters of the host": {
    facts: () => nobody({ host: undefined, ports: [{ port: 2055, drops: undefined, queued: undefined }] }),
  },
  "nothing received by tcp": { facts: () => nobody({ ports: [], streamPorts: [4740] }) },
  "nothing received, wrong port": { facts: () => nobody({ host: { ...quietHost, noPorts: 1234 } }) },
  "nothing received, rp_filter": {
    facts: () => nobody({ host: { ...quietHost, noPorts: 3, reversePathFilter: 77 }, strictInterfaces: ["eth1"] }),
  },
  "nothing received, rp_filter strict and nothing dropped": { facts: () => nobody({ strictInterfaces: ["eth1"] }) },
  "nothing received, another program at the port": {
    facts: () => nobody({ otherSockets: [{ port: 2055, isSpecific: true, owner: "812 (nfcapd)", uid: 0 }] }),
  },
  "nothing received, another program at a usual port": {
    facts: () => nobody({ otherSockets: [{ port: 9995, isSpecific: false, owner: undefined, uid: 998 }] }),
  },
  "nothing read from the socket": { facts: () => nobody({ ports: [{ port: 2055, drops: 9, queued: 212_992 }] }) },
  "port shared": {
    facts: () =>
      factsOf(sent(healthy), { otherSockets: [{ port: 2055, isSpecific: true, owner: "812 (nfcapd)", uid: 0 }] }),
  },
  "datagrams not understood": {
    facts: () =>
      factsOf(sent(healthy), {
        counts: { datagrams: 20, queueDrops: 0, lineDrops: 0, refused: { unknown_protocol: 16, disabled: 1 } },
      }),
  },
  "protocol turned off": {
    facts: () =>
      factsOf(sent(healthy), { counts: { datagrams: 20, queueDrops: 0, lineDrops: 0, refused: { disabled: 4 } } }),
  },
  "kernel drops": {
    facts: () =>
      factsOf(sent(healthy), {
        ports: [{ port: 2055, drops: 1500, queued: 0 }],
        counts: { datagrams: 98_500, queueDrops: 0, lineDrops: 0, refused: {} },
      }),
  },
  "queue drops": {
    facts: () => factsOf(sent(healthy), { counts: { datagrams: 9000, queueDrops: 1000, lineDrops: 70, refused: {} } }),
  },
  "never heard": { facts: heardBy(healthy), address: "192.0.2.200" },
  "never heard, passed on by another": {
    facts: heardBy((rig) => void rig.send(sflow([flowSample([])], { agent: "192.0.2.200" }))),
    address: "192.0.2.200",
  },
  "a relay that passes flows on": {
    facts: () =>
      factsOf(
        sent(
          (rig) => {
            for (let sequence = 1; sequence < 8; sequence++) {
              rig.send(sflow([flowSample([])], { agent: "192.0.2.200", sequence }));
              rig.time += minute;
            }
          },
          { relays: ["192.0.2.254"] },
        ),
      ),
  },
  silent: {
    facts: heardBy((rig) => {
      healthy(rig);
      rig.time += 3 * hour;
    }),
  },
  "template never came": {
    facts: heardBy((rig) => {
      for (let i = 0; i < 300; i++) {
        rig.send(netflow9([packetSet(259, Buffer.alloc(8))], { sequence: i, domain: 7, seconds: secondsAt(rig) }));
        rig.time += second;
      }
    }),
  },
  "one of several templates never came": {
    facts: heardBy((rig) => {
      for (let i = 0; i < 3; i++) {
        const sets = [...(i === 0 ? [ipfixTemplates(bytesOnly)] : []), flow, packetSet(400, Buffer.alloc(8))];
        rig.send(ipfix(sets, { domain: 7, seconds: secondsAt(rig) }), { port: 40_000 });
        rig.time += minute;
      }
    }),
  },
  "options and no flows": {
    facts: heardBy((rig) => {
      for (let i = 0; i < 7; i++) {
        rig.send(netflow9([netflow9Templates(bytesOnly)], { sequence: i, seconds: secondsAt(rig) }));
        rig.time += minute;
      }
    }),
  },
  "counters and no samples": {
    facts: heardBy((rig) => {
      for (let i = 1; i < 8; i++) {
        rig.send(sflow([counterSample([], i)], { sequence: i }));
        rig.time += minute;
      }
    }),
  },
  "sampling not known": { facts: heardBy((rig) => void rig.send(netflow9([netflow9Templates(bytesOnly), flow]))) },
  "sampler not known": {
    facts: heardBy((rig) => {
      rig.send(netflow9([netflow9Templates(withSampler), dataSet(withSampler, [uint(1000, 4), uint(1, 1)])]));
    }),
  },
  "sampling rate goes back and forth": {
    facts: heardBy((rig) => {
      rig.send(netflow9([netflow9Templates(bytesOnly), flow, netflow9Templates(domainRate)]));
      for (const [i, rate] of [100, 1000, 100].entries()) {
        rig.send(netflow9([domainSays(rate)], { sequence: i + 1 }));
      }
    }),
  },
  "sampling rate changed": {
    facts: heardBy((rig) => {
      rig.send(netflow9([netflow9Templates(bytesOnly), flow, netflow9Templates(domainRate)]));
      for (const [i, rate] of [100, 100, 1000, 1000].entries()) {
        rig.send(netflow9([domainSays(rate)], { sequence: i + 1 }));
      }
    }),
  },
  "samplers disagree": {
    facts: heardBy((rig) => {
      rig.send(netflow9([netflow9Templates(bytesOnly), flow, netflow9Templates(samplers)]));
      rig.send(netflow9([samplerSays(1, 100), samplerSays(2, 1000)], { sequence: 1 }));
    }),
  },
  "samplers named by flows": {
    facts: heardBy((rig) => {
      rig.send(netflow9([netflow9Templates(withSampler), netflow9Templates(samplers)]));
      rig.send(netflow9([samplerSays(1, 100), samplerSays(2, 1000)], { sequence: 1 }));
      rig.send(netflow9([dataSet(withSampler, [uint(1000, 4), uint(1, 1)])], { sequence: 2 }));
    }),
  },
  "settings override the rate": {
    facts: () =>
      factsOf(
        sent(
          (rig) => {
            rig.send(netflow9([netflow9Templates(bytesOnly), flow, netflow9Templates(domainRate)]));
            rig.send(netflow9([domainSays(100)], { sequence: 1 }));
          },
          { samplingRates: new Map([["192.0.2.254", 512]]) },
        ),
      ),
  },
  "gaps on the way": {
    facts: heardBy((rig) => {
      for (const sequence of [0, 1, 40, 41]) rig.send(netflow5([{}], { sequence }));
    }),
  },
  "gaps and drops here": {
    facts: () =>
      factsOf(
        sent((rig) => {
          for (const sequence of [0, 1, 40, 41]) rig.send(netflow5([{}], { sequence }));
        }),
        {
          ports: [{ port: 2055, drops: 30, queued: 0 }],
          counts: { datagrams: 400_000, queueDrops: 8, lineDrops: 0, refused: {} },
        },
      ),
  },
  "agent drops samples": {
    facts: heardBy((rig) => {
      rig.send(sflow([flowSample([], { sequence: 1, drops: 0 })], { sequence: 1 }));
      rig.send(sflow([flowSample([], { sequence: 2, drops: 50 })], { sequence: 2 }));
    }),
  },
  "two devices behind one address": {
    facts: heardBy((rig) => {
      for (let i = 0; i < 4; i++) {
        const seconds = secondsAt(rig);
        rig.send(netflow5([{}], { sequence: i, seconds, uptime: 100_000 + i * second }), { port: 1024 });
        rig.send(netflow5([{}], { sequence: i, seconds, uptime: 900_000 + i * second }), { port: 1025 });
        rig.time += second;
      }
    }),
  },
  "two processes at one address": {
    facts: heardBy((rig) => {
      const seen: PacketTemplate = { id: 259, fields: fields([1, 4], [130, 4], [34, 4]) };
      const record = dataSet(seen, [uint(1000, 4), uint(0x0a00_0001, 4), uint(1, 4)]);
      for (const sequence of [0, 1]) {
        for (const port of [1024, 1025]) {
          rig.send(ipfix([ipfixTemplates(seen), record], { sequence }), { port });
          rig.time += 100;
        }
      }
    }),
  },
  "a device that started again": {
    facts: heardBy((rig) => {
      rig.send(netflow5([{}], { sequence: 0, uptime: 900_000 }), { port: 1024 });
      rig.send(netflow5([{}], { sequence: 1, uptime: 900_000 }), { port: 1024 });
      rig.time += second;
      rig.send(netflow5([{}], { sequence: 0, uptime: 1000, seconds: secondsAt(rig) }), { port: 1025 });
    }),
  },
  "clock in another time zone": {
    facts: heardBy((rig) => void rig.send(netflow5([{}], { seconds: exportSeconds + 3 * 3600 }))),
  },
  "clock off": { facts: heardBy((rig) => void rig.send(netflow5([{}], { seconds: exportSeconds - 400 }))) },
  "clock never set": { facts: heardBy((rig) => void rig.send(netflow5([{}], { seconds: 86_400 }))) },
  "the same flows from two exporters": { facts: heardBy(onOnePath) },
  "the same flows from two exporters, one is asked for": { facts: heardBy(onOnePath), address: "192.0.2.2" },
  "other flows from each exporter": {
    facts: heardBy((rig) => {
      report(rig, "192.0.2.1", 1024, 5120);
      report(rig, "192.0.2.2", 5120, 9216);
    }),
  },
  "ingress and egress exported": { facts: heardBy((rig) => reportDirections(rig, [0, 1])) },
  "ingress exported": { facts: heardBy((rig) => reportDirections(rig, [0])) },
  "flows agree with counters": { facts: () => compared({}) },
  "flows agree with counters, small packets": { facts: () => compared({ perMinute: 46e6, size: 46, frame: 64 }) },
  "counters show another sampling rate": { facts: () => compared({ announced: 100, inForce: 1000 }) },
  "counters show a sampling rate that nobody announced": { facts: () => compared({ inForce: 512 }) },
  "counters show that too high a rate is announced": { facts: () => compared({ announced: 1000, inForce: 100 }) },
  "counters show ingress and egress": { facts: () => compared({ seen: [0, 1], both: true }) },
  "counters show that all is counted twice": { facts: () => compared({ seen: [undefined, undefined] }) },
  "counters show bits": { facts: () => compared({ factor: 8 }) },
  "counters show that the exporter multiplies": { facts: () => compared({ announced: 200, inForce: 1 }) },
  "counters show that flows are missing": { facts: () => compared({ factor: 0.12, both: true }) },
  "counters show that some flows are missing": { facts: () => compared({ factor: 0.6, seen: [undefined] }) },
  "counters show too much": { facts: () => compared({ factor: 3.3 }) },
  "counters of too little traffic": { facts: () => compared({ perMinute: 1e5, factor: 0.1 }) },
  "counters of too few packets that were sampled": { facts: () => compared({ announced: 100_000, factor: 0.1 }) },
  "counters read too seldom": { facts: () => compared({ pollMinutes: 8, factor: 0.1 }) },
  "counters that disagree for a while": { facts: () => compared({ factor: 0.1, until: 7 }) },
};
