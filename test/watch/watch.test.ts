import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { describe, test } from "node:test";
import * as fc from "fast-check";
import { parseWatchFile, WatchFileError } from "../../src/watch/index.ts";
import { runs } from "../support/runs.ts";
import { until } from "../support/until.ts";
import { startReceiver, startWatch, type TestFlow } from "./watch-rig.ts";

const flood = (rest = ""): string =>
  `rules:\n  - name: flood\n    by: [flow.dst.ip.addr]\n    measure: bits_per_second\n    over: 10s\n    when: '> 8M for 5s'\n${rest}`;

/** Bytes that make this many megabits. */
const megabits = (count: number): number => (count * 1e6) / 8;

describe("a rule of bits by key", () => {
  test("fires when the limit is passed for long enough, tells its evidence, and ends", async (t) => {
    const rig = await startWatch(
      t,
      flood("    say: '{{flow.dst.ip.addr}} gets {{value}} from {{top.flow.src.ip.addr}}'\n"),
    );
    for (let second = 0; second < 20; second++) {
      rig.take([
        { dst: "192.0.2.1", src: "203.0.113.7", bytes: megabits(9) },
        { dst: "192.0.2.1", src: "203.0.113.8", bytes: megabits(1) },
        { dst: "192.0.2.2", bytes: megabits(7) },
      ]);
      rig.pass(1);
    }
    const [alert, ...others] = rig.in("firing");
    assert.deepEqual(others, []);
    assert.deepEqual(alert?.key, { "flow.dst.ip.addr": "192.0.2.1" });
    assert.equal(alert?.top["flow.src.ip.addr"]?.[0]?.value, "203.0.113.7");
    assert.ok(Math.abs((alert?.top["flow.src.ip.addr"]?.[0]?.share ?? 0) - 0.9) < 0.01);
    assert.match(alert?.text ?? "", /^192\.0\.2\.1 gets [\d.]+ Mbits\/s from 203\.0\.113\.7$/);
    assert.equal(rig.records.length, 1);
    assert.equal(rig.records[0]?.["alert.state.name"], "firing");
    // The window empties within ten seconds, and the value is to stay low for a minute.
    rig.pass(60);
    assert.equal(rig.in("firing").length, 1);
    rig.pass(15);
    assert.equal(rig.in("firing").length, 0);
    assert.equal(rig.in("cleared")[0]?.id, alert?.id);
    assert.equal(rig.records[1]?.["alert.state.name"], "cleared");
  });

  test("is pending before, and is nothing again when the value falls in time", async (t) => {
    const rig = await startWatch(t, flood());
    rig.take([{ bytes: megabits(100) }]);
    rig.pass(1);
    assert.equal(rig.in("pending").length, 1);
    const quiet = await startWatch(t, flood().replace("for 5s", "for 30s"));
    quiet.take([{ bytes: megabits(100) }]);
    quiet.pass(25);
    assert.deepEqual(quiet.watch.alerting.list().alerts, []);
    assert.deepEqual(quiet.records, []);
  });

  test("has to hold for its time again after an alert has ended, whatever is left of it in the windows", async (t) => {
    const rig = await startWatch(t, flood("    clear: '< 2M for 2s'\n"));
    const send = (seconds: number, count: number): void => {
      for (let second = 0; second < seconds; second++) {
        rig.take([{ bytes: megabits(count) }]);
        rig.pass(1);
      }
    };
    const counts = (): readonly number[] =>
      (["pending", "firing", "cleared"] as const).map((state) => rig.in(state).length);
    send(20, 20);
    assert.deepEqual(counts(), [0, 1, 0]);
    // The key goes on with a tenth of its limit.
    send(20, 0.8);
    assert.deepEqual(counts(), [0, 0, 1]);
    send(5, 20);
    assert.deepEqual(counts(), [1, 0, 1]);
    send(5, 20);
    assert.deepEqual(counts(), [0, 1, 1]);
    assert.deepEqual(
      rig.records.map((record) => record["alert.state.name"]),
      ["firing", "cleared", "firing"],
    );
  });

  test("keeps windows and pending alerts when another rule comes, or its own text is another", async (t) => {
    const slow = flood().replace("for 5s", "for 15s");
    const other = "  - {name: other, of: snmp, by: [snmp.object.name], measure: records, when: '> 5'}\n";
    const rig = await startWatch(t, slow);
    const attack = (seconds: number): void => {
      for (let second = 0; second < seconds; second++) {
        rig.take([{ bytes: megabits(20) }]);
        rig.pass(1);
      }
    };
    attack(12);
    const [pending] = rig.in("pending");
    assert.ok(pending);
    await rig.write(
      `${slow}    say: changed\n${other}  - {name: ports, by: [dst.port], measure: packets_per_second, when: '> 1G'}\n`,
    );
    attack(8);
    const [alert] = rig.in("firing");
    assert.equal(alert?.id, pending.id);
    assert.equal(alert.since, pending.since);
    assert.equal(alert.text, "changed");
    assert.deepEqual(rig.faults, []);
    // Of a rule whose limit is another, what was counted is not judged by it.
    await rig.write(slow.replace("> 8M", "> 7M"));
    rig.pass(1);
    assert.deepEqual(
      rig.in("firing").map(({ id }) => id),
      [alert.id],
    );
  });

  test("takes records that stand for several, and estimates before sampled counts", async (t) => {
    const rig = await startWatch(t, flood());
    for (let second = 0; second < 12; second++) {
      rig.take([{ dst: "192.0.2.1", bytes: megabits(1) }], 10);
      rig.take([{ dst: "192.0.2.2", bytes: 100, extra: { "flow.scaled.bytes": megabits(10) } }]);
      rig.pass(1);
    }
    assert.deepEqual(
      new Set(rig.in("firing").map(({ key }) => key["flow.dst.ip.addr"])),
      new Set(["192.0.2.1", "192.0.2.2"]),
    );
  });

  test("a flow of a minute counts with its rate, not as a spike, and is seen when it is told", async (t) => {
    const rig = await startWatch(t, flood());
    // 6 Mbit/s for a minute are no 8; booked at once they would be 36.
    rig.take([{ dst: "192.0.2.1", bytes: megabits(6 * 60), seconds: 60 }]);
    rig.pass(1);
    assert.deepEqual(rig.watch.alerting.list().alerts, []);
    rig.take([{ dst: "192.0.2.2", bytes: megabits(9 * 60), seconds: 60 }]);
    rig.pass(1);
    assert.deepEqual(
      rig.in("firing").map(({ key }) => key),
      [{ "flow.dst.ip.addr": "192.0.2.2" }],
    );
  });

  test("agrees with a slow model about the first second of each alert", async (t) => {
    const second = fc.array(
      fc.record({ key: fc.integer({ min: 1, max: 3 }), megabits: fc.integer({ min: 0, max: 40 }) }),
      {
        maxLength: 4,
      },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(second, { minLength: 1, maxLength: 40 }), async (seconds) => {
        const rig = await startWatch(t, flood());
        const fired = new Map<string, number>();
        const wanted = new Map<string, number>();
        const history: number[][] = [];
        for (const [at, flows] of seconds.entries()) {
          rig.take(flows.map((flow): TestFlow => ({ dst: `192.0.2.${flow.key}`, bytes: megabits(flow.megabits) })));
          history.push(
            [1, 2, 3].map((key) => sum(flows.filter((flow) => flow.key === key).map((flow) => flow.megabits))),
          );
          // Windows are judged with the second that goes on, which is empty as yet.
          rig.pass(1);
          history.push([0, 0, 0]);
          for (const key of [1, 2, 3]) {
            const values = history.map((each) => each[key - 1] ?? 0);
            const high = values.map((_, end) => sum(values.slice(Math.max(0, end - 9), end + 1)) / 10 > 8);
            if (
              high.some((_, end) => end >= 4 && high.slice(end - 4, end + 1).every(Boolean)) &&
              !wanted.has(`192.0.2.${key}`)
            )
              wanted.set(`192.0.2.${key}`, at);
          }
          history.pop();
          for (const { key } of rig.in("firing")) {
            const name = key["flow.dst.ip.addr"] ?? "";
            if (!fired.has(name)) fired.set(name, at);
          }
        }
        assert.deepEqual(Object.fromEntries(fired), Object.fromEntries(wanted));
      }),
      runs(30),
    );
  });
});

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

