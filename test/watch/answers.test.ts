import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test, type TestContext } from "node:test";
import {
  AnswerRefusal,
  openSpeaker,
  parseWatchFile,
  WatchFileError,
  type Answer,
  type WatchSurroundings,
} from "../../src/watch/index.ts";
import { faultFileIo } from "../support/fault-file-io.ts";
import { memoryFileIo, type MemoryFileIo } from "../support/memory-file-io.ts";
import { tempDirectory } from "../support/temp-directory.ts";
import { until } from "../support/until.ts";
import { startWatch, type WatchRig } from "./watch-rig.ts";

type Route = Answer["routes"][number];
type Open = WatchSurroundings["openSpeaker"];

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

const statesOf = (rig: WatchRig): readonly string[] => rig.watch.answers.list().map(({ state }) => state);

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
    const [answer] = rig.watch.answers.list();
    assert.equal(answer?.state, "proposed");
    assert.equal(answer.text, "all packets to 192.0.2.1/32 to 192.0.2.66");
    assert.deepEqual(answer.routes[0]?.communities, ["65535:666"]);
    assert.throws(() => rig.watch.answers.allow(answer.id, "ann"), /SVC_WATCH_ANSWERS is dry-run/);
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
    const id = rig.watch.answers.list()[0]?.id ?? "";
    assert.equal(rig.watch.answers.allow("none", "ann"), undefined);
    rig.watch.answers.allow(id, "ann");
    await settled();
    assert.deepEqual(statesOf(rig), ["announced"]);
    assert.deepEqual([...speaker.table], ["192.0.2.1/32"]);
    assert.throws(() => rig.watch.answers.allow(id, "ann"), AnswerRefusal);
    await flood(rig, 100, "192.0.2.1");
    assert.equal(speaker.calls.filter((call) => call.startsWith("announce")).length, 4);
    assert.ok((rig.watch.answers.list()[0]?.endsAt ?? 0) > rig.now());
    await quiet(rig, 30);
    assert.deepEqual(statesOf(rig), ["ended"]);
    assert.deepEqual([...speaker.table], []);
    assert.equal(rig.watch.answers.list()[0]?.because, "the alert is over");
    assert.equal(await rig.metric("netgloss_watch_routes_announced_total"), 1);
    assert.equal(await rig.metric("netgloss_watch_routes_withdrawn_total"), 1);
  });

  test("two people have to allow it where that is set", async (t) => {
    const speaker = new FakeSpeaker();
    const rig = await start(t, speaker, { mode: "approve", approvals: 2 });
    await flood(rig, 12, "192.0.2.1");
    const id = rig.watch.answers.list()[0]?.id ?? "";
    assert.throws(() => rig.watch.answers.allow(id, ""), /nobody signs in/);
    assert.equal(rig.watch.answers.allow(id, "ann")?.state, "proposed");
    assert.throws(() => rig.watch.answers.allow(id, "ann"), /another one has to/);
    assert.throws(() => rig.watch.answers.allow(id, "anns-token", false), /a token is none/);
    await settled();
    assert.deepEqual(speaker.calls, []);
    rig.watch.answers.allow(id, "bob");
    await settled();
    assert.deepEqual([...speaker.table], ["192.0.2.1/32"]);
  });

  test("what is withdrawn by hand stays withdrawn while the alert fires", async (t) => {
    const speaker = new FakeSpeaker();
    const rig = await start(t, speaker, { mode: "automatic" });
    await flood(rig, 12, "192.0.2.1");
    assert.deepEqual([...speaker.table], ["192.0.2.1/32"]);
    const [answer] = rig.watch.answers.list();
    assert.deepEqual(
      answer?.allowed.map(({ by }) => by),
      ["automatic"],
    );
    rig.watch.answers.withdraw(answer.id, "ann");
    await flood(rig, 5, "192.0.2.1");
    assert.deepEqual([...speaker.table], []);
    assert.equal(rig.watch.answers.list().length, 1);
    assert.equal(rig.watch.answers.list()[0]?.endedBy, "ann");
    assert.throws(() => rig.watch.answers.withdraw(answer.id, "ann"), /ended already/);
  });

  test("prefixes that are never announced, the cap, and addresses without a next hop", async (t) => {
    const speaker = new FakeSpeaker();
    const rig = await start(t, speaker, { mode: "automatic", maxRoutes: 2, never: ["192.0.2.0/30"] });
    await flood(rig, 12, "192.0.2.1", "192.0.2.4", "2001:db8::1", "192.0.2.5");
    const byPrefix = (prefix: string): Answer | undefined =>
      rig.watch.answers.list().find(({ routes }) => routes[0]?.prefix === prefix);
    assert.match(byPrefix("192.0.2.1/32")?.because ?? "", /SVC_WATCH_ANSWERS_NEVER has 192\.0\.2\.0\/30/);
    assert.equal(byPrefix("192.0.2.1/32")?.state, "refused");
    assert.equal(speaker.table.size, 2);
    const waiting = rig.watch.answers.list().find(({ state }) => state === "proposed");
    assert.match(waiting?.because ?? "", /SVC_WATCH_ANSWERS_MAX_ROUTES is 2/);
    // There is room when another one ends.
    const one = rig.watch.answers.list().find(({ state }) => state === "announced");
    rig.watch.answers.withdraw(one?.id ?? "", "ann");
    await flood(rig, 2, "192.0.2.1", "192.0.2.4", "2001:db8::1", "192.0.2.5");
    assert.equal(rig.watch.answers.list().find(({ id }) => id === waiting?.id)?.state, "announced");
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

  test("the last of two answers announces the route again as it has it", async (t) => {
    const own = rules()
      .replace("actions:", "actions:\n  other: {blackhole: {speaker: edge, next_hop: 192.0.2.67}}")
      .replace("act: [rtbh]", "act: [rtbh, other]");
    const hops: string[] = [];
    const speaker = new FakeSpeaker();
    speaker.onAnnounce = ({ nextHop = "" }) => hops.push(nextHop);
    const answers = { mode: "automatic" } as const;
    const rig = await startWatch(t, own, { answers, openSpeaker: speaker.open, memory: memoryFileIo() });
    await flood(rig, 12, "192.0.2.1");
    assert.deepEqual(hops, ["192.0.2.66", "192.0.2.67"]);
    const other = rig.watch.answers.list().find(({ action }) => action === "other");
    rig.watch.answers.withdraw(other?.id ?? "", "ann");
    await settled();
    assert.deepEqual([...speaker.table], ["192.0.2.1/32"]);
    assert.equal(hops.at(-1), "192.0.2.66");
  });

  test("a speaker that gets another address: the route of before is withdrawn where it is", async (t) => {
    const speakers = new Map<string, FakeSpeaker>();
    const open: Open = ({ gobgp }) => {
      const url = gobgp?.url ?? "";
      const speaker = speakers.get(url) ?? new FakeSpeaker();
      speakers.set(url, speaker);
      return speaker.open();
    };
    const answers = { mode: "automatic" } as const;
    const rig = await startWatch(t, rules(), { answers, openSpeaker: open, memory: memoryFileIo() });
    await flood(rig, 12, "192.0.2.1");
    const moved = rules().replace("127.0.0.1:1", "127.0.0.1:2").replaceAll("rtbh", "again");
    await rig.write(moved);
    await flood(rig, 3, "192.0.2.1");
    assert.deepEqual([...(speakers.get("http://127.0.0.1:1")?.table ?? ["none"])], []);
    assert.deepEqual([...(speakers.get("http://127.0.0.1:2")?.table ?? [])], ["192.0.2.1/32"]);
  });

  test("a clock that is set back does not keep routes from being announced again", async (t) => {
    const speaker = new FakeSpeaker();
    const rig = await start(t, speaker, { mode: "automatic", limitMs: 60_000 });
    await flood(rig, 12, "192.0.2.1");
    rig.setClock(-86_400);
    await flood(rig, 40, "192.0.2.1");
    assert.ok(speaker.calls.length >= 2, speaker.calls.join());
    const endsAt = rig.watch.answers.list()[0]?.endsAt ?? 0;
    assert.ok(endsAt > rig.now() && endsAt <= rig.now() + 60_000);
  });

  test("what routers do not forward, and a next hop, is never announced; nor is more than a host blackholed", async (t) => {
    const speaker = new FakeSpeaker();
    const memory = memoryFileIo();
    const rig = await start(t, speaker, { mode: "automatic" }, { memory });
    const special = ["224.0.0.5", "255.255.255.255", "127.0.0.1", "169.254.1.1", "ff02::5", "fe80::1", "::1"];
    await flood(rig, 12, ...special, "192.0.2.66", "192.0.2.1");
    assert.deepEqual([...speaker.table], ["192.0.2.1/32"]);
    const refused = rig.watch.answers.list().filter(({ state }) => state === "refused");
    assert.equal(refused.length, special.length + 1);
    for (const { because = "" } of refused) assert.match(because, /forward nothing to|its own next hop/);
    await rig.watch.stop();
    for (const wide of ["0.0.0.0/0", "192.0.2.0/24", "::/0"]) {
      // As only a file of alerts that somebody wrote to has it.
      const left = memory.afterPowerLoss("synced");
      left.put(
        "/memory/alerts.json",
        (left.text("/memory/alerts.json") ?? "").replaceAll('"192.0.2.1"', JSON.stringify(wide)),
      );
      speaker.calls.length = 0;
      const next = await start(t, speaker, { mode: "automatic" }, { memory: left });
      await flood(next, 2, "198.51.100.1");
      assert.match(
        next.watch.answers.list().find(({ routes, state }) => routes[0]?.prefix === wide && state === "refused")
          ?.because ?? "",
        /is shorter than/,
        wide,
      );
      assert.deepEqual(speaker.calls, []);
      await next.watch.stop();
    }
  });

  test("what was withdrawn by hand stays so however many answers end after it", async (t) => {
    const speaker = new FakeSpeaker();
    const answers = { mode: "automatic", never: ["198.18.0.0/15"] } as const;
    const more = { answers, openSpeaker: speaker.open, memory: memoryFileIo(), maxKeys: 2000 };
    const rig = await startWatch(t, rules(), more);
    await flood(rig, 12, "192.0.2.1");
    rig.watch.answers.withdraw(rig.watch.answers.list()[0]?.id ?? "", "ann");
    const many = Array.from({ length: 1100 }, (_, i) => `198.18.${i >> 8}.${i & 255}`);
    await flood(rig, 14, "192.0.2.1", ...many);
    assert.equal(await rig.metric("netgloss_watch_answers_refused_total"), 1100);
    assert.deepEqual([...speaker.table], []);
    assert.equal(speaker.calls.filter((call) => call.startsWith("announce")).length, 1);
    // They are forgotten when their alerts are over.
    await quiet(rig, 25);
    assert.equal(rig.watch.answers.list().length, 1000);
  });

  test("a stop breaks off what hangs, and withdraws once more", async (t) => {
    const speaker = new FakeSpeaker();
    const reasons: unknown[] = [];
    const open: Open = async () => ({
      ...(await speaker.open()),
      async withdraw({ prefix }, signal) {
        if (reasons.length === 0)
          await new Promise((_, reject) =>
            signal.addEventListener("abort", () => {
              reasons.push(signal.reason);
              reject(signal.reason as Error);
            }),
          );
        speaker.table.delete(prefix);
      },
    });
    const more = { answers: { mode: "automatic" } as const, openSpeaker: open, memory: memoryFileIo() };
    const rig = await startWatch(t, rules(), more);
    await flood(rig, 12, "192.0.2.1");
    rig.watch.answers.withdraw(rig.watch.answers.list()[0]?.id ?? "", "ann");
    await settled();
    await rig.watch.stop();
    assert.match(String(reasons[0]), /the collector stops/);
    assert.deepEqual([...speaker.table], []);
    assert.deepEqual(statesOf(rig), ["ended"]);
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
  const whole = memory.text(journal) ?? "";
  const broken = [
    "",
    "{}",
    whole.slice(0, whole.length / 2),
    '{"version":1,"answers":[null]}',
    '{"version":1,"answers":[{"id":"a"}]}',
    whole.replaceAll(/"endsAt":\d+/g, '"endsAt":"soon"'),
    whole.replaceAll(/"state":"\w+"/g, '"state":"announcde"'),
    whole.replaceAll('"routes":[', '"routes":[null,'),
  ];
  for (const text of broken) {
    memory.put(journal, text);
    const next = await start(t, speaker, { mode: "automatic" }, { memory });
    const before: number = speaker.calls.length;
    await flood(next, 3, "192.0.2.1");
    assert.equal(speaker.calls.length, before, text);
    assert.match(next.faults.join(), /routes of the last run are not known, so none is announced/, text);
    await next.watch.stop();
    assert.equal(memory.text(journal), text);
  }
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
  test("names programs that are not allowed before there is an attack", () => {
    const text = rules().replace(/gobgp: .*"}/, "command: {announce: [/bin/true], withdraw: [/bin/true]}");
    assert.throws(() => parseWatchFile("watch.yml", text, []), /speaker edge: commands are off/);
    assert.deepEqual(faultsOf(text), []);
  });

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
