import assert from "node:assert/strict";
import { renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { test, type TestContext } from "node:test";
import * as fc from "fast-check";
import { Reader, type Response } from "maxmind";
import { MmdbSource, geoValues, judgeDatabase, Database, type MmdbOptions } from "../../src/enrich/index.ts";
import { formatAddress, keyContains, addressKey, parseKey } from "../../src/base/ip/index.ts";
import { createMetrics, silentLog, systemClock, type Metrics } from "../../src/base/report/index.ts";
import { setWords } from "../../src/enrich/address/address-limbs.ts";
import { cleanUp } from "../support/clean-up.ts";
import { askFacts } from "../support/address-facts.ts";
import { mmdbFile, type MmdbValue } from "../support/mmdb-file.ts";
import { tempDirectory } from "../support/temp-directory.ts";
import { denseAddress, denseKeyText } from "../support/udm-entry.ts";
import { until } from "../support/until.ts";
import { runs } from "../support/runs.ts";
import { anyCharacter } from "../support/any-character.ts";

const amsterdam: MmdbValue = {
  city: { names: { en: "Amsterdam", ja: "アムステルダム" } },
  continent: { code: "EU", names: { en: "Europe" } },
  country: { iso_code: "NL", names: { en: "Netherlands", de: "Niederlande" } },
  location: { latitude: 52.3759, longitude: -4.8975, time_zone: "Europe/Amsterdam", accuracy_radius: 10 },
};

async function setUp(t: TestContext, options: Partial<MmdbOptions>): Promise<{ source: MmdbSource; metrics: Metrics }> {
  const metrics = createMetrics();
  const source = new MmdbSource({ pollMs: 0, clock: systemClock, metrics, log: silentLog, ...options });
  await source.start();
  cleanUp(t, () => source.stop());
  return { source, metrics };
}

function put(t: TestContext, bytes: Buffer): string {
  const path = join(tempDirectory(t), "test.mmdb");
  writeFileSync(path, bytes);
  return path;
}

const geoip = (path: string, more: Partial<NonNullable<MmdbOptions["geoip"]>> = {}): Partial<MmdbOptions> => ({
  geoip: { path, values: geoValues, language: "en", ...more },
});

test("a place has country, city, continent, coordinates and time zone", async (t) => {
  const { source } = await setUp(t, geoip(put(t, mmdbFile({ "198.51.100.0/24": amsterdam }))));
  assert.deepEqual(askFacts(source, "198.51.100.7").fields, [
    [".geo.city.name", "Amsterdam"],
    [".geo.continent.code", "EU"],
    [".geo.continent.name", "Europe"],
    [".geo.country.code", "NL"],
    [".geo.country.name", "Netherlands"],
    [".geo.loc.coord", "52.3759,-4.8975"],
    [".geo.tz.name", "Europe/Amsterdam"],
  ]);
});

test("only the values asked for, in the language asked for, English where there is no such name", async (t) => {
  const path = put(t, mmdbFile({ "198.51.100.0/24": amsterdam }));
  const { source } = await setUp(t, geoip(path, { values: ["city", "country"], language: "de" }));
  assert.deepEqual(askFacts(source, "198.51.100.7").fields, [
    [".geo.city.name", "Amsterdam"],
    [".geo.country.name", "Niederlande"],
  ]);
});

test("the country where a block is registered stands in; what has another shape is left out", async (t) => {
  const odd: MmdbValue = {
    city: ["Amsterdam"],
    country: { iso_code: 7 },
    location: { latitude: 91.5, longitude: 4 },
    registered_country: { iso_code: "DE" },
  };
  const registered: MmdbValue = { registered_country: { iso_code: "DE", names: { en: "Germany" } } };
  const path = put(t, mmdbFile({ "198.51.100.0/24": odd, "203.0.113.0/24": registered, "192.0.2.0/24": ["list"] }));
  const { source, metrics } = await setUp(t, geoip(path));
  assert.deepEqual(askFacts(source, "198.51.100.7").fields, []);
  assert.deepEqual(askFacts(source, "192.0.2.7").fields, []);
  assert.deepEqual(askFacts(source, "203.0.113.7").fields, [
    [".geo.country.code", "DE"],
    [".geo.country.name", "Germany"],
  ]);
  assert.equal(await metrics.value("netgloss_enrich_mmdb_lookups_total", { database: "geoip" }), 3);
  assert.equal(await metrics.value("netgloss_enrich_mmdb_misses_total", { database: "geoip" }), 2);
});

test("an autonomous system comes apart from the fields, whatever both databases say of the address", async (t) => {
  const asn = put(
    t,
    mmdbFile({ "2001:db8::/32": { autonomous_system_number: 64_500, autonomous_system_organization: "Example" } }),
  );
  const city = put(t, mmdbFile({ "2001:db8:1::/48": amsterdam }));
  const { source } = await setUp(t, { asn: { path: asn }, ...geoip(city, { values: ["country_code"] }) });
  assert.deepEqual(askFacts(source, "2001:db8:1::1"), {
    fields: [[".geo.country.code", "NL"]],
    as: { number: 64_500, organisation: "Example" },
  });
  assert.deepEqual(askFacts(source, "2001:db8:2::1").as, { number: 64_500, organisation: "Example" });
});

test("the layouts of IPinfo and DB-IP are read", async (t) => {
  const lite = { asn: "AS64500", as_name: "Example Net", as_domain: "example.net", country_code: "NL" };
  const places: Readonly<Record<string, MmdbValue>> = {
    // IPinfo Lite
    "192.0.2.0/24": { ...lite, country: "Netherlands", continent_code: "EU", continent: "Europe" },
    // IPinfo, country and ASN
    "198.51.100.0/24": { country: "NL", country_name: "Netherlands", continent: "EU", continent_name: "Europe" },
    // IPinfo, locations: numbers are texts
    "203.0.113.0/25": { city: "Delft", country: "NL", lat: "52.01", lng: "-4.35", timezone: "Europe/Amsterdam" },
    "203.0.113.128/25": {
      city: "Delft",
      country_code: "NL",
      latitude: 52.5,
      longitude: 4,
      timezone: "Europe/Amsterdam",
    },
    // DB-IP: as GeoIP2
    "2001:db8::/32": {
      city: { names: { en: "Delft" } },
      continent: { code: "EU", geoname_id: 6255148, names: { en: "Europe" } },
      country: { iso_code: "NL", is_in_european_union: true, names: { en: "Netherlands" } },
      location: { latitude: 52.01, longitude: 4.35 },
      subdivisions: [{ names: { en: "South Holland" } }],
    },
  };
  const systems: Readonly<Record<string, MmdbValue>> = {
    "192.0.2.0/24": lite,
    "198.51.100.0/24": { asn: "AS64501", domain: "example.org", name: "Example Org", type: "hosting" },
    "203.0.113.0/24": { autonomous_system_number: 64_502, autonomous_system_organization: "DB-IP Lite" },
    "2001:db8::/32": { traits: { autonomous_system_number: 64_503, autonomous_system_organization: "DB-IP ISP" } },
    "2001:db9::/32": { asn: "ASx", name: "none" },
  };
  const lines: string[] = [];
  const log = { ...silentLog, warn: (_: object, message: string) => void lines.push(message) };
  const asn = { path: put(t, mmdbFile(systems)) };
  const { source } = await setUp(t, { log, asn, ...geoip(put(t, mmdbFile(places))) });
  const country = [
    [".geo.continent.code", "EU"],
    [".geo.continent.name", "Europe"],
    [".geo.country.code", "NL"],
    [".geo.country.name", "Netherlands"],
  ];
  assert.deepEqual(askFacts(source, "192.0.2.1"), {
    fields: country,
    as: { number: 64_500, organisation: "Example Net" },
  });
  assert.deepEqual(askFacts(source, "198.51.100.1"), {
    fields: country,
    as: { number: 64_501, organisation: "Example Org" },
  });
  const delft = [
    [".geo.city.name", "Delft"],
    [".geo.country.code", "NL"],
  ];
  const zone = [".geo.tz.name", "Europe/Amsterdam"];
  assert.deepEqual(askFacts(source, "203.0.113.1").fields, [...delft, [".geo.loc.coord", "52.01,-4.35"], zone]);
  assert.deepEqual(askFacts(source, "203.0.113.200").fields, [...delft, [".geo.loc.coord", "52.5,4"], zone]);
  assert.deepEqual(askFacts(source, "203.0.113.1").as, { number: 64_502, organisation: "DB-IP Lite" });
  assert.deepEqual(askFacts(source, "2001:db8::1"), {
    fields: [delft[0], ...country, [".geo.loc.coord", "52.01,4.35"]],
    as: { number: 64_503, organisation: "DB-IP ISP" },
  });
  assert.equal(askFacts(source, "2001:db9::1").as, undefined);
  assert.deepEqual(lines, []);
});

test("a database of which nothing comes is told of, at the start and by a check", async (t) => {
  const lines: unknown[] = [];
  const log = { ...silentLog, warn: (fields: object, message: string) => void lines.push([fields, message]) };
  const bytes = mmdbFile({ "198.51.100.0/24": amsterdam }, { type: "Some-City" });
  const path = put(t, bytes);
  await setUp(t, { log, asn: { path }, ...geoip(path) });
  const message =
    "a MaxMind database has nothing of autonomous systems under the names that are known: records get nothing of it";
  assert.deepEqual(lines, [[{ path, type: "Some-City" }, message]]);
  assert.deepEqual(judgeDatabase(bytes, "asn"), { remark: `${message} (type "Some-City")` });
  assert.deepEqual(judgeDatabase(bytes, "geoip"), {});
});

test("private addresses and multicast groups are not looked up", async (t) => {
  const { source, metrics } = await setUp(
    t,
    geoip(put(t, mmdbFile({ "0.0.0.0/1": amsterdam, "128.0.0.0/1": amsterdam }))),
  );
  for (const text of [
    "10.1.2.3",
    "172.31.0.1",
    "192.168.0.1",
    "100.64.0.1",
    "fd00::1",
    "fe80::1",
    "224.0.0.5",
    "ff02::1",
  ]) {
    assert.deepEqual(askFacts(source, text).fields, [], text);
  }
  assert.equal(await metrics.value("netgloss_enrich_mmdb_lookups_total", { database: "geoip" }), 0);
  assert.notDeepEqual(askFacts(source, "172.32.0.1").fields, []);
});

test("another file is taken up and reported of; a broken or missing one leaves the one before", async (t) => {
  const path = put(t, mmdbFile({ "198.51.100.0/24": { country: { iso_code: "NL" } } }));
  const { source, metrics } = await setUp(t, { ...geoip(path), pollMs: 10 });
  const count = (name: string): Promise<number | undefined> =>
    metrics.value(`netgloss_enrich_mmdb_${name}_total`, { database: "geoip" });
  const country = (): unknown => askFacts(source, "198.51.100.7").fields[0]?.[1];
  const reported: unknown[] = [];
  source.watch((text) => reported.push(text));
  const replace = (bytes: Buffer): void => {
    writeFileSync(`${path}.new`, bytes);
    renameSync(`${path}.new`, path);
  };
  assert.equal(country(), "NL");

  replace(mmdbFile({ "198.51.100.0/24": { country: { iso_code: "BE" } } }));
  await until("the new database", () => country() === "BE");
  assert.deepEqual(reported, [undefined]);

  replace(Buffer.from("not a database"));
  await until("the refusal", async () => (await count("load_failures")) === 1);
  assert.equal(country(), "BE");

  rmSync(path);
  await until("the next refusal", async () => ((await count("load_failures")) ?? 0) >= 2);
  assert.equal(country(), "BE");

  replace(mmdbFile({ "198.51.100.0/24": { country: { iso_code: "LU" } } }));
  await until("the third database", () => country() === "LU");
  assert.equal(await count("loads"), 3);
});

test("a file that is missing at the start is waited for", async (t) => {
  const path = join(tempDirectory(t), "late.mmdb");
  const { source, metrics } = await setUp(t, { asn: { path }, pollMs: 10 });
  assert.deepEqual(askFacts(source, "198.51.100.7"), { fields: [] });
  assert.equal(await metrics.value("netgloss_enrich_mmdb_build_time_seconds", { database: "asn" }), 0);
  writeFileSync(path, mmdbFile({ "198.51.100.0/24": { autonomous_system_number: 64_501 } }));
  await until("the database", () => askFacts(source, "198.51.100.7").as?.number === 64_501);
  assert.equal(await metrics.value("netgloss_enrich_mmdb_build_time_seconds", { database: "asn" }), 1_700_000_000);
});

test("a database of IPv4 says nothing of IPv6", () => {
  const database = new Database(mmdbFile({ "198.51.100.0/24": "here" }, { ipVersion: 4 }));
  const at = database.tree.find(0, 0, 0xffff, (198 << 24) | (51 << 16) | (100 << 8) | 7);
  assert.equal(readAll(database, at, "value"), "here");
  assert.equal(database.tree.find(0xc6336400, 0, 0, 0), 0);
});

test("a look-up finds the narrowest network, at every record size", () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(
        denseKeyText.filter((text) => text.includes("/") && !text.endsWith("/0")),
        {
          maxLength: 20,
          selector: (text) => {
            const { family, first, last } = parseKey(text);
            return `${family} ${first} ${last}`;
          },
        },
      ),
      fc.constantFrom<24 | 28 | 32>(24, 28, 32),
      (cidrs, recordSize) => {
        const database = new Database(mmdbFile(Object.fromEntries(cidrs.map((cidr) => [cidr, cidr])), { recordSize }));
        const keys = cidrs.map((cidr) => ({ cidr, key: parseKey(cidr) }));
        const places = new Map<number, unknown>();
        const words = new Int32Array(4);
        for (const family of [4, 6] as const) {
          for (let n = 0; n < 64; n++) {
            const asked = denseAddress(family, n);
            const covering = keys
              .filter(({ key }) => keyContains(key, addressKey(asked)))
              .toSorted((a, b) => Number(a.key.last - a.key.first - (b.key.last - b.key.first)));
            setWords(words, asked);
            const [a = 0, b = 0, c = 0, d = 0] = words;
            const at = database.tree.find(a, b, c, d);
            assert.equal(
              at === 0 ? undefined : readAll(database, at, "value"),
              covering[0]?.cidr,
              formatAddress(asked),
            );
            assert.equal(places.get(at) ?? covering[0]?.cidr, covering[0]?.cidr);
            places.set(at, covering[0]?.cidr);
          }
        }
      },
    ),
    runs(50),
  );
});

