import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createFlowPipeline, type Limits } from "../../src/flow/index.ts";
import { joinLineEnrichers } from "../../src/record/index.ts";
import { createMetrics, type Log } from "../../src/report/index.ts";
import { goldenCases } from "../flow/golden-cases.ts";
import { dataSet, fields, ipfix, ipfixTemplates, ipv4, netflow9, netflow9Templates, uint } from "./flow-packets.ts";
import { createRandom } from "./mutate.ts";
import { receivedAt } from "./flow-rig.ts";
import { referenceData } from "./reference-data.ts";

/** Small, so that exporters meet them all the time. */
const limits: Partial<Limits> = {
  exporters: 200,
  domains: 6,
  templates: 40,
  fields: 800,
  fieldsInAll: 40_000,
  options: 100,
  waitingBytes: 16_384,
  waitingSets: 16,
  waitingBytesInAll: 200_000,
};

export interface FlowFuzzOutcome {
  readonly datagrams: number;
  readonly records: number;
  readonly bytesOut: number;
  /** Datagrams of an exporter that does everything right, decoded between the others. */
  readonly good: number;
}

/**
 * Sends damaged datagrams of many exporters through one pipeline. It fails when a bug shows: an internal error, a line that
 * is no JSON or has a name twice, an exporter that keeps more than its share, or one that does everything right
 * and is decoded otherwise than alone.
 *
 * @param seed not 0; the same seed sends the same.
 */
