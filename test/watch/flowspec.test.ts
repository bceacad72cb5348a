import assert from "node:assert/strict";
import { describe, test, type TestContext } from "node:test";
import * as fc from "fast-check";
import type { Answer } from "../../src/watch/index.ts";
import { memoryFileIo } from "../support/memory-file-io.ts";
import { runs } from "../support/runs.ts";
import { startWatch, type TestFlow } from "./watch-rig.ts";

type Match = NonNullable<Answer["routes"][number]["match"]>;

/** A flow as routers see it: what a slow model of them needs. */
interface Flow {
  readonly src: string;
  readonly dst: string;
  readonly protocol: 1 | 6 | 17;
  /** Absent from a fragment. */
  readonly ports?: readonly [source: number, destination: number];
  readonly packets: number;
  /** Bytes of each packet. */
  readonly length: number;
  readonly flags?: number;
}

/** A small generator of numbers, the same for a seed (mulberry32). */
class Dice {
  #state: number;

  constructor(seed: number) {
    this.#state = seed;
  }

  /** A whole number. */
  roll(from: number, to: number): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return from + Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * (to - from + 1));
  }

  address(): string {
    return `${this.roll(1, 223)}.${this.roll(0, 255)}.${this.roll(0, 255)}.${this.roll(1, 254)}`;
  }
}

const victim = "192.0.2.10";
const [tcp, udp] = [6, 17] as const;

/** What goes to a host on an ordinary day. */
function ordinary(dice: Dice, dst: string): Flow {
  const src = dice.address();
  const high = dice.roll(32_768, 60_999);
  switch (dice.roll(0, 9)) {
    case 0:
      return { src, dst, protocol: udp, ports: [53, high], packets: 1, length: dice.roll(80, 400) };
    case 1:
      return { src, dst, protocol: udp, ports: [123, 123], packets: 1, length: 76 };
    case 2:
      return { src, dst, protocol: udp, ports: [high, 443], packets: dice.roll(5, 40), length: dice.roll(400, 1250) };
    case 3:
    case 4:
      return {
        src,
        dst,
        protocol: tcp,
        ports: [443, high],
        packets: dice.roll(20, 200),
        length: dice.roll(900, 1480),
        flags: 0x1a,
      };
    default:
      return {
        src,
        dst,
        protocol: tcp,
        ports: [high, 443],
        packets: dice.roll(8, 80),
        length: dice.roll(60, 700),
        flags: 0x1b,
      };
  }
}

const attacks: Readonly<Record<string, (dice: Dice) => Flow>> = {
  memcached: (dice) => ({
    src: dice.address(),
    dst: victim,
    protocol: udp,
    ports: [11_211, dice.roll(1024, 65_535)],
    packets: dice.roll(5, 50),
    length: dice.roll(1380, 1428),
  }),
  NTP: (dice) => ({
    src: dice.address(),
    dst: victim,
    protocol: udp,
    ports: [123, 80],
    packets: dice.roll(10, 100),
    length: 468,
  }),
  CLDAP: (dice) => {
    const rest = {
      src: dice.address(),
      dst: victim,
      protocol: udp,
      packets: dice.roll(5, 20),
      length: dice.roll(1470, 1500),
    };
    return dice.roll(0, 2) === 0 ? rest : { ...rest, ports: [389, dice.roll(1024, 65_535)] };
  },
  "answers of DNS": (dice) => ({
    src: dice.address(),
    dst: victim,
    protocol: udp,
    ports: [53, dice.roll(1024, 65_535)],
    packets: dice.roll(5, 20),
    length: dice.roll(1100, 1480),
  }),
  SYN: (dice) => ({
    src: dice.address(),
    dst: victim,
    protocol: tcp,
    ports: [dice.roll(1024, 65_535), 443],
    packets: 1,
    length: [40, 44, 60][dice.roll(0, 2)] ?? 40,
    flags: 2,
  }),
  fragments: (dice) => ({ src: dice.address(), dst: victim, protocol: udp, packets: dice.roll(10, 50), length: 1480 }),
};

/** To all hosts of a network. */
const carpet = (dice: Dice): Flow => ({
  ...(attacks["answers of DNS"] as (dice: Dice) => Flow)(dice),
  dst: `192.0.2.${dice.roll(0, 255)}`,
});

function asTestFlow({ src, dst, protocol, ports, packets, length, flags }: Flow): TestFlow {
  const extra = {
    "l4.proto.id": protocol,
    "flow.src.l4.port.id": ports?.[0] ?? 0,
    ...(flags !== undefined && { "tcp.flags.bits": flags }),
  };
  return { src, dst, port: ports?.[1] ?? 0, bytes: packets * length, packets, extra };
}

/** The bytes of a flow that a router would discard, packet by packet. */
function discarded(flow: Flow, prefix: string, match: Match): number {
  const { protocol, source, sourcePorts, destinationPorts, packetLength, fragment, syn } = match;
  const [network = "", length] = prefix.split("/");
  const part = length === "32" ? 4 : 3;
  assert.ok(length === "32" || length === "24", prefix);
  const isTo = flow.dst.split(".").slice(0, part).join() === network.split(".").slice(0, part).join();
  if (!isTo || source !== undefined) return 0;
  let bytes = 0;
  for (let packet = 0; packet < flow.packets; packet++) {
    const asks = flow.protocol === tcp && ((flow.flags ?? 0) & 2) !== 0 && packet === 0;
    if (protocol !== undefined && flow.protocol !== protocol) continue;
    if (sourcePorts !== undefined && !sourcePorts.includes(flow.ports?.[0] ?? -1)) continue;
    if (destinationPorts !== undefined && !destinationPorts.includes(flow.ports?.[1] ?? -1)) continue;
    if (packetLength !== undefined && (flow.length < packetLength.from || flow.length > packetLength.to)) continue;
    if (fragment === true && flow.ports !== undefined) continue;
    if (syn === true && !asks) continue;
    // The packet that asks for a connection is a short one.
    bytes += syn === true ? Math.min(60, flow.length) : flow.length;
  }
  return bytes;
}