describe("other rules", () => {
  test("distinct values: a scan of ports is one alert, whoever else asks", async (t) => {
    const rig = await startWatch(
      t,
      "rules:\n  - {name: scan, by: [src, dst], measure: distinct flow.dst.l4.port.id, over: 1m, when: '> 100'}\n",
    );
    for (let port = 1; port <= 150; port++)
      rig.take([
        { src: "203.0.113.9", port },
        { src: "10.0.0.5", port: 443 },
      ]);
    rig.pass(1);
    const [alert, ...others] = rig.in("firing");
    assert.deepEqual(others, []);
    assert.deepEqual(alert?.key, { "flow.src.ip.addr": "203.0.113.9", "flow.dst.ip.addr": "192.0.2.1" });
    assert.ok(Math.abs((alert?.value ?? 0) - 150) < 10, `${alert?.value}`);
    rig.pass(140);
    assert.equal(rig.in("firing").length, 0);
  });

  test("distinct values: those of a slow scan count together, whenever half a window is over", async (t) => {
    const rule = "{name: scan, by: [src], measure: distinct flow.dst.l4.port.id, over: 1m, when: '> 100'}";
    const rig = await startWatch(t, `rules:\n  - ${rule}\n`);
    // The second ones begin a quarter of a window later.
    for (const net of [1, 2]) {
      const ports = [40, 88, 115, 150];
      for (let at = 0; at < 25; at++) {
        for (const count of ports)
          for (let port = Math.floor((at * count) / 25); port < ((at + 1) * count) / 25; port++)
            rig.take([{ src: `10.0.${net}.${count}`, port: port + 1 }], 1);
        rig.pass(1);
      }
      const found = rig.in("firing").map(({ key }) => key["flow.src.ip.addr"] ?? "");
      assert.deepEqual(
        found.filter((address) => address.startsWith(`10.0.${net}.`)).toSorted((a, b) => a.localeCompare(b)),
        [`10.0.${net}.115`, `10.0.${net}.150`],
      );
      rig.pass(15);
    }
  });

  test("silence: of what was heard, and it ends with the first record", async (t) => {
    const rig = await startWatch(
      t,
      "rules:\n  - {name: silent, by: [exporter], measure: flows_per_second, when: silent for 1m}\n",
    );
    rig.pass(100);
    assert.deepEqual(rig.watch.alerting.list().alerts, []);
    rig.take([{ exporter: "198.51.100.1" }, { exporter: "198.51.100.2" }]);
    for (let i = 0; i < 7; i++) {
      rig.pass(10);
      rig.take([{ exporter: "198.51.100.2" }]);
    }
    rig.pass(1);
    assert.deepEqual(
      rig.in("firing").map(({ key }) => key["flow.export.ip.addr"]),
      ["198.51.100.1"],
    );
    rig.take([{ exporter: "198.51.100.1" }]);
    rig.pass(1);
    assert.deepEqual(rig.in("firing"), []);
  });

  test("below a limit: not before a whole window was seen", async (t) => {
    const rig = await startWatch(t, "rules:\n  - {name: quiet, measure: packets_per_second, when: '< 5 for 20s'}\n");
    for (let second = 0; second < 40; second++) {
      rig.take([{ packets: 10 }]);
      rig.pass(1);
    }
    assert.deepEqual(rig.watch.alerting.list().alerts, []);
    rig.pass(27);
    assert.equal(rig.in("firing").length, 1);
  });

  test("a clock that is set is neither a flood nor a silence", async (t) => {
    const silent = "  - {name: silent, by: [exporter], measure: flows_per_second, when: silent for 1m}\n";
    const rig = await startWatch(t, flood(silent));
    for (const hours of [-5, 10, -5]) {
      rig.setClock(3600 * hours);
      for (let second = 0; second < 120; second++) {
        rig.take([{ bytes: megabits(7) }]);
        rig.pass(1);
      }
      assert.deepEqual(rig.watch.alerting.list().alerts, []);
    }
    rig.setClock(-3600);
    for (let second = 0; second < 12; second++) {
      rig.take([{ bytes: megabits(9) }]);
      rig.pass(1);
    }
    const [alert] = rig.in("firing");
    assert.ok(Math.abs((alert?.since ?? 0) - rig.now()) < 60_000);
  });

  test("an exporter that is silent over a restart is still silent", async (t) => {
    const rules = "rules:\n  - {name: silent, by: [exporter], measure: flows_per_second, when: silent for 1m}\n";
    const before = await startWatch(t, rules);
    before.take([{}]);
    before.pass(70);
    const [alert] = before.in("firing");
    await before.watch.stop();
    const after = await startWatch(t, rules, { directory: before.directory });
    after.pass(5);
    assert.deepEqual(
      after.in("firing").map(({ id, since }) => [id, since]),
      [[alert?.id, alert?.since]],
    );
    after.take([{}]);
    after.pass(1);
    assert.deepEqual(after.in("firing"), []);
  });

  test("few different values: not before a whole window was seen", async (t) => {
    const rig = await startWatch(
      t,
      "rules:\n  - {name: few, by: [src], measure: distinct flow.dst.l4.port.id, over: 10s, when: '< 5'}\n",
    );
    for (let second = 0; second < 9; second++) {
      rig.take([{}]);
      rig.pass(1);
    }
    assert.deepEqual(rig.watch.alerting.list().alerts, []);
    rig.take([{}]);
    rig.pass(1);
    assert.equal(rig.in("firing").length, 1);
  });

  test("keys of any text: long ones are cut, and none is taken for two", async (t) => {
    const rig = await startWatch(t, flood().replace("flow.dst.ip.addr", "flow.export.host.name"));
    const names = ["a\0b", "x".repeat(60_000)];
    for (let second = 0; second < 12; second++) {
      rig.take(names.map((name) => ({ bytes: megabits(10), extra: { "flow.export.host.name": name } })));
      rig.pass(1);
    }
    assert.deepEqual(
      new Set(rig.in("firing").map(({ key }) => key["flow.export.host.name"])),
      new Set(["a\ufffdb", "x".repeat(256)]),
    );
  });

  test("a large source among very many small ones is seen", async (t) => {
    const rig = await startWatch(t, flood());
    for (let second = 0; second < 12; second++) {
      const small = Array.from({ length: 1000 }, (_, i) => ({ src: `10.${second}.${i >> 8}.${i & 255}`, bytes: 100 }));
      rig.take([...small, { src: "203.0.113.7", bytes: megabits(10) }]);
      rig.pass(1);
    }
    assert.equal(rig.in("firing")[0]?.top["flow.src.ip.addr"]?.[0]?.value, "203.0.113.7");
  });

  test("a filter, and records that are no flows", async (t) => {
    const rig = await startWatch(t, flood("    filter: 'dst in 192.0.2.0/24 and dst.port = 53'\n"));
    for (let second = 0; second < 12; second++) {
      rig.take([
        { dst: "192.0.2.1", port: 53, bytes: megabits(10) },
        { dst: "192.0.2.2", port: 80, bytes: megabits(10) },
        { dst: "192.0.3.1", port: 53, bytes: megabits(10) },
        { dst: "192.0.2.4", port: 53, bytes: megabits(10), extra: { "flow.record.type": "rollup" } },
      ]);
      rig.pass(1);
    }
    assert.deepEqual(
      rig.in("firing").map(({ key }) => key),
      [{ "flow.dst.ip.addr": "192.0.2.1" }],
    );
  });

  test("more keys than there may be are counted, and keys that are over make room", async (t) => {
    const rig = await startWatch(t, flood(), { maxKeys: 1000 });
    const many = (from: number): TestFlow[] =>
      Array.from({ length: 1500 }, (_, i) => ({ dst: `10.${from}.${i >> 8}.${i & 255}` }));
    rig.take(many(1));
    assert.equal(await rig.metric("netgloss_watch_refused_records_total"), 500);
    rig.pass(120);
    assert.equal(await rig.metric("netgloss_watch_keys"), 0);
    rig.take(many(2).slice(0, 1000));
    assert.equal(await rig.metric("netgloss_watch_refused_records_total"), 500);
  });
});

