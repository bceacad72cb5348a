import { performance } from "node:perf_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import { runAfter } from "../../src/base/file/index.ts";
import { PostgresqlExporterTable, Fleet } from "../../src/fleet/index.ts";
import { FlowPipeline, SharedStore, StatePersistence } from "../../src/flow/index.ts";
import { joinLineEnrichers } from "../../src/record/index.ts";
import {
  createHealth,
  createMetrics,
  silentLog,
  systemClock,
  type Component,
  type Metrics,
} from "../../src/base/report/index.ts";
import {
  dataSet,
  fields,
  ipfix,
  ipfixTemplates,
  netflow9,
  netflow9Templates,
  uint,
  type PacketTemplate,
} from "../../packages/testkit/index.ts";
import { fleetAccess } from "./fleet-connection.ts";
import { parseLines } from "./flow-rig.ts";

/** Many collectors of a fleet in one process, without sockets, and exporters that say their templates once and go from one to another. */
export interface FleetSimulation {
  /** Every exporter sends its template to one collector. Resolves when the database has them. */
  begin(): Promise<void>;
  /** Every living exporter sends for this time, and some move. */
  run(ms: number): Promise<void>;
  /** A collector dies: nothing that it has not written is written any more. Its exporters go elsewhere. */
  kill(member: number): Promise<void>;
  /** Another process takes its place. */
  rejoin(member: number): Promise<void>;
  /** Resolves when nothing waits any more. */
  settle(): Promise<void>;
  result(): SimulationResult;
  stop(): Promise<void>;
}

export interface SimulationResult {
  readonly sent: number;
  /** Numbers of records that came out twice, and of those that did not although their collector lives. */
  readonly twice: readonly number[];
  readonly lost: readonly number[];
  /** Records that a collector held when it died. */
  readonly diedWithCollector: number;
  readonly moves: number;
  /** Milliseconds that the first record after each move waited, in the order of the moves. */
  readonly waitsInOrder: readonly number[];
  /** The same, in ascending order. */
  readonly waits: readonly number[];
  /** What all collectors asked of the database so far. */
  readonly finds: number;
  readonly found: number;
  readonly writes: number;
  readonly failures: number;
}

export interface FleetSimulationOptions {
  readonly url: string;
  readonly fleet: string;
  readonly members: number;
  readonly exporters: number;
  /** Each exporter sends in such intervals, in milliseconds. */
  readonly everyMs: number;
  /** From one datagram to the next an exporter moves with this probability. */
  readonly moves: number;
  /** From 0 to 1. */
  readonly random: () => number;
}

interface Member {
  readonly fleet: Fleet;
  readonly keeper: StatePersistence;
  readonly store: Component;
  readonly pipeline: FlowPipeline;
  readonly metrics: Metrics;
  isDead: boolean;
}

interface Exporter {
  readonly address: string;
  readonly isIpfix: boolean;
  readonly template: PacketTemplate;
  sequence: number;
  at: number;
}

interface Sent {
  readonly at: number;
  readonly to: Member;
  readonly isFirst: boolean;
  out: number;
  waited: number;
}