test("a file that is no database says so, and what to do with a compressed one", () => {
  assert.throws(() => new Database(Buffer.alloc(0)), { message: "is no MaxMind database" });
  assert.throws(() => new Database(Buffer.from("<html>404</html>")), { message: "is no MaxMind database" });
  const packed = gzipSync(mmdbFile({ "198.51.100.0/24": "here" }));
  assert.throws(() => new Database(packed), {
    message: "is no MaxMind database: it is compressed, unpack the .mmdb file",
  });
});

/** What is wanted of a value: the value itself, or of a map some of its keys. */
type Asked = "value" | readonly (readonly [key: string, asked: Asked])[];

type Wanted = Parameters<Database["reader"]>[0];
type Reading = ReturnType<Database["reader"]>;

/** Reads what is asked for, each value by a slot of its own. */
function readAll(database: Database, at: number, asked: Asked): unknown {
  let slots = 0;
  const give = (one: Asked): { wanted: Wanted; value: (found: Reading) => unknown } => {
    const slot = slots++;
    if (one === "value") {
      return { wanted: { slot }, value: (found) => textIn(found, slot) ?? found.number(slot) };
    }
    const inner = one.map(([key, below]) => [key, give(below)] as const);
    return {
      wanted: { slot, keys: inner.map(([key, { wanted }]) => [key, wanted]) },
      value: (found) =>
        found.has(slot) ? new Map(inner.map(([key, { value }]) => [key, value(found)] as const)) : undefined,
    };
  };
  const { wanted, value } = give(asked);
  const reader = database.reader(wanted, slots);
  reader.read(at - database.base);
  return value(reader);
}