describe("the file of rules", () => {
  const faults = (text: string): readonly string[] => {
    try {
      parseWatchFile("watch.yml", text, [], false);
      return [];
    } catch (error) {
      assert.ok(error instanceof WatchFileError);
      return error.faults;
    }
  };

  test("names each fault with its place", () => {
    assert.deepEqual(
      faults(
        "rules:\n  - name: a\n    by: [flow.dst.ip.addr, nope]\n    measure: bits\n    when: '>> 5'\n  - name: b\n    filter: 'src = '\n    measure: flows_per_second\n    when: silent for 5m\n    foo: 1\nactions:\n  x: {webhook: {url: 'http://user:secret@host'}}\n",
      ),
      [
        'watch.yml:3:28: rule 1: by 2: there is no field "nope" (did you mean "type"?)',
        'watch.yml:4:14: rule 1: measure: expected bits_per_second, packets_per_second, flows_per_second, share_of_bits, share_of_packets, share_of_flows, beats, records, or distinct <field>; found "bits"',
        'watch.yml:5:11: rule 1: when: expected such as `> 500M for 20s`, `> 4 x usual`, `> 90 % of speed for 5m`, `silent for 5m` or `new`; found ">> 5"',
        'watch.yml:7:13: rule 2: filter: expected a value, column 7 of "src = "',
        "watch.yml:10:5: rule 2: foo: unknown key, expected one of name, of, filter, by, measure, over, when, clear, least, say, act",
        "watch.yml:12:22: action x: webhook: url: expected an address such as https://host/path, without credentials",
      ],
    );
    assert.deepEqual(faults(`${flood("    act: [nco]\n")}actions:\n  noc: {webhook: {url: 'http://host'}}\n`), [
      'watch.yml:2:5: rule 1: act: there is no action "nco" (did you mean "noc"?)',
    ]);
    assert.match(
      faults(flood().replace(/by: \[[^\]]+\]/, "by: [dst, dst/24]"))[0] ?? "",
      /rule 1: by has flow\.dst\.ip\.addr twice$/,
    );
  });

  test("a broken one changes nothing; a removed rule ends its alerts", async (t) => {
    const rig = await startWatch(t, flood());
    const feed = (): void => {
      for (let second = 0; second < 12; second++) {
        rig.take([{ bytes: megabits(10) }]);
        rig.pass(1);
      }
    };
    feed();
    await rig.write("rules: 5\n");
    assert.match(rig.faults.at(-1) ?? "", /watch\.yml:1:8: .*: the rules read before stay$/);
    feed();
    assert.equal(rig.in("firing").length, 1);
    await rig.write(flood().replace("name: flood", "name: other"));
    assert.equal(rig.faults.at(-1), undefined);
    assert.deepEqual(
      rig.in("cleared").map(({ because }) => because),
      ["its rule was removed"],
    );
    assert.deepEqual(
      rig.watch.status().rules.map(({ name }) => name),
      ["other"],
    );
  });
});

