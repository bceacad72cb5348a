import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test, type TestContext } from "node:test";
import { AnswerRefusal, openSpeaker, parseWatchFile, WatchFileError, type Answer } from "../../src/watch/index.ts";
import { faultFileIo } from "../support/fault-file-io.ts";
import { memoryFileIo, type MemoryFileIo } from "../support/memory-file-io.ts";
import { tempDirectory } from "../support/temp-directory.ts";
import { until } from "../support/until.ts";
import { startWatch, type WatchRig } from "./watch-rig.ts";

type Route = Answer["routes"][number];

const rules = (more = ""): string => `speakers:
  edge: {gobgp: {url: "http://127.0.0.1:1"}}
actions:
  rtbh: {blackhole: {speaker: edge, next_hop: 192.0.2.66, next_hop6: "2001:db8::66"}}
rules:
  - name: flood
    by: [flow.dst.ip.addr]
    measure: bits_per_second
    over: 10s
    when: '> 8M for 5s'
    clear: '< 4M for 10s'
    act: [rtbh]
${more}`;

/** A speaker that holds routes as a router would, and fails when the test says so. */
class FakeSpeaker {
  /** Prefixes that routers have. */
  readonly table = new Set<string>();
  readonly calls: string[] = [];
  /** Numbers of calls that fail, from 1; what they were to do is done where it is "after". */
  readonly faults = new Map<number, "before" | "after">();
  isAway = false;
  /** Is asked before each announcement. */
  onAnnounce: (route: Route) => void = () => {};

  readonly open = (): Promise<{
    announce: (route: Route) => Promise<void>;
    withdraw: (route: Route) => Promise<void>;
    close: () => void;
  }> =>
    Promise.resolve({
      announce: (route) => {
        this.onAnnounce(route);
        return this.#call(`announce ${route.prefix}`, () => this.table.add(route.prefix));
      },
      withdraw: (route) => this.#call(`withdraw ${route.prefix}`, () => this.table.delete(route.prefix)),
      close: () => {},
    });

  async #call(name: string, act: () => unknown): Promise<void> {
    this.calls.push(name);
    const fault = this.faults.get(this.calls.length);
    if (!this.isAway && fault !== "before") act();
    await Promise.resolve();
    if (this.isAway || fault !== undefined) throw new Error("the speaker is away");
  }
}

/** Lets a flood go on for some seconds, and each second settle. */
async function flood(rig: WatchRig, seconds: number, ...destinations: string[]): Promise<void> {
  for (let i = 0; i < seconds; i++) {
    rig.take(destinations.map((dst) => ({ dst, bytes: 2_000_000 })));
    rig.pass(1);
    await settled();
  }
}

/** What speakers and the disk were asked for has been done. */
async function settled(): Promise<void> {
  for (let i = 0; i < 30; i++) await new Promise((resolve) => setImmediate(resolve));
}

async function quiet(rig: WatchRig, seconds: number): Promise<void> {
  for (let i = 0; i < seconds; i++) {
    rig.pass(1);
    await settled();
  }
}

const statesOf = (rig: WatchRig): readonly string[] => rig.watch.answers().map(({ state }) => state);

const start = (t: TestContext, speaker: FakeSpeaker, answers: object, more: object = {}): Promise<WatchRig> =>
  startWatch(t, rules(), { answers, openSpeaker: speaker.open, memory: memoryFileIo(), ...more });

const journal = "/memory/answers.json";
const kept = (memory: MemoryFileIo): readonly Answer[] =>
  (JSON.parse(memory.text(journal) ?? '{"answers":[]}') as { answers: Answer[] }).answers;