function textIn(found: Reading, slot: number): string | undefined {
  const start = found.start(slot);
  if (found.has(slot) && found.number(slot) === undefined)
    return found.bytes.toString("utf8", start, start + found.length(slot));
  return undefined;
}

/** What is left of a value: of maps the wanted keys, and no lists, no other types. */
function pruned(value: unknown, wanted: Asked): unknown {
  const isMap = typeof value === "object" && value !== null && !Array.isArray(value);
  if (wanted === "value") return typeof value === "string" || typeof value === "number" ? value : undefined;
  if (!isMap) return undefined;
  const own = new Map(Object.entries(value));
  return new Map(wanted.map(([key, inner]) => [key, pruned(own.get(key), inner)] as const));
}

test("networks beyond those whose walks are remembered are found, in any order", () => {
  const networks: Record<string, string> = {};
  for (let n = 0; n < 3200; n++) {
    const start = `${11 + (n % 40)}.${(n * 7) & 255}.${(n * 13) & 255}`;
    networks[`${start}.0/25`] = `${start} lower`;
    networks[`${start}.192/26`] = `${start} upper`;
  }
  const database = new Database(mmdbFile(networks));
  const starts = [...new Set(Object.keys(networks).map((key) => key.slice(0, key.lastIndexOf("."))))];
  const find = (start: string, last: number): string | undefined => {
    const at = database.tree.find(0, 0, 0xffff, Number(parseKey(`${start}.${last}`).first));
    return at === 0 ? undefined : String(readAll(database, at, "value"));
  };
  for (const order of [starts, starts.toReversed()]) {
    for (const start of order) {
      const found = [5, 130, 200].map((last) => find(start, last));
      assert.deepEqual(found, [`${start} lower`, undefined, `${start} upper`]);
    }
  }
});