describe("actions", () => {
  const acting = (url: string, action = `webhook: {url: '${url}', secret: 'a secret of some length'}`): string =>
    `${flood("    act: [noc]\n")}actions:\n  noc: {${action}}\n`;

  async function fire(rig: Awaited<ReturnType<typeof startWatch>>): Promise<void> {
    for (let second = 0; second < 12; second++) {
      rig.take([{ bytes: megabits(10) }]);
      rig.pass(1);
    }
    assert.equal(rig.in("firing").length, 1);
  }

  test("a webhook that fails gets the notice once it works, once and signed", async (t) => {
    const receiver = await startReceiver(t);
    receiver.status = 503;
    const rig = await startWatch(t, acting(receiver.url));
    await fire(rig);
    await until("a try", () => receiver.received.length > 0);
    receiver.status = 200;
    await until("success", () => rig.watch.status().actions[0]?.sent === 1);
    const last = receiver.received.at(-1);
    const [, seconds, hash] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(String(last?.headers["netgloss-signature"])) ?? [];
    const right = createHmac("sha256", "a secret of some length").update(`${seconds}.${last?.body}`).digest("hex");
    assert.equal(hash, right);
    const { notices } = JSON.parse(last?.body ?? "") as { notices: { id: string; kind: string }[] };
    assert.deepEqual(
      notices.map(({ kind }) => kind),
      ["firing"],
    );
    const tries = receiver.received.length;
    rig.pass(5);
    await new Promise((resolve) => setTimeout(resolve, 50));
    assert.equal(receiver.received.length, tries);
  });

  test("an Alertmanager is told again while the alert fires, and of its end", async (t) => {
    const receiver = await startReceiver(t);
    const rig = await startWatch(t, acting("", `alertmanager: {url: '${receiver.url}'}`));
    await fire(rig);
    // While a notice is under way its alert is not told of again: what the receiver has got, the collector may not know to be taken.
    const isSent = (count: number): boolean => rig.watch.status().actions[0]?.sent === count;
    await until("the first", () => isSent(1));
    rig.pass(61);
    await until("the second", () => isSent(2));
    rig.pass(30);
    await until("the end", () => receiver.received.length >= 3);
    const [first, , last] = receiver.received.map(({ path, body }) => {
      assert.equal(path, "/api/v2/alerts");
      return (JSON.parse(body) as { labels: Record<string, string>; startsAt: string; endsAt: string }[])[0];
    });
    assert.deepEqual(first?.labels, { alertname: "flood", flow_dst_ip_addr: "192.0.2.1" });
    assert.ok(Date.parse(first?.endsAt ?? "") > rig.now() - 60_000);
    assert.ok(Date.parse(last?.endsAt ?? "") <= rig.now());
    assert.equal(first?.startsAt, last?.startsAt);
  });

  test("alerts and notices outlive a restart: none is forgotten, none fires twice", async (t) => {
    const receiver = await startReceiver(t);
    receiver.status = 500;
    const before = await startWatch(t, acting(receiver.url));
    await fire(before);
    await until("a try", () => receiver.received.length > 0);
    const [alert] = before.in("firing");
    await before.watch.stop();
    receiver.status = 200;
    const after = await startWatch(t, acting(receiver.url), { directory: before.directory });
    assert.deepEqual(
      after.in("firing").map(({ id }) => id),
      [alert?.id],
    );
    await until("the notice", () => after.watch.status().actions[0]?.sent === 1);
    after.take([{ bytes: megabits(100) }]);
    after.pass(10);
    assert.deepEqual(after.records, []);
    after.pass(90);
    assert.deepEqual(
      after.in("cleared").map(({ id }) => id),
      [alert?.id],
    );
  });

  test("notices outlive a run whose file of rules is broken", async (t) => {
    const receiver = await startReceiver(t);
    receiver.status = 500;
    const before = await startWatch(t, acting(receiver.url));
    await fire(before);
    await before.watch.stop();
    const between = await startWatch(t, "rules: 5\n", { directory: before.directory });
    between.pass(1);
    await between.watch.stop();
    const after = await startWatch(t, "rules: 5\n", { directory: before.directory });
    receiver.status = 200;
    await after.write(acting(receiver.url));
    await until("the notice", () => after.watch.status().actions[0]?.sent === 1);
  });

  test("a receiver that refuses what is long gets fewer at once", async (t) => {
    const receiver = await startReceiver(t);
    receiver.longest = 20_000;
    const rig = await startWatch(t, acting(receiver.url));
    for (let second = 0; second < 12; second++) {
      rig.take(Array.from({ length: 60 }, (_, i) => ({ dst: `192.0.2.${i}`, bytes: megabits(10) })));
      rig.pass(1);
    }
    assert.equal(rig.in("firing").length, 60);
    await until("all", () => rig.watch.status().actions[0]?.sent === 60);
  });

  test("a test says what is wrong, and who has seen an alert is kept", async (t) => {
    const receiver = await startReceiver(t);
    const rig = await startWatch(t, acting(receiver.url));
    assert.equal(await rig.watch.alerting.test("noc"), true);
    assert.equal(await rig.watch.alerting.test("nobody"), undefined);
    receiver.status = 401;
    await assert.rejects(rig.watch.alerting.test("noc"), /refuses the credentials: 401/);
    receiver.status = 200;
    await fire(rig);
    const id = rig.in("firing")[0]?.id ?? "";
    assert.equal(rig.watch.alerting.acknowledge(id, "alice")?.acknowledged?.by, "alice");
    assert.equal(rig.watch.alerting.acknowledge(id, "bob")?.acknowledged?.by, "alice");
    assert.equal(rig.watch.alerting.acknowledge("none", "bob"), undefined);
  });
});