describe("answers", () => {
  test("a dry run shows what would be announced, and nothing is", async (t) => {
    const speaker = new FakeSpeaker();
    const rig = await start(t, speaker, {});
    await flood(rig, 12, "192.0.2.1");
    const [answer] = rig.watch.answers();
    assert.equal(answer?.state, "proposed");
    assert.equal(answer.text, "all packets to 192.0.2.1/32 to 192.0.2.66");
    assert.deepEqual(answer.routes[0]?.communities, ["65535:666"]);
    assert.throws(() => rig.watch.allow(answer.id, "ann"), /SVC_WATCH_ANSWERS is dry-run/);
    assert.deepEqual(speaker.calls, []);
    await quiet(rig, 30);
    assert.deepEqual(statesOf(rig), ["ended"]);
  });

  test("what is allowed is announced, written down before, renewed while the alert fires, and withdrawn when it is over", async (t) => {
    const speaker = new FakeSpeaker();
    const memory = memoryFileIo();
    const rig = await start(t, speaker, { mode: "approve", limitMs: 60_000 }, { memory });
    speaker.onAnnounce = ({ prefix }) => {
      const written = kept(memory.afterPowerLoss("synced")).find(({ routes }) => routes[0]?.prefix === prefix);
      assert.ok(written?.state === "announcing" || written?.state === "announced");
      assert.deepEqual(
        written.allowed.map(({ by }) => by),
        ["ann"],
      );
    };
    await flood(rig, 12, "192.0.2.1");
    const id = rig.watch.answers()[0]?.id ?? "";
    assert.equal(rig.watch.allow("none", "ann"), undefined);
    rig.watch.allow(id, "ann");
    await settled();
    assert.deepEqual(statesOf(rig), ["announced"]);
    assert.deepEqual([...speaker.table], ["192.0.2.1/32"]);
    assert.throws(() => rig.watch.allow(id, "ann"), AnswerRefusal);
    await flood(rig, 100, "192.0.2.1");
    assert.equal(speaker.calls.filter((call) => call.startsWith("announce")).length, 4);
    assert.ok((rig.watch.answers()[0]?.endsAt ?? 0) > rig.now());
    await quiet(rig, 30);
    assert.deepEqual(statesOf(rig), ["ended"]);
    assert.deepEqual([...speaker.table], []);
    assert.equal(rig.watch.answers()[0]?.because, "the alert is over");
    assert.equal(await rig.metric("netgloss_watch_routes_announced_total"), 1);
    assert.equal(await rig.metric("netgloss_watch_routes_withdrawn_total"), 1);
  });

  test("two people have to allow it where that is set", async (t) => {
    const speaker = new FakeSpeaker();
    const rig = await start(t, speaker, { mode: "approve", approvals: 2 });
    await flood(rig, 12, "192.0.2.1");
    const id = rig.watch.answers()[0]?.id ?? "";
    assert.throws(() => rig.watch.allow(id, ""), /nobody signs in/);
    assert.equal(rig.watch.allow(id, "ann")?.state, "proposed");
    assert.throws(() => rig.watch.allow(id, "ann"), /another one has to/);
    await settled();
    assert.deepEqual(speaker.calls, []);
    rig.watch.allow(id, "bob");
    await settled();
    assert.deepEqual([...speaker.table], ["192.0.2.1/32"]);
  });

  test("what is withdrawn by hand stays withdrawn while the alert fires", async (t) => {
    const speaker = new FakeSpeaker();
    const rig = await start(t, speaker, { mode: "automatic" });
    await flood(rig, 12, "192.0.2.1");
    assert.deepEqual([...speaker.table], ["192.0.2.1/32"]);
    const [answer] = rig.watch.answers();
    assert.deepEqual(
      answer?.allowed.map(({ by }) => by),
      ["automatic"],
    );
    rig.watch.withdraw(answer.id, "ann");
    await flood(rig, 5, "192.0.2.1");
    assert.deepEqual([...speaker.table], []);
    assert.equal(rig.watch.answers().length, 1);
    assert.equal(rig.watch.answers()[0]?.endedBy, "ann");
    assert.throws(() => rig.watch.withdraw(answer.id, "ann"), /ended already/);
  });

  test("prefixes that are never announced, the cap, and addresses without a next hop", async (t) => {
    const speaker = new FakeSpeaker();
    const rig = await start(t, speaker, { mode: "automatic", maxRoutes: 2, never: ["192.0.2.0/30"] });
    await flood(rig, 12, "192.0.2.1", "192.0.2.4", "2001:db8::1", "192.0.2.5");
    const byPrefix = (prefix: string): Answer | undefined =>
      rig.watch.answers().find(({ routes }) => routes[0]?.prefix === prefix);
    assert.match(byPrefix("192.0.2.1/32")?.because ?? "", /SVC_WATCH_ANSWERS_NEVER has 192\.0\.2\.0\/30/);
    assert.equal(byPrefix("192.0.2.1/32")?.state, "refused");
    assert.equal(speaker.table.size, 2);
    const waiting = rig.watch.answers().find(({ state }) => state === "proposed");
    assert.match(waiting?.because ?? "", /SVC_WATCH_ANSWERS_MAX_ROUTES is 2/);
    // There is room when another one ends.
    const one = rig.watch.answers().find(({ state }) => state === "announced");
    rig.watch.withdraw(one?.id ?? "", "ann");
    await flood(rig, 2, "192.0.2.1", "192.0.2.4", "2001:db8::1", "192.0.2.5");
    assert.equal(rig.watch.answers().find(({ id }) => id === waiting?.id)?.state, "announced");
    assert.equal(speaker.table.size, 2);
    assert.equal(await rig.metric("netgloss_watch_answers_refused_total"), 1);
  });

  test("a speaker that is away is asked again, and what it may have taken is withdrawn", async (t) => {
    const speaker = new FakeSpeaker();
    speaker.isAway = true;
    const rig = await start(t, speaker, { mode: "automatic" });
    await flood(rig, 12, "192.0.2.1");
    assert.match(rig.faults.at(-1) ?? "", /announcing: .*the speaker is away/);
    await quiet(rig, 40);
    assert.deepEqual(statesOf(rig), ["withdrawing"]);
    speaker.isAway = false;
    await quiet(rig, 61);
    assert.deepEqual(statesOf(rig), ["ended"]);
    assert.equal(rig.faults.at(-1), undefined);
    assert.ok((await rig.metric("netgloss_watch_speaker_failures_total")) > 2);
  });

  test("two rules with one destination: the route ends with the last of them", async (t) => {
    const speaker = new FakeSpeaker();
    const second = `  - {name: packets, by: [flow.dst.ip.addr], measure: packets_per_second, over: 10s, when: '> 2 for 5s', clear: '< 1 for 5s', act: [rtbh]}\n`;
    const memory = memoryFileIo();
    const answers = { mode: "automatic" } as const;
    const rig = await startWatch(t, rules(second), { answers, openSpeaker: speaker.open, memory });
    for (let i = 0; i < 15; i++) {
      rig.take([{ dst: "192.0.2.1", bytes: 2_000_000, packets: 100 }]);
      rig.pass(1);
      await settled();
    }
    assert.deepEqual(statesOf(rig), ["announced", "announced"]);
    for (let i = 0; i < 30; i++) {
      rig.take([{ dst: "192.0.2.1", bytes: 2_000_000, packets: 0 }]);
      rig.pass(1);
      await settled();
    }
    assert.deepEqual(new Set(statesOf(rig)), new Set(["announced", "ended"]));
    assert.deepEqual([...speaker.table], ["192.0.2.1/32"]);
    await quiet(rig, 40);
    assert.deepEqual([...speaker.table], []);
  });

  test("a stop withdraws, a rule that is removed withdraws", async (t) => {
    const speaker = new FakeSpeaker();
    const memory = memoryFileIo();
    const rig = await start(t, speaker, { mode: "automatic" }, { memory });
    await flood(rig, 12, "192.0.2.1");
    await rig.watch.stop();
    assert.deepEqual([...speaker.table], []);
    const next = await start(t, speaker, { mode: "automatic" }, { memory });
    await flood(next, 3, "192.0.2.1");
    assert.deepEqual([...speaker.table], ["192.0.2.1/32"], "the alert of before fires on");
    await next.write("rules: []\n");
    await quiet(next, 2);
    assert.deepEqual([...speaker.table], []);
  });
});