test("what is wanted of data is read as the library reads it, pointers or not", () => {
  const key = fc.constantFrom("names", "en", "de", "ort", "x".repeat(40), "ü");
  const scalar = fc.oneof(
    fc.string({ unit: anyCharacter, maxLength: 40 }),
    fc.constantFrom("y".repeat(28), "y".repeat(29), "z".repeat(285), "z".repeat(3000)),
    fc.nat(),
    fc.double({ noNaN: true }),
    fc.boolean(),
  );
  const { value } = fc.letrec<{ value: MmdbValue }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 3, withCrossShrink: true },
      scalar,
      fc.dictionary(key, tie("value"), { noNullPrototype: true }),
      fc.array(tie("value"), { maxLength: 3 }),
    ),
  }));
  const { wanted } = fc.letrec<{ wanted: Asked }>((tie) => ({
    wanted: fc.oneof(
      { maxDepth: 3 },
      fc.constant<Asked>("value"),
      fc
        .dictionary(
          key.filter((text) => text !== "ü"),
          tie("wanted"),
        )
        .map((keys) => Object.entries(keys)),
    ),
  }));
  fc.assert(
    fc.property(fc.array(value, { minLength: 1, maxLength: 5 }), wanted, fc.boolean(), (values, asked, pointers) => {
      const file = mmdbFile(Object.fromEntries(values.map((one, i) => [`198.51.${i}.0/24`, one])), { pointers });
      const database = new Database(file);
      const library = new Reader<Response>(file);
      values.forEach((_, i) => {
        const at = database.tree.find(0, 0, 0xffff, (198 << 24) | (51 << 16) | (i << 8) | 7);
        assert.deepEqual(readAll(database, at, asked), pruned(library.get(`198.51.${i}.7`), asked));
      });
    }),
    runs(300),
  );
});

