// Attacks of which everybody is told by the same datagrams: netgloss and fastnetmon side by side, by sFlow and by NetFlow. How many
// attacks each one finds, and how many seconds after the first one above its limit. Both have the limits of `limits`, for a host.
import { spawn, spawnSync } from "node:child_process";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import {
  ethernet,
  flowSample,
  ipv4,
  ipv4Packet,
  netflow5,
  sampledHeader,
  sflow,
  tcp,
  udp,
} from "../../packages/testkit/index.ts";
import { startCollectorProcess } from "../../test/support/collector-process.ts";
import { attacks, FlowCache, ordinary, random, type Traffic } from "../../test/watch/attacks.ts";
import { reportRow } from "../support/bench-report.ts";

const limits = { megabits: 15, packets: 4000 };
const sampling = 512;
/** Of the cache of the exporter of NetFlow. */
const [activeMs, inactiveMs] = [10_000, 5000];
const [quietSeconds, attackSeconds, restSeconds] = [10, 40, 20];
const stepsPerSecond = 10;
const [netflowPort, sflowPort] = [22_955, 22_963];

const rules = (url: string): string => `actions:
  bench: {webhook: {url: "${url}"}}
rules:
  - {name: bits, by: [dst], measure: bits_per_second, over: 5s, when: '> ${limits.megabits}M', act: bench}
  - {name: packets, by: [dst], measure: packets_per_second, over: 5s, when: '> ${limits.packets}', act: bench}
  - {name: carpet, by: [dst/24], measure: bits_per_second, over: 5s, when: '> 500M', act: bench}
  - {name: scan, by: [src, dst], measure: distinct flow.dst.l4.port.id, over: 1m, when: '> 100', act: bench}
`;

/** Attacks that begin within the time of the bench. */
const replayed = attacks.filter(({ rule }) => rule !== "slow-scan");

/** Who is told of attacks: the hosts and networks that were named, with the first time of each, milliseconds since the epoch. */
type Named = ReadonlyMap<string, number>;

interface Watcher {
  readonly name: string;
  readonly port: (protocol: "sflow" | "netflow") => number;
  readonly named: () => Named;
  readonly end: () => Promise<void>;
}