/** Each call that can fail in a life of an answer does, once before and once after it has its effect; then the collector is killed. */
test("whatever fails, and whenever the collector is killed: nothing is announced that is not known, and it is withdrawn at the next start", async (t) => {
  const lives: { readonly kill: number; readonly fault?: "before" | "after" }[] = [];
  for (let kill = 1; kill <= 24; kill++) lives.push({ kill }, { kill, fault: "before" }, { kill, fault: "after" });
  let killed = 0;
  for (const { kill, fault } of lives) {
    const memory = memoryFileIo();
    const speaker = new FakeSpeaker();
    if (fault !== undefined) speaker.faults.set(1, fault);
    // From this call of the disk on the process is dead: nothing reaches the disk or the speaker any more.
    let calls = 0;
    let isDead = false;
    const io = faultFileIo(memory, (name) => {
      if (!isDead && name !== "read" && name !== "state" && ++calls >= kill) isDead = true;
      return isDead ? "EIO" : undefined;
    });
    const mortal = {
      open: async () => {
        const open = await speaker.open();
        const alive = (act: (route: Route) => Promise<void>) => (route: Route) =>
          isDead ? Promise.reject(new Error("dead")) : act(route);
        return { announce: alive(open.announce), withdraw: alive(open.withdraw), close: open.close };
      },
    };
    const answers = { mode: "automatic" } as const;
    const rig = await startWatch(t, rules(), { memory, io, answers, openSpeaker: mortal.open });
    await flood(rig, 10, "192.0.2.1");
    await quiet(rig, 25);
    if (isDead) killed++;
    isDead = true;
    await rig.watch.stop();
    // The host may have lost its power, too.
    const left = memory.afterPowerLoss("synced");
    const isKnown = kept(left).some(
      ({ routes, state }) => routes.length > 0 && state !== "proposed" && state !== "ended",
    );
    assert.ok(speaker.table.size === 0 || isKnown, `killed at ${kill}, fault ${fault ?? "none"}`);
    speaker.faults.clear();
    const next = await startWatch(t, "rules: []\n", { memory: left, openSpeaker: speaker.open });
    await quiet(next, 2);
    assert.deepEqual([...speaker.table], [], `killed at ${kill}, fault ${fault ?? "none"}`);
    await next.watch.stop();
  }
  assert.ok(killed > 20, String(killed));
});