export async function createFleetSimulation(options: FleetSimulationOptions): Promise<FleetSimulation> {
  const { members: count, random } = options;
  const sent: Sent[] = [];
  const ended = { finds: 0, found: 0, writes: 0, failures: 0 };
  let moves = 0;

  const take = (lines: Uint8Array): void => {
    const now = performance.now();
    for (const record of parseLines(lines)) {
      // Which counter it is says the template: a wrong one is found by that.
      const id = Number(record["flow.raw.bytes"] ?? record["flow.raw.packets"]);
      const one = sent[id];
      if (one === undefined || "flow.raw.packets" in record !== (exporters[exporterOf(id)] as Exporter).isIpfix)
        continue;
      one.out++;
      one.waited = now - one.at;
    }
  };
  const openMember = async (number: number): Promise<Member> => {
    const member = startMember(options, `m${number}`, take);
    await member.fleet.start();
    await member.store.start();
    await member.keeper.start();
    return member;
  };
  const members = await Promise.all(Array.from({ length: count }, (_, i) => openMember(i)));
  const exporters = Array.from({ length: options.exporters }, (_, i): Exporter => {
    const isIpfix = i % 2 === 1;
    const template = { id: 300, fields: fields([isIpfix ? 2 : 1, 4], [10, 4]) };
    return { address: `10.${i >> 16}.${(i >> 8) & 255}.${i & 255}`, isIpfix, template, sequence: 1000, at: i % count };
  });
  const owners: number[] = [];
  const exporterOf = (id: number): number => owners[id] ?? 0;

  const send = ({ address, isIpfix }: Exporter, to: Member, sets: readonly Buffer[], sequence: number): void => {
    const datagram = isIpfix ? ipfix(sets, { sequence }) : netflow9(sets, { sequence, ...v9Clock() });
    to.pipeline.process(datagram, address, 4000);
  };
  const living = (): number[] => members.flatMap(({ isDead }, i) => (isDead ? [] : [i]));
  const sendNext = (exporter: Exporter, number: number): void => {
    const alive = living();
    const mustMove = (members[exporter.at] as Member).isDead;
    const isFirst = mustMove || random() < options.moves;
    if (isFirst) {
      exporter.at = alive[Math.floor(random() * alive.length)] as number;
      moves++;
    }
    const id = sent.length;
    const to = members[exporter.at] as Member;
    owners.push(number);
    sent.push({ at: performance.now(), to, isFirst, out: 0, waited: 0 });
    send(exporter, to, [dataSet(exporter.template, [uint(id, 4), uint(7, 4)])], exporter.sequence++);
  };
  const waiting = async (): Promise<number> => {
    const values = await Promise.all(
      living().map((i) => (members[i] as Member).metrics.value("netgloss_flow_waiting_sets")),
    );
    return values.reduce<number>((sum, value) => sum + (value ?? 0), 0);
  };
  const addCounts = async (member: Member): Promise<void> => {
    const value = async (name: string): Promise<number> =>
      (await member.metrics.value(`netgloss_flow_shared_${name}`)) ?? 0;
    ended.finds += await value("asked_total");
    ended.found += await value("found_total");
    ended.writes += await value("writes_total");
    for (const operation of ["write", "find", "touch"]) {
      ended.failures += (await member.metrics.value("netgloss_flow_shared_failures_total", { operation })) ?? 0;
    }
  };

  return {
    async begin() {
      for (const exporter of exporters) {
        const { template, isIpfix } = exporter;
        const set = isIpfix ? ipfixTemplates(template) : netflow9Templates(template);
        send(exporter, members[exporter.at] as Member, [set], exporter.sequence++);
      }
      for (;;) {
        await sleep(200);
        const values = await Promise.all(
          members.map(({ metrics }) => metrics.value("netgloss_flow_shared_writes_total")),
        );
        if (values.reduce<number>((sum, value) => sum + (value ?? 0), 0) >= exporters.length) return;
      }
    },
    async run(ms) {
      const until = performance.now() + ms;
      const slices = Math.max(1, Math.floor(options.everyMs / 10));
      for (let slice = 0; performance.now() < until; slice++) {
        for (let i = slice % slices; i < exporters.length; i += slices) sendNext(exporters[i] as Exporter, i);
        await sleep(10);
      }
    },
    async kill(number) {
      const member = members[number] as Member;
      member.isDead = true;
      await addCounts(member);
      await endMember(member);
    },
    async rejoin(number) {
      members[number] = await openMember(number);
    },
    async settle() {
      while ((await waiting()) > 0) await sleep(50);
    },
    result() {
      const lived = sent.flatMap((one, id) => (one.to.isDead ? [] : [{ ...one, id }]));
      const waits = sent.filter(({ isFirst, out }) => isFirst && out > 0).map(({ waited }) => waited);
      return {
        sent: sent.length,
        twice: sent.flatMap(({ out }, id) => (out > 1 ? [id] : [])),
        lost: lived.filter(({ out }) => out === 0).map(({ id }) => id),
        diedWithCollector: sent.filter(({ out, to }) => out === 0 && to.isDead).length,
        moves,
        waitsInOrder: waits,
        waits: waits.toSorted((a, b) => a - b),
        ...ended,
      };
    },
    async stop() {
      for (const i of living()) {
        await addCounts(members[i] as Member);
        await endMember(members[i] as Member);
      }
    },
  };
}

/** An exporter of NetFlow v9 that has run for a day: its uptime goes on with its clock. */
function v9Clock(): { readonly uptime: number; readonly seconds: number } {
  const now = Date.now();
  return { uptime: now % 1_000_000_000, seconds: Math.floor(now / 1000) };
}

function startMember(
  { url, fleet: name }: FleetSimulationOptions,
  memberName: string,
  take: (lines: Uint8Array) => void,
): Member {
  const metrics = createMetrics();
  const shared = { log: silentLog, clock: systemClock, metrics, after: runAfter, random: Math.random };
  const fleet = new Fleet(fleetAccess(url, memberName), name, memberName, 15_000, {
    ...shared,
    health: createHealth(),
  });
  const table = new PostgresqlExporterTable(fleet.connection, name, memberName);
  // A dead collector does not reach it.
  const isThere = (): boolean => !member.isDead && fleet.connection.isThere();
  const store = new SharedStore(Object.assign(table, { isThere }), shared);
  const pipeline = new FlowPipeline({
    enricher: { enrich() {}, lines: joinLineEnrichers([]) },
    sink: { write: (lines) => void (member.isDead || take(lines)) },
    communityId: false,
    isShared: true,
    ...shared,
  });
  const keeper = new StatePersistence({
    shared: store,
    sources: [pipeline],
    responsible: () => 0,
    failed(error) {
      throw error;
    },
  });
  const member: Member = { fleet, keeper, store, pipeline, metrics, isDead: false };
  return member;
}

async function endMember({ keeper, store, fleet }: Member): Promise<void> {
  await keeper.stop();
  await store.stop();
  await fleet.stop();
}
