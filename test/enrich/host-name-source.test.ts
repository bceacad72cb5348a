import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { HostNameSource, createResolver, type HostNameOptions } from "../../src/enrich/index.ts";
import { formatAddress } from "../../src/base/ip/index.ts";
import type { Value } from "../../src/record/index.ts";
import { createMetrics, silentLog } from "../../src/base/report/index.ts";
import { cleanUp } from "../support/clean-up.ts";
import { askFacts, type TestFacts } from "../support/address-facts.ts";
import { startDnsServer, writeName, type DnsServer } from "../support/dns-server.ts";
import { until } from "../support/until.ts";

interface Setup {
  readonly source: HostNameSource;
  readonly server: DnsServer;
  /** Milliseconds of the clock. */
  time: number;
  /** What is known of an address now. */
  readonly name: (text: string) => Value | undefined;
  readonly validMs: (text: string) => number | undefined;
  /** Addresses of which something new was reported. */
  readonly reported: (string | undefined)[];
  readonly count: (name: string) => Promise<number | undefined>;
}

async function setUp(t: TestContext, options: Partial<HostNameOptions> = {}): Promise<Setup> {
  const server = await startDnsServer(t);
  const metrics = createMetrics();
  const facts = (text: string): TestFacts => askFacts(setup.source, text);
  const setup: Setup = {
    source: new HostNameSource({
      resolver: createResolver([server.address], 200),
      resolvePrivate: true,
      resolvePublic: true,
      concurrency: 4,
      maxQueued: 100,
      maxCached: 100,
      ttlMs: 10_000,
      negativeTtlMs: 5000,
      clock: { now: () => 0, monotonic: () => setup.time },
      metrics,
      log: silentLog,
      ...options,
    }),
    server,
    time: 0,
    name: (text) => facts(text).fields[0]?.[1],
    validMs: (text) => facts(text).validMs,
    reported: [],
    count: (name) => metrics.value(`netgloss_enrich_dns_${name}`),
  };
  setup.source.watch((address) => setup.reported.push(address && formatAddress(address)));
  await setup.source.start();
  cleanUp(t, () => setup.source.stop());
  return setup;
}

test("the first time there is no name; when the answer is there it is reported, and kept", async (t) => {
  const { server, name, reported, validMs, count } = await setUp(t);
  server.answers.set("192.0.2.1", ["Host-1.Example.NET"]);
  assert.equal(name("192.0.2.1"), undefined);
  assert.equal(name("192.0.2.1"), undefined);
  await until("the answer", () => reported.includes("192.0.2.1"));
  assert.equal(name("192.0.2.1"), "host-1.example.net");
  assert.equal(validMs("192.0.2.1"), 10_000);
  assert.deepEqual([...new Set(server.questions)], ["192.0.2.1"]);
  assert.equal(await count("queries_total"), 1);
  assert.equal(await count("names_total"), 1);
  assert.equal(await count("cache_hits_total"), 2);
});

test("an IPv6 address is asked for under ip6.arpa", async (t) => {
  const { server, name, reported } = await setUp(t);
  const asked = `1${".0".repeat(23)}.8.b.d.0.1.0.0.2.ip6.arpa`;
  server.answers.set(asked, ["six.example.net"]);
  name("2001:db8::1");
  await until("the answer", () => reported.includes("2001:db8::1"));
  assert.equal(name("2001:db8::1"), "six.example.net");
});

test("an aged name is used until the new one is known", async (t) => {
  const setup = await setUp(t);
  const { server, name, reported } = setup;
  server.answers.set("192.0.2.1", ["old.example.net"]);
  name("192.0.2.1");
  await until("the answer", () => reported.length === 1);
  setup.time = 10_000;
  server.answers.set("192.0.2.1", ["new.example.net"]);
  assert.equal(name("192.0.2.1"), "old.example.net");
  await until("the new answer", () => reported.length === 2);
  assert.equal(name("192.0.2.1"), "new.example.net");
});

test("that there is no name is known for a while; a failure is tried again later", async (t) => {
  const setup = await setUp(t);
  const { server, name, reported, validMs, count } = setup;
  server.answers.set("192.0.2.2", "failure");
  server.answers.set("192.0.2.3", "silence");
  for (const text of ["192.0.2.1", "192.0.2.2", "192.0.2.3"]) name(text);
  await until("the answers", () => reported.length === 3);
  assert.equal(validMs("192.0.2.1"), 5000);
  assert.equal(validMs("192.0.2.2"), 60_000);
  assert.equal(validMs("192.0.2.3"), 60_000);
  assert.equal(await count("no_name_total"), 1);
  assert.equal(await count("failures_total"), 2);
  server.answers.set("192.0.2.1", ["late.example.net"]);
  assert.equal(name("192.0.2.1"), undefined);
  setup.time = 5000;
  name("192.0.2.1");
  await until("the next answer", () => reported.length === 4);
  assert.equal(name("192.0.2.1"), "late.example.net");
});