async function startNetgloss(folder: string): Promise<Watcher> {
  const named = new Map<string, number>();
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (part: Buffer) => (body += part.toString()));
    request.on("end", () => {
      type Told = { readonly kind: string; readonly alert: { readonly key: Readonly<Record<string, string>> } };
      const { notices } = JSON.parse(body) as { readonly notices: readonly Told[] };
      for (const { kind, alert } of notices)
        if (kind === "firing" && !named.has(hostOf(alert.key))) named.set(hostOf(alert.key), Date.now());
      response.end();
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const rulesPath = join(folder, "watch.yml");
  writeFileSync(rulesPath, rules(`http://127.0.0.1:${(server.address() as AddressInfo).port}`));
  const collector = await startCollectorProcess({
    settings: {
      SVC_FLOW_SERVER_UDP_ENABLE: "true",
      SVC_OUTPUT_FILE_ENABLE: "true",
      SVC_OUTPUT_FILE_PATH: "/dev/null",
      SVC_WATCH_RULES_PATH: rulesPath,
    },
  });
  return {
    name: "netgloss",
    port: () => collector.flowPort,
    named: () => named,
    async end() {
      await collector.end("SIGTERM");
      server.close();
    },
  };
}

function hostOf(key: Readonly<Record<string, string>>): string {
  return key["flow.dst.ip.addr"] ?? "";
}

async function startFastnetmon(folder: string): Promise<Watcher> {
  const notes = join(folder, "notes");
  const script = join(folder, "notify.sh");
  writeFileSync(notes, "");
  writeFileSync(script, `#!/bin/sh\necho "$(date +%s%3N) $1 $4" >> ${notes}\ncat > /dev/null\n`, { mode: 0o755 });
  const networks = join(folder, "networks");
  writeFileSync(networks, "10.0.0.0/16\n10.1.0.0/24\n10.2.7.0/24\n");
  writeFileSync(join(folder, "white"), "");
  const settings = {
    networks_list_path: networks,
    white_list_path: join(folder, "white"),
    disable_usage_report: "on",
    enable_ban: "on",
    process_incoming_traffic: "on",
    process_outgoing_traffic: "off",
    ban_time: 1900,
    check_period: 1,
    ban_details_records_count: 20,
    ban_for_bandwidth: "on",
    threshold_mbps: limits.megabits,
    ban_for_pps: "on",
    threshold_pps: limits.packets,
    average_calculation_time: 5,
    speed_calculation_delay: 1,
    netflow: "on",
    netflow_host: "127.0.0.1",
    netflow_port: netflowPort,
    netflow_sampling_ratio: 1,
    sflow: "on",
    sflow_host: "127.0.0.1",
    sflow_port: sflowPort,
    monitor_local_ip_addresses: "off",
    notify_script_path: script,
    cli_stats_file_path: join(folder, "stats"),
    cli_stats_ipv6_file_path: join(folder, "stats6"),
  };
  const config = join(folder, "fastnetmon.conf");
  const lines = Object.entries(settings).map(([key, value]) => `${key} = ${value}\n`);
  writeFileSync(config, lines.join(""));
  const args = ["--configuration_file", config, "--log_file", join(folder, "log"), "--disable_pid_logic"];
  const child = spawn("fastnetmon", args, { stdio: "ignore" });
  await sleep(3000);
  return {
    name: "fastnetmon",
    port: (protocol) => (protocol === "sflow" ? sflowPort : netflowPort),
    named() {
      const named = new Map<string, number>();
      for (const line of readFileSync(notes, "utf8").split("\n")) {
        const [at, host = "", what] = line.split(" ");
        if (what === "ban" && !named.has(host)) named.set(host, Number(at));
      }
      return named;
    },
    async end() {
      child.kill();
      if (child.exitCode === null) await once(child, "exit");
    },
  };
}

function packetOf({ src, dst, from, to, proto, flags = 16 }: Traffic, length: number): Buffer {
  const isFragment = from === 0 && to === 0 && proto === 17;
  const payload = proto === 6 ? tcp(flags) : proto === 17 && !isFragment ? udp(to) : Buffer.alloc(8);
  if (proto !== 1 && !isFragment) {
    payload.writeUInt16BE(from, 0);
    payload.writeUInt16BE(to, 2);
  }
  const packet = ipv4Packet(payload, { protocol: proto, length, fragment: isFragment ? 185 : 0 });
  ipv4(src).copy(packet, 12);
  ipv4(dst).copy(packet, 16);
  return packet;
}

/** One of so many packets each, as a switch takes them by chance. */
function* samplesOf(traffic: readonly Traffic[], next: () => number): Generator<Buffer> {
  for (const one of traffic) {
    const length = Math.max(60, Math.min(1500, Math.round(one.bits / 8 / Math.max(1, one.packets))));
    let count = one.packets / sampling;
    // A scan is packets one by one: an exporter that samples sees hardly any.
    for (count = Math.floor(count) + Number(next() < count % 1); count > 0; count--)
      yield flowSample([sampledHeader(ethernet(0x0800, packetOf(one, length)), length + 18)], { rate: sampling });
  }
}

async function replay(protocol: "sflow" | "netflow", watchers: readonly Watcher[]): Promise<void> {
  const next = random(7);
  const cache = new FlowCache(activeMs, inactiveMs);
  const socket = createSocket("udp4");
  const send = (datagram: Buffer): void => {
    for (const { port } of watchers) socket.send(datagram, port(protocol), "127.0.0.1");
  };
  const before = watchers.map(({ named }) => new Set(named().keys()));
  const began = Date.now();
  const attackedAt = began + 1000 * quietSeconds;
  for (let step = 0; step < stepsPerSecond * (quietSeconds + attackSeconds + restSeconds); step++) {
    await sleep(Math.max(0, began + (1000 * step) / stepsPerSecond - Date.now()));
    const second = Math.floor(step / stepsPerSecond);
    const attackSecond = second - quietSeconds;
    const isAttacked = attackSecond >= 0 && attackSecond < attackSeconds;
    const all = [
      ...(step % stepsPerSecond === 0 ? ordinary(14, 1, next) : []),
      ...(isAttacked
        ? replayed.flatMap(({ at }) => at(attackSecond)).filter((_, i) => i % stepsPerSecond === step % stepsPerSecond)
        : []),
    ];
    if (protocol === "sflow") {
      const samples = [...samplesOf(all, next)];
      for (let at = 0; at < samples.length; at += 5) send(sflow(samples.slice(at, at + 5), { sequence: step }));
      continue;
    }
    cache.add(all, 1000 * second);
    if (step % stepsPerSecond !== 0) continue;
    const records = cache
      .expire(1000 * second)
      .map(({ src = "", dst = "", port = 0, bytes = 0, packets = 0, extra = {} }) => ({
        source: src,
        destination: dst,
        bytes,
        packets,
        protocol: Number(extra["l4.proto.id"]),
        tcpFlags: Number(extra["tcp.flags.bits"] ?? 0),
        ports: [Number(extra["flow.src.l4.port.id"]), port] as const,
        start: Date.parse(String(extra["flow.start.timestamp"])),
        end: Date.parse(String(extra["flow.end.timestamp"])),
      }));
    const seconds = Math.floor(Date.now() / 1000);
    for (let at = 0; at < records.length; at += 30)
      send(netflow5(records.slice(at, at + 30), { uptime: 1000 * second, seconds, sequence: at }));
  }
  socket.close();
  report(protocol, watchers, before, attackedAt);
}

function report(
  protocol: string,
  watchers: readonly Watcher[],
  before: readonly ReadonlySet<string>[],
  attackedAt: number,
): void {
  const isOf = (host: string, { key }: (typeof replayed)[number]): boolean => {
    const target = key.at(-1) ?? "";
    return host === target || (target.endsWith("/24") && host.startsWith(target.replace(/0\/24$/, "")));
  };
  const named = watchers.map((each, i) => new Map([...each.named()].filter(([host]) => !before[i]?.has(host))));
  const found = named.map((fresh) => {
    return replayed.map((attack) => {
      const times = [...fresh].filter(([host]) => isOf(host, attack)).map(([, at]) => (at - attackedAt) / 1000);
      return times.length === 0 ? undefined : Math.min(...times);
    });
  });
  for (const [i, { rule }] of replayed.entries()) {
    const [own, rival] = found.map((each) => each[i]);
    if (own === undefined) console.log(`${protocol}: ${rule}: netgloss does not find it`);
    if (rival === undefined) console.log(`${protocol}: ${rule}: fastnetmon does not find it`);
    if (own === undefined) continue;
    const peer = rival === undefined ? undefined : { what: "fastnetmon", value: rival };
    reportRow({ what: `${protocol}: ${rule} is told`, value: own, unit: "s", ...(peer && { peer }) });
  }
  const [own = 0, rival = 0] = found.map((each) => each.filter((at) => at !== undefined).length);
  const what = `${protocol}: found of ${replayed.length} attacks`;
  reportRow({ what, value: own, unit: "attacks", peer: { what: "fastnetmon", value: rival } });
  const isAttacked = (host: string): boolean =>
    replayed.some((attack) => isOf(host, attack) || attack.key.at(-1)?.startsWith(host.replace(/0\/24$/, "")));
  const [ownOthers = 0, rivalOthers = 0] = named.map(
    (fresh) => [...fresh.keys()].filter((host) => !isAttacked(host)).length,
  );
  console.log(`${protocol}: hosts named that are not attacked: netgloss ${ownOthers}, fastnetmon ${rivalOthers}`);
}

if (spawnSync("fastnetmon", ["--version"]).error !== undefined) {
  console.log("fastnetmon is not on the PATH: nothing is compared");
} else {
  for (const protocol of ["sflow", "netflow"] as const) {
    const folder = mkdtempSync(join(tmpdir(), "netgloss-rival-"));
    const watchers = [await startNetgloss(folder), await startFastnetmon(folder)];
    try {
      await replay(protocol, watchers);
    } finally {
      for (const each of watchers) await each.end();
      if (existsSync(folder)) rmSync(folder, { recursive: true });
    }
  }
}
