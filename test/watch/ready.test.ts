import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { parseWatchFile, readReadyRules, WatchFileError } from "../../src/watch/index.ts";
import { attacks, FlowCache, flowOf, ordinary, random, type Attack } from "./attacks.ts";
import { readyRules, startWatch, type WatchRig } from "./watch-rig.ts";

const ready = readReadyRules(readyRules);
const root = join(import.meta.dirname, "../../..");
const names = ready.map(({ rule }) => rule.name);
const all = `ready:\n${names.map((name) => `  ${name}: {}\n`).join("")}`;

describe("ready rules", () => {
  test("have names of their own, and a section each in a page that is made of them", () => {
    assert.equal(new Set(names).size, names.length);
    const script = join(root, "scripts/generate-watch-ready.js");
    const { status, stderr } = spawnSync(process.execPath, [script, "--check"], { encoding: "utf8" });
    assert.equal(status, 0, stderr);
    const page = readFileSync(join(root, "docs/watch-ready.md"), "utf8");
    for (const name of names) assert.ok(page.includes(`\n### ${name}\n`), name);
  });

  test("are off until they are chosen, and other where the file says so", () => {
    assert.deepEqual(parseWatchFile("watch.yml", "rules: []\n", ready).rules, []);
    const text =
      "actions:\n  noc: {webhook: {url: 'http://host'}}\n" +
      "ready:\n  udp-flood: {when: '> 2G for 1m', filter: 'dst.internal = true', act: noc}\n  icmp-flood:\n";
    const [flood, ping, ...others] = parseWatchFile("watch.yml", text, ready).rules;
    assert.deepEqual(others, []);
    assert.equal(ping?.name, "icmp-flood");
    assert.deepEqual(flood?.act, ["noc"]);
    assert.deepEqual(flood?.when, { kind: "compare", operator: ">", limit: 2e9, unit: "plain", forMs: 60_000 });
    assert.deepEqual(flood?.clear, { kind: "compare", operator: "<", limit: 1.6e9, unit: "plain", forMs: 60_000 });
    assert.equal(flood?.filter !== undefined && "kind" in flood.filter && flood.filter.kind, "and");
  });

  test("errors name what is wrong with what was chosen", () => {
    const faults = (text: string): readonly string[] => {
      try {
        parseWatchFile("watch.yml", text, ready);
        return [];
      } catch (error) {
        assert.ok(error instanceof WatchFileError);
        return error.faults;
      }
    };
    assert.deepEqual(
      faults(
        "ready:\n  udp-floods: {}\n  icmp-flood: {when: silent for 5m}\n  fragments: {filter: 'src = '}\n  link-80: {act: noc}\nrules:\n" +
          "  - {name: bgp-down, measure: flows_per_second, when: '> 1'}\n  - {name: bgp-down, measure: flows_per_second, when: '> 1'}\n",
      ),
      [
        'watch.yml:2:3: ready rule udp-floods: there is no ready rule "udp-floods" (did you mean "udp-flood"?)',
        "watch.yml:3:22: ready rule icmp-flood: when: expected a condition of the same kind as that of icmp-flood",
        'watch.yml:4:23: ready rule fragments: filter: expected a value, column 7 of "src = "',
        'watch.yml:5:12: ready rule link-80: act: there is no action "noc"',
        'watch.yml:8:5: rule 2: there are two rules "bgp-down"',
      ],
    );
  });
});

/** The second in which the window is above the limit for long enough. */
function dueAt({ rate, limit, windowSeconds, forSeconds, rule }: Attack): number {
  const fill = rule.endsWith("scan") ? limit / rate : (limit / rate) * windowSeconds;
  return Math.ceil(fill) + 1 + forSeconds;
}