test("a journal that cannot be written, or read, keeps everything from being announced", async (t) => {
  const speaker = new FakeSpeaker();
  let isFull = true;
  const memory = memoryFileIo();
  const io = faultFileIo(memory, (name) => (isFull && name.startsWith("create") ? "ENOSPC" : undefined));
  const rig = await start(t, speaker, { mode: "automatic" }, { memory, io });
  await flood(rig, 12, "192.0.2.1");
  assert.deepEqual(speaker.calls, []);
  assert.match(rig.faults.at(-1) ?? "", /cannot be written down, so nothing is announced/);
  isFull = false;
  await flood(rig, 3, "192.0.2.1");
  assert.deepEqual([...speaker.table], ["192.0.2.1/32"]);
  await rig.watch.stop();
  memory.put(journal, "{}");
  const next = await start(t, speaker, { mode: "automatic" }, { memory });
  const before = speaker.calls.length;
  await flood(next, 3, "192.0.2.1");
  assert.equal(speaker.calls.length, before);
  assert.match(next.faults.join(), /no file of answers of version 1/);
  await next.watch.stop();
  assert.equal(memory.text(journal), "{}");
});

describe("a file with answers", () => {
  const faultsOf = (text: string): readonly string[] => {
    try {
      parseWatchFile("watch.yml", text, [], true);
      return [];
    } catch (error) {
      assert.ok(error instanceof WatchFileError);
      return error.faults;
    }
  };
  test("names what is wrong", () => {
    const cases: readonly (readonly [string, string, RegExp])[] = [
      ["speaker: edge,", "speaker: egde,", /action rtbh: there is no speaker "egde" \(did you mean "edge"\?\)/],
      ["next_hop: 192.0.2.66", "next_hop: 2001:db8::1", /next_hop: expected an address of IPv4/],
      [`next_hop: 192.0.2.66, next_hop6: "2001:db8::66"`, "communities: []", /expected next_hop or next_hop6/],
      [
        "next_hop: 192.0.2.66",
        "communities: [70000:1], next_hop: 192.0.2.66",
        /expected a community such as 65535:666/,
      ],
      ["by: [flow.dst.ip.addr]", "by: [flow.src.ip.addr]", /act: rtbh: a blackhole needs flow\.dst\.ip\.addr/],
      ["'> 8M for 5s'", "'< 8M for 5s'", /act: rtbh: only what is above a limit is answered/],
      [
        `gobgp: {url: "http://127.0.0.1:1"}`,
        `gobgp: {url: "http://u:p@h/"}`,
        /expected an address such as http:\/\/127\.0\.0\.1:50051/,
      ],
      [
        `gobgp: {url: "http://127.0.0.1:1"}`,
        "command: {announce: [sh], withdraw: [/bin/true]}",
        /expected the absolute path of a program first/,
      ],
      [
        `gobgp: {url: "http://127.0.0.1:1"}`,
        "command: {announce: [/bin/true, '{nxt}'], withdraw: [/bin/true]}",
        /there is no \{nxt\}/,
      ],
    ];
    assert.deepEqual(faultsOf(rules()), []);
    for (const [from, to, expected] of cases) assert.match(faultsOf(rules().replace(from, to)).join("\n"), expected);
  });
});

