// Three collectors share simulated devices; one is killed. Who asked which device when is known by the agents.
import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { cleanUp } from "../support/clean-up.ts";
import { startCollectorProcess, type CollectorProcess } from "../support/collector-process.ts";
import { startDatabase } from "../support/postgresql.ts";
import { createSnmpAgent, listen } from "../support/snmp-agent/index.ts";
import { smallTable } from "../support/snmp-session-fixture.ts";
import { tempDirectory } from "../support/temp-directory.ts";
import { until } from "../support/until.ts";

const deviceCount = Number(process.env["NETGLOSS_FLEET_DEVICES"] ?? 200);
const intervalSeconds = Number(process.env["NETGLOSS_FLEET_INTERVAL"] ?? 8);
const leaseSeconds = Number(process.env["NETGLOSS_FLEET_LEASE"] ?? 3);

interface Heard {
  readonly at: number;
  /** The port of the collector that asked. */
  readonly from: number;
}

interface Agents {
  readonly port: number;
  readonly addresses: readonly string[];
  readonly heard: readonly (readonly Heard[])[];
}

async function startAgents(t: TestContext): Promise<Agents> {
  const addresses = Array.from({ length: deviceCount }, (_, i) => `127.17.${i >> 8}.${i & 255}`);
  const heard = addresses.map((): Heard[] => []);
  let port = 0;
  for (const [i, address] of addresses.entries()) {
    const listening = await listen(createSnmpAgent({ table: smallTable }), address, port, (from) =>
      heard[i]?.push({ at: performance.now(), from }),
    );
    cleanUp(t, () => listening.close());
    ({ port } = listening);
  }
  return { port, addresses, heard };
}

function writeDevices(folder: string, { addresses, port }: Agents): void {
  mkdirSync(folder);
  const intervals = ["active", "dynamic", "stable", "immutable"]
    .map((type) => `${type}: ${intervalSeconds}`)
    .join(", ");
  const text = addresses.map(
    (ip, i) =>
      `sw-${i}: {ip: ${ip}, port: ${port}, communities: [public], poll_interval: ${intervalSeconds}, poll_intervals: {${intervals}}}\n`,
  );
  writeFileSync(join(folder, "devices.yml"), text.join(""));
}