export async function fuzzFlows(count: number, seed: number): Promise<FlowFuzzOutcome> {
  const random = createRandom(seed);
  const real = realDatagrams();
  const metrics = createMetrics();
  const errors: unknown[] = [];
  let time = receivedAt;
  let written: string[] = [];
  let bytesOut = 0;
  const silent: Log = {
    debug() {},
    info() {},
    warn() {},
    error: (detail, message) => void errors.push([message, detail]),
  };
  const pipeline = createFlowPipeline({
    // With it records may go the compiled way, at once or, like most, after a while.
    enricher: { enrich() {}, lines: joinLineEnrichers([]) },
    compileAfter: seed % 2 === 0 ? 0 : 500,
    sink: {
      write(lines) {
        bytesOut += lines.length;
        const text = Buffer.from(lines).toString();
        assert.ok(text.endsWith("\n"));
        written.push(...text.slice(0, -1).split("\n"));
      },
    },
    communityId: seed % 5 !== 0,
    splitBiflows: seed % 3 === 0,
    optionsRecords: true,
    limits,
    log: silent,
    metrics,
    clock: { now: () => time, monotonic: () => time },
  });

  const goodOnes = goodDatagrams();
  const sendGood = (): string[] => {
    written = [];
    for (const datagram of goodOnes) pipeline.process(Buffer.from(datagram), "198.51.100.250", 4739);
    return written.map((line) => line.replace(/^\{"@timestamp":"[^"]*",/, "{"));
  };
  const expected = sendGood();
  assert.equal(expected.length, 4);

  let records = 0;
  let good = 0;
  for (let i = 0; i < count; i++) {
    const datagram = damage(real, random);
    // Mostly few senders, so that templates meet the data of others; some of many, so that places run out.
    const host = random() % 50 === 0 ? random() % 60_000 : random() % 12;
    written = [];
    time += 10;
    pipeline.process(datagram, `10.${host >> 8}.${host & 255}.1`, 50_000 + (random() % 3));
    assert.deepEqual(errors, [], `datagram ${i} of seed ${seed}: ${datagram.toString("hex")}`);
    records += written.length;
    for (const line of written) checkLine(line, i, seed);
    if (i % 64 === 0) {
      assert.deepEqual(sendGood(), expected, `after datagram ${i} of seed ${seed}`);
      good += goodOnes.length;
    }
    if (i % 4096 === 0) {
      pipeline.tidy();
      checkShares(pipeline.exporters());
      assert.ok(((await metrics.value("netgloss_flow_waiting_bytes", {})) ?? 0) <= 200_000);
    }
  }
  // Both ways of decoding were taken.
  for (const path of ["compiled", "interpreted"]) {
    assert.ok(((await metrics.value("netgloss_flow_records_by_path_total", { path })) ?? 0) > 0, path);
  }
  const text = await metrics.render();
  assert.doesNotMatch(text, /drops_total\{[^}]*reason="internal"[^}]*\} [1-9]/);
  return { datagrams: count, records, bytesOut, good };
}

/** Each line is one flat object without a name twice. */
function checkLine(line: string, i: number, seed: number): void {
  const parsed = JSON.parse(line) as Record<string, unknown>;
  // In a flat object a string with a colon behind it is a name.
  let names = 0;
  for (const [, colon] of line.matchAll(/"(?:[^"\\]|\\.)*"(:?)/g)) if (colon !== "") names++;
  assert.equal(names, Object.keys(parsed).length, `datagram ${i} of seed ${seed}: ${line}`);
}

function checkShares(exporters: ReturnType<ReturnType<typeof createFlowPipeline>["exporters"]>): void {
  assert.ok(exporters.length <= 200);
  for (const { domains } of exporters) {
    const templates = domains.flatMap((domain) => domain.templates);
    assert.ok(domains.length <= 6);
    assert.ok(templates.length <= 40);
    assert.ok(templates.reduce((sum, template) => sum + template.fields, 0) <= 800);
    assert.ok(domains.reduce((sum, domain) => sum + domain.waitingSets, 0) <= 16);
  }
}

/** What an exporter sends that does everything right: templates, options with a rate, a list, data. */
function goodDatagrams(): Buffer[] {
  const simple = { id: 256, fields: fields([8, 4], [12, 4], [1, 4]) };
  const list = { id: 257, fields: fields([8, 4], [292, "variable"]) };
  const record = [ipv4("192.0.2.1"), ipv4("198.51.100.2"), uint(1500, 4)];
  return [
    netflow9([netflow9Templates(simple), dataSet(simple, record, record)], { domain: 900 }),
    ipfix([ipfixTemplates(simple, list)], { domain: 901 }),
    ipfix(
      [
        dataSet(simple, record),
        dataSet(list, [ipv4("192.0.2.1"), Buffer.concat([uint(3, 1), uint(256, 2), ...record, ...record])]),
      ],
      { domain: 901 },
    ),
  ];
}

/** Those of the golden cases, and recordings where they are at hand. */
function realDatagrams(): Buffer[] {
  const golden = goldenCases.flatMap(([, sent]) => sent.map((each) => ("bytes" in each ? each.bytes : each)));
  const recordings = ["flow/vendors", "flow/telegraf"].flatMap((folder) => {
    const { path, skip } = referenceData(folder);
    if (skip !== false) return [];
    const names = readdirSync(path, { recursive: true, encoding: "utf8" });
    return names.filter((name) => /\.(dat|bin)$/.test(name)).map((name) => readFileSync(join(path, name)));
  });
  return [...golden, ...recordings].filter((bytes) => bytes.length > 0 && bytes.length <= 9000);
}

const extremes = [0, 1, 2, 3, 4, 5, 6, 7, 8, 20, 255, 256, 291, 292, 293, 0x7fff, 0x8000, 0x8001, 0xfffe, 0xffff];

function damage(real: readonly Buffer[], random: () => number): Buffer {
  const pick = (): Buffer => real[random() % real.length] as Buffer;
  let bytes: Buffer = Buffer.from(pick());
  if (random() % 8 === 0) return bytes;
  for (let times = random() % 5; times >= 0 && bytes.length > 0; times--) {
    const at = random() % bytes.length;
    switch (random() % 8) {
      case 0:
        bytes[at] = (bytes[at] as number) ^ (1 << (random() % 8));
        break;
      case 1:
        bytes[at] = random() & 0xff;
        break;
      case 2:
        // Lengths, counts, ids and field types are all two bytes, mostly at even places.
        if (bytes.length >= 2) {
          const place = Math.min(at & ~1, bytes.length - 2);
          bytes.writeUInt16BE(
            random() % 4 === 0 ? bytes.length - place : (extremes[random() % extremes.length] ?? 0),
            place,
          );
        }
        break;
      case 3:
        if (random() % 4 === 0) bytes = bytes.subarray(0, at);
        break;
      case 4: {
        const other = pick();
        bytes = Buffer.concat([bytes.subarray(0, at), other.subarray(random() % other.length)]).subarray(0, 65_507);
        break;
      }
      case 5:
        bytes.copyWithin(random() % bytes.length, at, at + 1 + (random() % 64));
        break;
      case 6:
        bytes = spliceSets(bytes, pick());
        break;
      default:
        bytes = Buffer.concat([
          bytes.subarray(0, at),
          Buffer.alloc(1 + (random() % 9), random() & 0xff),
          bytes.subarray(at),
        ]);
    }
  }
  // Nothing behind a wrong length is read, so most get the right one.
  if (bytes.length >= 4 && bytes.readUInt16BE(0) === 10 && random() % 4 !== 0) bytes.writeUInt16BE(bytes.length, 2);
  return bytes;
}

/** The sets of one datagram behind those of another. */
function spliceSets(bytes: Buffer, other: Buffer): Buffer {
  const header = other.length >= 2 && other.readUInt16BE(0) === 10 ? 16 : 20;
  const joined = Buffer.concat([bytes, other.subarray(header)]);
  return joined.length > 9000 ? bytes : joined;
}
