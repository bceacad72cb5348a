import assert from "node:assert/strict";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { startWatch, type TestFlow, type WatchRig } from "./watch-rig.ts";

const rule = (text: string): string => `rules:\n  - {${text}}\n`;
const hour = 3600;

/** Bytes of a second that make this many megabits. */
const megabits = (count: number): number => (count * 1e6) / 8;

/** Takes flows each second. */
function feed(rig: WatchRig, seconds: number, flows: readonly TestFlow[]): void {
  for (let i = 0; i < seconds; i++) {
    rig.take(flows);
    rig.pass(1);
  }
}

const keysOf = (rig: WatchRig): readonly string[] => rig.in("firing").map(({ key }) => Object.values(key).join(" "));

describe("what is new", () => {
  const newServer = rule("name: new, by: [dst, dst.port], when: new after 1h");

  test("is a key that was not seen while the rule learnt, once", async (t) => {
    const rig = await startWatch(t, newServer);
    feed(rig, 5, [{ dst: "10.0.0.1", port: 443 }]);
    assert.deepEqual(keysOf(rig), []);
    assert.match(rig.watch.status().rules[0]?.history ?? "", /^1 keys in 0 hours; nothing is new for 0 hours yet$/);
    rig.jump(hour);
    feed(rig, 5, [
      { dst: "10.0.0.1", port: 443 },
      { dst: "10.0.0.1", port: 22 },
    ]);
    assert.deepEqual(keysOf(rig), ["10.0.0.1 22"]);
    assert.equal(rig.in("firing")[0]?.text, "new: 10.0.0.1, 22 is new");
    rig.jump(hour);
    feed(rig, 2, [{ dst: "10.0.0.1", port: 22 }]);
    assert.deepEqual(keysOf(rig), []);
    assert.equal(rig.records.length, 2);
  });

  test("is known for thirty days, over a restart, and then new again", async (t) => {
    const before = await startWatch(t, newServer);
    feed(before, 1, [{ port: 22 }]);
    before.jump(2 * hour);
    await before.watch.stop();
    const after = await startWatch(t, newServer, { directory: before.directory, start: before.now() });
    await after.watch.reload();
    feed(after, 2, [{ port: 22 }, { port: 23 }]);
    assert.deepEqual(keysOf(after), ["192.0.2.1 23"]);
    after.jump(32 * 24 * hour);
    feed(after, 2, [{ port: 22 }]);
    assert.deepEqual(keysOf(after), ["192.0.2.1 22"]);
  });

  test("needs a clock that is right: a run of 1970 is no time of learning, and forgets nothing", async (t) => {
    const before = await startWatch(t, newServer);
    feed(before, 1, [{ port: 22 }]);
    before.jump(hour / 2);
    await before.watch.stop();
    const { directory } = before;
    const wrong = await startWatch(t, newServer, { directory, start: 10_000_000 });
    feed(wrong, 1, [{ port: 22 }]);
    await wrong.watch.stop();
    const after = await startWatch(t, newServer, { directory, start: before.now() });
    feed(after, 1, [{ port: 23 }]);
    assert.deepEqual(keysOf(after), []);
    after.jump(hour);
    feed(after, 1, [{ port: 22 }, { port: 24 }]);
    assert.deepEqual(keysOf(after), ["192.0.2.1 24"]);
  });

  test("is bounded: keys without a place are counted, and no alert", async (t) => {
    const rig = await startWatch(t, newServer, { maxKeys: 100 });
    rig.jump(2 * hour);
    const many = Array.from({ length: 300 }, (_, i) => ({ port: 1000 + i }));
    rig.take(many);
    rig.pass(1);
    rig.take(many);
    rig.pass(1);
    assert.equal(keysOf(rig).length, 100);
    assert.equal(rig.watch.status().rules[0]?.refused, 400);
  });
});