test("devices of a collector that is killed are polled again within two intervals, and none by two beyond a lease", async (t) => {
  const { url } = await startDatabase(t);
  const folder = tempDirectory(t);
  const agents = await startAgents(t);
  writeDevices(join(folder, "devices"), agents);
  const collectors: CollectorProcess[] = [];
  cleanUp(t, () => Promise.all(collectors.map((collector) => collector.end("SIGKILL"))));
  const start = async (name: string): Promise<CollectorProcess> => {
    const collector = await startCollectorProcess({
      settings: {
        SVC_FLOW_SERVER_UDP_ENABLE: "false",
        SVC_INPUT_SNMP_ENABLE: "true",
        SVC_INPUT_SNMP_DEVICE_DEFINITIONS_DIRECTORY_PATH: join(folder, "devices"),
        SVC_FLEET_NAME: "test",
        SVC_FLEET_MEMBER: name,
        SVC_FLEET_POSTGRESQL_URL: url,
        SVC_FLEET_LEASE_SECONDS: String(leaseSeconds),
      },
    });
    collectors.push(collector);
    return collector;
  };
  const [first, second, third] = [await start("c1"), await start("c2"), await start("c3")];
  const all = [first, second, third];
  const heldBy = async (collector: CollectorProcess): Promise<number> => {
    const text = await (await fetch(`${collector.api}/metrics`)).text();
    return Number(/^netgloss_fleet_devices\{state="held"\} (\d+)$/m.exec(text)?.[1]);
  };
  await until("each device has a collector", async () => {
    const held = await Promise.all(all.map(heldBy));
    return held.every((count) => count > deviceCount / 6) && held.reduce((a, b) => a + b) === deviceCount;
  });
  const divided = performance.now();
  await until(
    "each device is polled",
    () => agents.heard.every((heard) => heard.some(({ at }) => at > divided)),
    120_000,
  );
  const views = (await (await fetch(`${first.api}/api/v1/snmp/devices`)).json()) as {
    devices: { polledBy?: string }[];
  };
  assert.equal(views.devices.length, deviceCount);
  assert.deepEqual([...new Set(views.devices.map(({ polledBy }) => polledBy ?? ""))].sort(), ["c1", "c2", "c3"]);
  await sleep(intervalSeconds * 1000);

  const before = agents.heard.map(
    (heard) => new Set(heard.filter(({ at }) => at > divided + 500).map(({ from }) => from)),
  );
  for (const [i, ports] of before.entries())
    assert.equal(ports.size, 1, `device ${i} was asked from ${[...ports].join()}`);

  const elsewhere = views.devices as { device?: string; polledBy?: string; ip?: string }[];
  const other = elsewhere.find(({ polledBy }) => polledBy === "c2");
  const answer = await fetch(`${first.api}/api/v1/snmp/rediscover-device?wait=30`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ ip: other?.ip, port: agents.port }),
  });
  const report = (await answer.json()) as Record<string, unknown>;
  assert.deepEqual([answer.status, report["result"], report["polledBy"]], [200, "discovered", "c2"]);

  const discoveries = (): Promise<number[]> =>
    Promise.all([first, second].map(async (one) => (await one.metric("netgloss_snmp_device_discoveries_total")) ?? -1));
  const discoveredBefore = await discoveries();
  await third.end("SIGKILL");
  const killed = performance.now();
  const [deadPort] = agents.heard.flatMap((_, i) =>
    elsewhere.find(({ ip }) => ip === agents.addresses[i])?.polledBy === "c3" ? [...(before[i] ?? [])] : [],
  );
  const orphans = before.flatMap((ports, i) => (ports.has(deadPort ?? -1) ? [i] : []));
  assert.ok(orphans.length > deviceCount / 6);
  const late = 2 * intervalSeconds * 1000;
  await until(
    "the devices of the killed one are polled by the others",
    () => orphans.every((i) => agents.heard[i]?.some(({ at }) => at > killed)),
    late + 30_000,
  );
  await sleep(intervalSeconds * 1000);

  const gaps = agents.heard.map((heard) => {
    const last = heard.findLast(({ at }) => at <= killed)?.at ?? 0;
    return (heard.find(({ at }) => at > killed)?.at ?? Infinity) - last;
  });
  t.diagnostic(
    `longest gap ${(Math.max(...gaps) / 1000).toFixed(1)} s of ${late / 1000} s, ${orphans.length} devices taken over`,
  );
  for (const [i, gap] of gaps.entries()) assert.ok(gap < late, `device ${i} was not asked for ${gap} ms`);
  let overlap = 0;
  for (const [i, heard] of agents.heard.entries()) {
    const now = new Set(heard.filter(({ at }) => at > killed + 1000).map(({ from }) => from));
    assert.equal(now.size, 1, `device ${i} was asked from ${[...now].join()}`);
    assert.deepEqual(now.has(deadPort ?? -1), false);
    overlap = Math.max(overlap, longestOverlap(heard.filter(({ at }) => at <= killed)));
  }
  t.diagnostic(`longest time with two collectors while devices changed hands: ${Math.round(overlap)} ms`);
  assert.ok(overlap < leaseSeconds * 1000, `${overlap} ms`);
  // Plans travel: what is taken over is polled at once.
  assert.deepEqual(await discoveries(), discoveredBefore);
});

/** For how long two have asked at the same time: from the first request of one to the last of the one before. */
function longestOverlap(heard: readonly Heard[]): number {
  const spans = new Map<number, { first: number; last: number }>();
  for (const { at, from } of heard) {
    const span = spans.get(from);
    if (span === undefined) spans.set(from, { first: at, last: at });
    else span.last = at;
  }
  const ordered = [...spans.values()].sort((a, b) => a.first - b.first);
  return Math.max(0, ...ordered.slice(1).map(({ first }, i) => (ordered[i]?.last ?? 0) - first));
}