/** Lets an attack come within ordinary traffic. @returns the second in which it was found; undefined when it was not. */
function replay(rig: WatchRig, attack: Attack, way: "sFlow" | "NetFlow", next: () => number): number | undefined {
  const cache = new FlowCache();
  const step = attack.seconds > 600 ? 10 : 1;
  const began = rig.now();
  const until = attack.seconds + (way === "NetFlow" ? 80 : 0);
  for (let second = 0; second < until; second += step) {
    const seconds = Array.from({ length: second < attack.seconds ? step : 0 }, (_, i) => second + i);
    const traffic = seconds.flatMap((each) => attack.at(each));
    const now = rig.now();
    const others = ordinary(11, step, next).map((each) => flowOf(each, now, now));
    if (way === "sFlow") rig.take([...others, ...traffic.map((each) => flowOf(each, now, now))]);
    else {
      cache.add(traffic, now);
      rig.take([...others, ...cache.expire(now)]);
    }
    if (step === 1) rig.pass(1);
    else rig.jump(step);
    const found = rig.records.some(
      (record) =>
        record["alert.rule.name"] === attack.rule &&
        record["alert.state.name"] === "firing" &&
        (record["alert.key"] as readonly string[]).every((text, i) => text.endsWith(`=${attack.key[i]}`)),
    );
    if (found) return (rig.now() - began) / 1000;
  }
  return undefined;
}

describe("attacks within ordinary traffic", () => {
  for (const way of ["sFlow", "NetFlow"] as const) {
    test(`are found in time by ${way}, and nobody else is blamed`, async (t) => {
      const rig = await startWatch(t, all, { maxKeys: 20_000 });
      const next = random(7);
      for (const attack of attacks) {
        const found = replay(rig, attack, way, next);
        const limit = dueAt(attack) + 2 + (attack.seconds > 600 ? 100 : 0) + (way === "NetFlow" ? 60 : 0);
        assert.ok(found !== undefined && found <= limit, `${attack.rule}: found after ${found} s, expected ${limit} s`);
        rig.jump(180);
      }
      const blamed = new Set(rig.records.map((record) => String((record["alert.key"] as readonly string[]).at(-1))));
      for (const text of blamed) assert.match(text, /=10\.(?:1\.0\.\d+|1\.0\.0\/24|2\.7\.\d+|2\.7\.0\/24)$/);
    });
  }
});

test("a day of ordinary traffic is at most one alert of each ready rule", async (t) => {
  const rig = await startWatch(t, all, { maxKeys: 20_000 });
  const next = random(11);
  const step = 30;
  const bytes = { in: 0, out: 0 };
  for (let second = 0; second < 86_400; second += step) {
    const hour = second / 3600;
    const now = rig.now();
    // What is large takes its time.
    rig.take(ordinary(hour, step, next).map((each) => flowOf(each, each.bits > 1e6 ? now - 1000 * step : now, now)));
    if (second % 60 === 0) {
      const busy = 0.2 + 0.4 * Math.max(0, Math.sin(((hour - 6) / 14) * Math.PI)) + 0.1 * next();
      bytes.in += (60 * busy * 1e9) / 8;
      bytes.out += (30 * busy * 1e9) / 8;
      const device = { "system.ip.addr": "192.0.2.1" };
      rig.takeOthers([
        {
          ...device,
          "snmp.object.name": "IF-MIB::ifXTable",
          "netif.name": "xe-0",
          "netif.bandwidth.bw": 1e9,
          "netif.bytes.in": Math.round(bytes.in),
          "netif.bytes.out": Math.round(bytes.out),
          "netif.state.oper.name": "up",
        },
        {
          ...device,
          "snmp.object.name": "BGP4-MIB::bgpPeerTable",
          "bgp.peer.remote.ip.addr": "192.0.2.9",
          // One poll finds it down.
          "bgp.peer.state.name": second === 36_000 ? "idle" : "established",
        },
        {
          ...device,
          "snmp.object.name": "x",
          "hw.sensor.type": "temperature",
          "hw.sensor.name": "inlet",
          "hw.sensor.value": 40 + 15 * busy,
        },
        {
          ...device,
          "snmp.object.name": "x",
          "hw.sensor.type": "power_supply",
          "hw.sensor.name": "PSU 1",
          "hw.sensor.state.severity": "ok",
        },
      ]);
    }
    rig.takeOthers([
      {
        "flow.export.ip.addr": "198.51.100.1",
        "exporter.datagrams": second,
        "exporter.loss.pct": next() < 0.01 ? 2 : 0,
      },
      { "output.name": "file", "output.state": "working", "output.queue.bytes": 1e6 * next() },
    ]);
    rig.jump(step);
  }
  const counts = new Map<string, number>();
  for (const record of rig.records) {
    if (record["alert.state.name"] !== "firing") continue;
    const name = String(record["alert.rule.name"]);
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  assert.deepEqual(
    [...counts].filter(([, count]) => count > 1),
    [],
  );
});