describe("what is usual", () => {
  const upload = rule("name: upload, by: [src], measure: bits_per_second, when: '> 4 x usual', least: 1M");

  /** Lets an hour pass in which a host sends for a while. */
  function passHour(rig: WatchRig, flows: readonly TestFlow[]): void {
    rig.pass(1790);
    feed(rig, 20, flows);
    rig.pass(1790);
  }

  test("is that of the hour in the weeks, or the days, before; without them there is no verdict", async (t) => {
    const rig = await startWatch(t, upload);
    const usual = [{ src: "10.0.0.1", bytes: megabits(2) }];
    const [fourfold, more] = [7, 12].map((count) => [{ src: "10.0.0.1", bytes: megabits(count) }]);
    feed(rig, 20, more ?? []);
    assert.deepEqual(rig.watch.alerting.list().alerts, []);
    assert.match(rig.watch.status().rules[0]?.history ?? "", /no verdict at this hour$/);
    for (let day = 0; day < 4; day++) {
      passHour(rig, usual);
      rig.jump(23 * hour);
    }
    assert.match(rig.watch.status().rules[0]?.history ?? "", /^1 keys, 4 hours; [34] days at this hour$/);
    feed(rig, 20, fourfold ?? []);
    assert.deepEqual(keysOf(rig), []);
    feed(rig, 20, [...(more ?? []), { src: "10.0.0.2", bytes: megabits(0.5) }]);
    assert.deepEqual(keysOf(rig), ["10.0.0.1"]);
    const [alert] = rig.in("firing");
    assert.match(alert?.note ?? "", /^usual at this hour: (199|200)\d{4}$/);
    // A host that was never heard of has an honest past: nothing.
    feed(rig, 20, [{ src: "10.0.0.3", bytes: megabits(3) }]);
    assert.ok(keysOf(rig).includes("10.0.0.3"));
  });

  test("outlives a restart, but not a change of the rule", async (t) => {
    const before = await startWatch(t, upload);
    for (let day = 0; day < 3; day++) {
      passHour(before, [{ src: "10.0.0.1", bytes: megabits(2) }]);
      before.jump(23 * hour);
    }
    await before.watch.stop();
    const after = await startWatch(t, upload, { directory: before.directory, start: before.now() });
    await after.watch.reload();
    assert.match(after.watch.status().rules[0]?.history ?? "", /^1 keys, 3 hours; 3 days at this hour$/);
    feed(after, 20, [{ src: "10.0.0.1", bytes: megabits(12) }]);
    assert.deepEqual(keysOf(after), ["10.0.0.1"]);
    await after.write(upload.replace("by: [src]", "by: [dst]"));
    assert.match(after.watch.status().rules[0]?.history ?? "", /^0 keys, 0 hours; no verdict/);
  });

  test("a file that is none is named, and a new history begins", async (t) => {
    const before = await startWatch(t, upload);
    await before.watch.stop();
    const folder = join(before.directory, "state", "history");
    const [name = ""] = readdirSync(folder);
    assert.match(readFileSync(join(folder, name), "utf8"), /^\{"version":1/);
    writeFileSync(join(folder, name), "{}\n");
    const after = await startWatch(t, upload, { directory: before.directory, start: before.now() });
    await after.settled();
    assert.match(after.faults.at(-1) ?? "", /^the history of upload cannot be read: .*: expected version 1$/);
    await after.watch.stop();
    assert.equal(readFileSync(join(folder, `${name}.broken-test`), "utf8"), "{}\n");
    assert.equal(await after.metric("netgloss_watch_broken_files_total"), 1);
  });

  test("a fault of one rule's history is said though another one's is fine", async (t) => {
    const both = `${upload}  - {name: other, by: [dst], measure: bits_per_second, when: '> 4 x usual', least: 1M}\n`;
    const before = await startWatch(t, upload);
    await before.watch.stop();
    const folder = join(before.directory, "state", "history");
    const [name = ""] = readdirSync(folder);
    writeFileSync(join(folder, name), "{}\n");
    const after = await startWatch(t, both, { directory: before.directory, start: before.now() });
    assert.match(after.faults.at(-1) ?? "", /^the history of upload cannot be read/);
  });

  test("a stop right after the start, and a second reading of the rules, lose none of it", async (t) => {
    const before = await startWatch(t, upload);
    feed(before, 20, [{ src: "10.0.0.1", bytes: megabits(2) }]);
    await before.watch.stop();
    for (let run = 0; run < 2; run++) {
      const short = await startWatch(t, upload, { directory: before.directory, start: before.now() });
      if (run === 1) await Promise.all([short.watch.reload(), short.watch.reload(), short.watch.stop()]);
      else await short.watch.stop();
    }
    const after = await startWatch(t, upload, { directory: before.directory, start: before.now() });
    assert.match(after.watch.status().rules[0]?.history ?? "", /^1 keys/);
  });
});

describe("more keys than there may be", () => {
  test("hide nobody: what is large is found as if there were room for all", async (t) => {
    const flood = rule("name: flood, by: [dst], measure: bits_per_second, when: '> 8M for 5s'");
    const scan = "  - {name: scan, by: [src], measure: distinct flow.dst.ip.addr, over: 1m, when: '> 200'}\n";
    const [few, all] = await Promise.all([100, 100_000].map((maxKeys) => startWatch(t, flood + scan, { maxKeys })));
    assert.ok(few !== undefined && all !== undefined);
    for (let second = 0; second < 30; second++) {
      const random = Array.from({ length: 1000 }, (_, i) => ({
        src: `198.18.${second}.${i % 250}`,
        dst: `203.0.${second * 4 + (i >> 8)}.${i & 255}`,
      }));
      const large = [1, 2, 3].map((i) => ({ dst: `192.0.2.${i}`, bytes: megabits(second < 5 ? 0 : 5 * i) }));
      const scans = Array.from({ length: 15 }, (_, i) => ({
        src: "198.51.100.7",
        dst: `10.0.${second}.${i}`,
        bytes: 60,
      }));
      for (const rig of [few, all]) {
        rig.take([...random, ...large, ...scans]);
        rig.pass(1);
      }
    }
    assert.deepEqual(new Set(keysOf(few)), new Set(["192.0.2.2", "192.0.2.3", "198.51.100.7"]));
    assert.deepEqual(new Set(keysOf(all)), new Set(keysOf(few)));
    assert.match(few.in("firing")[0]?.note ?? "", /more keys than SVC_WATCH_MAX_KEYS$/);
    assert.ok((await few.metric("netgloss_watch_refused_records_total")) > 20_000);
    assert.equal(await all.metric("netgloss_watch_refused_records_total"), 0);
    for (const { keys } of few.watch.status().rules) assert.ok(keys <= 100);
  });

  test("one that gets the place of another gets none of its records", async (t) => {
    const rig = await startWatch(t, rule("name: flood, by: [dst], measure: bits_per_second, when: '> 8M'"), {
      maxKeys: 1,
    });
    rig.take([
      { dst: "192.0.2.1", bytes: megabits(3) },
      { dst: "192.0.2.2", bytes: megabits(78) },
    ]);
    rig.pass(1);
    assert.deepEqual(keysOf(rig), []);
    rig.take([{ dst: "192.0.2.2", bytes: megabits(4) }]);
    rig.pass(1);
    assert.deepEqual(keysOf(rig), ["192.0.2.2"]);
  });
});

describe("shares and speeds", () => {
  test("a share of all that passes the filter, above a floor", async (t) => {
    const rig = await startWatch(
      t,
      rule("name: hog, by: [src], filter: 'proto = tcp', measure: share_of_bits, when: '> 60 %', least: 1M"),
    );
    const flow = (src: string, count: number, proto = 6): TestFlow => ({
      src,
      bytes: megabits(count),
      extra: { "l4.proto.id": proto },
    });
    feed(rig, 12, [flow("10.0.0.1", 0.5)]);
    assert.deepEqual(keysOf(rig), []);
    feed(rig, 12, [flow("10.0.0.1", 5), flow("10.0.0.2", 5), flow("10.0.0.3", 50, 17)]);
    assert.deepEqual(keysOf(rig), []);
    feed(rig, 12, [flow("10.0.0.1", 8), flow("10.0.0.2", 2)]);
    assert.deepEqual(keysOf(rig), ["10.0.0.1"]);
    assert.equal(rig.in("firing")[0]?.unit, "%");
  });

  test("% of the speed of an interface, where that is known", async (t) => {
    const rig = await startWatch(
      t,
      rule("name: full, by: [exporter, in.if.name], measure: bits_per_second, when: '> 90 % of speed'"),
    );
    const flow = (name: string, count: number, speed?: number): TestFlow => ({
      bytes: megabits(count),
      extra: { "flow.in.netif.name": name, ...(speed !== undefined && { "flow.in.netif.speed": speed }) },
    });
    feed(rig, 12, [flow("a", 9.5, 1e7), flow("b", 9.5, 2e7), flow("c", 9.5)]);
    assert.deepEqual(keysOf(rig), ["198.51.100.1 a"]);
    assert.equal(rig.in("firing")[0]?.text, "full: 198.51.100.1, a is at 9.5 Mbits/s");
  });
});

describe("devices, exporters and outputs", () => {
  const interfaceOf = (device: string, bytes: number, rest: Readonly<Record<string, unknown>> = {}) => ({
    "snmp.object.name": "IF-MIB::ifXTable",
    "system.ip.addr": device,
    "netif.name": "xe-0",
    "netif.bandwidth.bw": 1_000_000_000,
    "netif.bytes.in": bytes,
    "netif.bytes.out": 5,
    ...rest,
  });

  test("how full an interface is, by its counters or their rates", async (t) => {
    const rig = await startWatch(
      t,
      rule("name: full, of: snmp, by: [system.ip.addr, netif.name], measure: utilisation, when: '> 80 % for 2m'"),
    );
    for (let minute = 0; minute < 6; minute++) {
      rig.takeOthers([
        interfaceOf("192.0.2.1", minute * 60 * 110e6),
        interfaceOf("192.0.2.2", minute * 60 * 90e6),
        interfaceOf("192.0.2.3", 1, { "netif.bytes.out_rate": 115e6 }),
      ]);
      rig.pass(60);
    }
    assert.deepEqual(keysOf(rig), ["192.0.2.1 xe-0", "192.0.2.3 xe-0"]);
    assert.deepEqual(
      rig.in("firing").map(({ value }) => value),
      [88, 92],
    );
    rig.takeOthers([interfaceOf("192.0.2.1", 5 * 60 * 110e6 + 60)]);
    rig.pass(150);
    assert.deepEqual(keysOf(rig), ["192.0.2.3 xe-0"]);
  });

  test("the value of a field of the definitions, below zero, too; changes; records", async (t) => {
    const rig = await startWatch(
      t,
      "rules:\n" +
        "  - {name: dark, of: snmp, by: [system.ip.addr], measure: value transceiver.rx.power, when: '< -20 for 2m'}\n" +
        "  - {name: flaps, of: snmp, by: [system.ip.addr], measure: changes netif.state.oper.name, over: 10m, when: '>= 3'}\n" +
        "  - {name: bgp, of: snmp, filter: 'bgp.peer.state.name != established and bgp.peer.state.name exists', by: [system.ip.addr], measure: records, over: 3m, when: '>= 2'}\n",
    );
    for (let minute = 0; minute < 6; minute++) {
      const odd = minute % 2 === 1;
      rig.takeOthers([
        { "snmp.object.name": "x", "system.ip.addr": "192.0.2.1", "transceiver.rx.power": -23.4 },
        { "snmp.object.name": "x", "system.ip.addr": "192.0.2.2", "transceiver.rx.power": odd ? -23.4 : -10 },
        { "snmp.object.name": "x", "system.ip.addr": "192.0.2.3", "netif.state.oper.name": odd ? "up" : "down" },
        { "snmp.object.name": "x", "system.ip.addr": "192.0.2.4", "bgp.peer.state.name": "idle" },
        { "snmp.object.name": "x", "system.ip.addr": "192.0.2.5", "bgp.peer.state.name": "established" },
      ]);
      rig.pass(60);
    }
    const found = rig.in("firing").map(({ text }) => text);
    assert.deepEqual(
      new Set(found),
      new Set([
        "bgp: 192.0.2.4 is at 2 records",
        "dark: 192.0.2.1 is at -23.4 transceiver.rx.power",
        "flaps: 192.0.2.3 is at 3 changes of netif.state.oper.name",
      ]),
    );
  });

  test("traps, exporters and outputs; each rule sees its own kind", async (t) => {
    const rig = await startWatch(
      t,
      "rules:\n" +
        "  - {name: links, of: trap, filter: 'snmp.trap.name = linkDown', by: [system.ip.addr], measure: records, when: '> 0'}\n" +
        "  - {name: lost, of: exporter, by: [exporter], measure: value exporter.loss.pct, when: '> 1'}\n" +
        "  - {name: gone, of: exporter, by: [exporter], when: silent for 1m}\n" +
        "  - {name: full, of: output, by: [output], measure: value output.queue.bytes, when: '> 1M'}\n",
    );
    const exporter = (address: string, loss: number) => ({
      "flow.export.ip.addr": address,
      "exporter.datagrams": 5,
      "exporter.loss.pct": loss,
    });
    rig.takeOthers([
      { "snmp.trap.oid": ".1", "snmp.trap.name": "linkDown", "system.ip.addr": "192.0.2.1" },
      { "snmp.trap.oid": ".1", "snmp.trap.name": "linkUp", "system.ip.addr": "192.0.2.2" },
      { "snmp.object.name": "x", "snmp.trap.name": "linkDown", "system.ip.addr": "192.0.2.3" },
      exporter("198.51.100.1", 3),
      exporter("198.51.100.2", 0),
      { "output.name": "kafka", "output.queue.bytes": 5e6 },
    ]);
    rig.pass(5);
    rig.take([{ exporter: "198.51.100.1" }]);
    const names = (): readonly string[] =>
      rig.in("firing").map(({ rule: name, key }) => `${name} ${Object.values(key)[0]}`);
    assert.deepEqual(new Set(names()), new Set(["full kafka", "links 192.0.2.1", "lost 198.51.100.1"]));
    for (let i = 0; i < 7; i++) {
      rig.takeOthers([exporter("198.51.100.1", 3)]);
      rig.pass(10);
    }
    assert.ok(names().includes("gone 198.51.100.2"));
    rig.watch.takeOthers(Buffer.from("{broken\n5\nnull\n"));
    assert.equal(await rig.metric("netgloss_watch_broken_lines_total"), 3);
    assert.deepEqual(rig.watch.sources(), ["trap", "exporter", "output"]);
  });
});

test("true time: a flow is booked when it flowed, by a clock whose offset is known", async (t) => {
  const rig = await startWatch(t, rule("name: flood, by: [dst], measure: bits_per_second, when: '> 8M for 5s'"));
  const ended = (ago: number, offset: number): TestFlow["extra"] => ({
    "flow.start.timestamp": new Date(rig.now() - 1000 * (ago + 10) + offset).toISOString(),
    "flow.end.timestamp": new Date(rig.now() - 1000 * ago + offset).toISOString(),
    ...(offset !== 0 && { "flow.export.clock.offset": offset }),
  });
  rig.pass(60);
  // Two halves of what would be too much together, but flowed one after the other.
  for (const offset of [0, 3_600_000]) {
    const dst = `192.0.2.${offset === 0 ? 1 : 2}`;
    rig.take([
      { dst, bytes: megabits(60), extra: ended(30, offset) ?? {} },
      { dst, bytes: megabits(60), extra: ended(15, offset) ?? {} },
    ]);
  }
  // What cannot have been then is taken to have ended now.
  rig.take([
    { dst: "192.0.2.3", bytes: megabits(60), extra: ended(7200, 0) ?? {} },
    { dst: "192.0.2.3", bytes: megabits(60), extra: ended(0, 0) ?? {} },
  ]);
  rig.pass(1);
  assert.deepEqual(keysOf(rig), ["192.0.2.3"]);
});

test("keys of several fields and kinds keep their sums when there are many", async (t) => {
  const pairs = `rules:
  - {name: pairs, by: [dst, flow.dst.l4.port.id, flow.export.domain.name], measure: bits_per_second, over: 10s, when: '> 100k', clear: '< 50k for 1h'}
`;
  const rig = await startWatch(t, pairs, { maxKeys: 1000 });
  const sums = new Map<string, number>();
  for (let second = 0; second < 3; second++) {
    const flows = Array.from({ length: 3000 }, (_, i) => {
      const [dst, port, name] = [`192.0.2.${(i * 7) % 11}`, 1000 + ((i * 5) % 13), `router ${(i * 3) % 5}`];
      const key = `${dst} ${port} ${name}`;
      const bytes = (i * 31) % 977;
      sums.set(key, (sums.get(key) ?? 0) + bytes);
      return { dst, port, bytes, extra: { "flow.export.domain.name": name } };
    });
    rig.take(flows);
    rig.pass(1);
  }
  rig.take(
    [...sums.keys()].map((key) => {
      const [dst = "", port = "", ...name] = key.split(" ");
      return { dst, port: Number(port), bytes: 200_000, extra: { "flow.export.domain.name": name.join(" ") } };
    }),
  );
  rig.pass(1);
  assert.equal(sums.size, 715);
  const values = new Map(rig.in("firing").map(({ key, value }) => [Object.values(key).join(" "), value] as const));
  assert.equal(values.size, sums.size);
  for (const [key, bytes] of sums) assert.ok(Math.abs((values.get(key) ?? 0) - ((bytes + 200_000) * 8) / 10) <= 1, key);
});