test("a failure leaves the name that was known", async (t) => {
  const setup = await setUp(t);
  const { server, name, reported } = setup;
  server.answers.set("192.0.2.1", ["known.example.net"]);
  name("192.0.2.1");
  await until("the answer", () => reported.length === 1);
  setup.time = 10_000;
  server.answers.set("192.0.2.1", "failure");
  name("192.0.2.1");
  await until("the failure", () => reported.length === 2);
  assert.equal(name("192.0.2.1"), "known.example.net");
});

test("what is no host name is not used; the first that is one is", async (t) => {
  const { server, name, reported, count } = await setUp(t);
  server.answers.set("192.0.2.1", ["<script>.example.net", 'a"b.example.net']);
  server.answers.set("192.0.2.2", [
    Buffer.concat([Buffer.from([3, 0x1b, 0x5b, 0x00]), writeName("x")]),
    "good.example.net",
  ]);
  name("192.0.2.1");
  name("192.0.2.2");
  await until("the answers", () => reported.length === 2);
  assert.equal(name("192.0.2.1"), undefined);
  const found = name("192.0.2.2");
  assert.ok(found === "good.example.net" || found === undefined);
  assert.ok(((await count("bad_names_total")) ?? 0) + ((await count("failures_total")) ?? 0) >= 1);
});

test("private and public addresses are asked for only where wanted, multicast groups never", async (t) => {
  const { server, name, reported } = await setUp(t, { resolvePrivate: false });
  // A late answer is asked for a second time.
  for (const text of ["10.0.0.1", "fd00::1", "224.0.0.1", "ff02::1", "198.51.100.1"]) name(text);
  await until("the answer", () => reported.length === 1);
  assert.deepEqual([...new Set(server.questions)], ["198.51.100.1"]);
  const other = await setUp(t, { resolvePublic: false });
  for (const text of ["10.0.0.1", "198.51.100.1"]) other.name(text);
  await until("the answer", () => other.reported.length === 1);
  assert.deepEqual([...new Set(other.server.questions)], ["10.0.0.1"]);
});

test("so many at a time, so many wait, the others are counted and asked for later", async (t) => {
  let running = 0;
  let most = 0;
  const waiting: (() => void)[] = [];
  const resolver = {
    async resolvePtr(): Promise<string[]> {
      most = Math.max(most, ++running);
      await new Promise<void>((resolve) => waiting.push(resolve));
      running--;
      return ["name.example.net"];
    },
    cancel() {},
  };
  const { name, reported, validMs, count } = await setUp(t, { resolver, concurrency: 2, maxQueued: 3 });
  for (let i = 0; i < 8; i++) name(`192.0.2.${i}`);
  assert.equal(await count("running"), 2);
  assert.equal(await count("queued"), 3);
  assert.equal(await count("queue_drops_total"), 3);
  assert.equal(validMs("192.0.2.7"), 5000);
  await until("all answers", () => {
    waiting.shift()?.();
    return reported.length === 5;
  });
  assert.equal(most, 2);
  assert.equal(name("192.0.2.4"), "name.example.net");
  assert.equal(name("192.0.2.7"), undefined);
  await until("the one that had no place", () => {
    waiting.shift()?.();
    return reported.length === 6;
  });
});

test("each of many addresses is asked for once, however often it is seen", async (t) => {
  const asked: string[] = [];
  const waiting: (() => void)[] = [];
  const resolver = {
    async resolvePtr(name: string): Promise<string[]> {
      asked.push(name);
      await new Promise<void>((resolve) => waiting.push(resolve));
      return [];
    },
    cancel() {},
  };
  const { name, reported } = await setUp(t, { resolver, concurrency: 50, maxQueued: 4000, maxCached: 10_000 });
  const addresses = Array.from({ length: 3000 }, (_, n) =>
    n % 3 === 0 ? `2001:db8::${(n + 1).toString(16)}` : `198.${18 + (n & 1)}.${n >> 8}.${n & 255}`,
  );
  for (let round = 0; round < 3; round++) for (const address of addresses) name(address);
  await until("all answers", () => {
    for (const done of waiting.splice(0)) done();
    return reported.length === addresses.length;
  });
  for (const address of addresses) name(address);
  assert.equal(asked.length, addresses.length);
  assert.equal(new Set(asked).size, addresses.length);
});

test("nothing is asked before the start, and the stop ends what is under way", async (t) => {
  const { source, server, name } = await setUp(t);
  server.answers.set("192.0.2.1", "silence");
  name("192.0.2.1");
  await source.stop();
  name("192.0.2.2");
  assert.ok(!server.questions.includes("192.0.2.2"));
});