test("whatever bytes a file has, it is refused or answers, and a damaged one is counted", async (t) => {
  const good = mmdbFile({ "198.51.100.0/24": amsterdam, "2001:db8::/32": { ...amsterdam } }, { pointers: true });
  const wanted: Asked = ["city", "country"].map((key) => [key, [["names", [["en", "value"]]]]] as const);
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.nat(good.length - 1), fc.nat(255)), { minLength: 1, maxLength: 8 }),
      fc.nat(good.length),
      (changes, length) => {
        const bytes = Buffer.from(good);
        for (const [at, value] of changes) bytes[at] = value;
        for (const hostile of [bytes, bytes.subarray(0, length)]) {
          try {
            const database = new Database(hostile);
            for (const at of [
              database.tree.find(0, 0, 0xffff, (198 << 24) | (51 << 16) | (100 << 8) | 7),
              database.tree.find(0x20010db8, 0, 0, 1),
            ]) {
              if (at !== 0) readAll(database, at, wanted);
            }
          } catch (error) {
            assert.ok(error instanceof Error);
          }
        }
      },
    ),
    runs(500),
  );
  const damaged = mmdbFile({ "198.51.100.0/24": amsterdam });
  // The type of the first record's data becomes one that does not exist.
  damaged.set([0x0f, 0xff], damaged.indexOf("city") - 2);
  const { source, metrics } = await setUp(t, geoip(put(t, damaged)));
  assert.deepEqual(askFacts(source, "198.51.100.7").fields, []);
  assert.equal(await metrics.value("netgloss_enrich_mmdb_errors_total", { database: "geoip" }), 1);
});