test("a program announces: arguments are replaced, nothing is a shell's, its failure is told", async (t) => {
  const out = join(tempDirectory(t), "out");
  const script = `process.stdin.on("data", (d) => require("fs").appendFileSync(process.argv[1], JSON.stringify([process.argv.slice(2), JSON.parse(d)]) + "\\n")); if (process.argv[2] === "bad") { console.error("no session"); process.exit(3); }`;
  const argv = (...rest: string[]): string[] => [process.execPath, "-e", script, out, ...rest];
  const config = {
    command: { announce: argv("announce {exabgp}", "{prefix};$(id)", "{bird}"), withdraw: argv("bad") },
  };
  await assert.rejects(openSpeaker(config, false), /SVC_WATCH_COMMANDS_ENABLE/);
  const speaker = await openSpeaker(config, true);
  const route: Route = {
    kind: "flowspec",
    prefix: "192.0.2.1/32",
    communities: [],
    match: { protocol: 17, sourcePorts: [11_211], packetLength: { from: 1000, to: 1500 } },
    bytesPerSecond: 0,
  };
  await speaker.announce(route, AbortSignal.timeout(20_000));
  await until("the program has written", () => readFileSync(out, "utf8").endsWith("\n"));
  assert.deepEqual(JSON.parse(readFileSync(out, "utf8")), [
    [
      "announce flow route { match { destination 192.0.2.1/32; protocol =17; source-port =11211; packet-length >=1000&<=1500; } then { discard; } }",
      "192.0.2.1/32;$(id)",
      "route flow4 { dst 192.0.2.1/32; proto 17; sport 11211; length 1000..1500; };",
    ],
    route,
  ]);
  await assert.rejects(speaker.withdraw(route, AbortSignal.timeout(20_000)), /ended with 3: no session/);
});