/** The part of the bytes of flows that the routes of an answer discard. */
function partOf(flows: readonly Flow[], { routes }: Answer): number {
  const all = flows.reduce((sum, { packets, length }) => sum + packets * length, 0);
  const gone = flows.reduce(
    (sum, flow) => sum + Math.max(...routes.map(({ prefix, match = {} }) => discarded(flow, prefix, match))),
    0,
  );
  return gone / all;
}

/** @returns the answer to an attack after some minutes of an ordinary day. */
async function answerTo(
  t: TestContext,
  seed: number,
  by: string,
  attack: (dice: Dice) => Flow,
  { minutes = 4, mode = "dry-run" }: { minutes?: number; mode?: "dry-run" | "automatic" } = {},
): Promise<Answer> {
  const dice = new Dice(seed);
  const rules = `speakers: {edge: {gobgp: {url: "http://127.0.0.1:1"}}}
actions: {filter: {flowspec: {speaker: edge}}}
rules:
  - {name: flood, by: [${by}], measure: bits_per_second, over: 10s, when: '> 30M for 3s', act: [filter]}
`;
  const rig = await startWatch(t, rules, { memory: memoryFileIo(), answers: { mode } });
  const hosts = by === "" ? Array.from({ length: 40 }, (_, i) => `192.0.2.${6 * i}`) : [victim, "192.0.2.11"];
  const day = (): void =>
    rig.take(Array.from({ length: 12 }, () => asTestFlow(ordinary(dice, hosts[dice.roll(0, hosts.length - 1)] ?? ""))));
  for (let second = 0; second < 60 * minutes; second++) {
    day();
    rig.pass(1);
  }
  assert.deepEqual(rig.watch.alerting.list().alerts, []);
  for (let second = 0; second < 12; second++) {
    day();
    const flows = Array.from({ length: 60 }, () => asTestFlow(attack(dice)));
    const bytes = flows.reduce((sum, flow) => sum + (flow.bytes ?? 0), 0);
    // 80 Mbit/s, by a rate of sampling.
    rig.take(flows, 1e7 / bytes);
    rig.pass(1);
  }
  const [answer, ...others] = rig.watch.answers.list();
  assert.deepEqual(others, []);
  assert.ok(answer !== undefined);
  return answer;
}

/** Judges an answer by flows that it was not chosen by. */
function judge(answer: Answer, seed: number, attack: (dice: Dice) => Flow, hosts: (dice: Dice) => string): void {
  const dice = new Dice(seed + 1);
  const bad = Array.from({ length: 1000 }, () => attack(dice));
  const good = Array.from({ length: 4000 }, () => ordinary(dice, hosts(dice)));
  const [takes, harms] = [partOf(bad, answer), partOf(good, answer)];
  assert.equal(answer.evidence?.fits, true, answer.text);
  assert.ok(takes >= 0.95, `${answer.text}: takes ${takes}`);
  assert.ok(harms <= 0.01, `${answer.text}: harms ${harms}`);
}

describe("a flow specification takes the attack and leaves the rest", () => {
  for (const [name, attack] of Object.entries(attacks))
    test(name, async (t) => {
      const seeds = fc.integer({ min: 1, max: 1e6 });
      await fc.assert(
        fc.asyncProperty(seeds, async (seed) => {
          const answer = await answerTo(t, seed, "flow.dst.ip.addr", attack);
          for (const { prefix } of answer.routes) assert.equal(prefix, `${victim}/32`);
          judge(answer, seed, attack, () => victim);
        }),
        { ...runs(5), endOnFailure: true },
      );
    });

  test("carpet bombing: the network that is meant", async (t) => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 1e6 }), async (seed) => {
        const answer = await answerTo(t, seed, "", carpet);
        for (const { prefix } of answer.routes) assert.equal(prefix, "192.0.2.0/24");
        judge(answer, seed, carpet, (dice) => `192.0.2.${6 * dice.roll(0, 39)}`);
      }),
      { ...runs(5), endOnFailure: true },
    );
  });

  test("what looks like an ordinary day has no rule that fits, and is not announced by itself", async (t) => {
    const answer = await answerTo(t, 7, "flow.dst.ip.addr", (dice) => ordinary(dice, victim));
    assert.equal(answer.evidence?.fits, false, answer.text);
  });

  test("automatic: a whole network waits for somebody where nothing is known of before", async (t) => {
    const unknown = await answerTo(t, 9, "", carpet, { minutes: 0, mode: "automatic" });
    assert.equal(unknown.state, "proposed");
    assert.match(unknown.because ?? "", /whole network, and too little is known of the time before/);
    const known = await answerTo(t, 9, "", carpet, { mode: "automatic" });
    assert.equal(known.state, "announcing");
  });

  test("where nothing is known of before, the narrowest is taken", async (t) => {
    const answer = await answerTo(t, 9, "flow.dst.ip.addr", attacks["NTP"] as (dice: Dice) => Flow, { minutes: 0 });
    assert.equal(answer.evidence?.harms, undefined);
    const { match } = answer.routes[0] ?? {};
    assert.equal(match?.protocol, udp);
    assert.deepEqual([match.sourcePorts, match.destinationPorts], [[123], [80]]);
    assert.ok((match.packetLength?.from ?? 0) <= 468 && (match.packetLength?.to ?? 0) >= 468);
  });
});
