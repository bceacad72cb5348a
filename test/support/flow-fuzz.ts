import { createDatagramDamage } from "./damage-datagram.ts";
import { realDatagrams, goodDatagrams } from "./flow-fuzz-datagrams.ts";
import { createRandom } from "./mutate.ts";
import assert from "node:assert/strict";
import { receivedAt } from "./flow-rig.ts";
import { createSubject } from "./flow-fuzz-subject.ts";
import { FlowPipeline } from "../../src/flow/index.ts";
import { createModelPipeline } from "../flow/model/model-pipeline.ts";
import { createLineChecker } from "./check-lines.ts";
import type { Metrics } from "../../src/base/report/index.ts";
import { isAboutTheWay } from "./flow-twins.ts";

/** Datagrams after which everything starts over with other settings. */
const roundLength = 50_000;

/** What the process may hold outside the heap: tables of addresses and slabs that nobody has collected yet. */
const maxArrayBuffers = 512 * 1024 * 1024;

export interface FlowFuzzOutcome {
  readonly datagrams: number;
  readonly records: number;
  readonly bytesOut: number;
  /** Records of an exporter that does everything right, decoded between the others. */
  readonly good: number;
  /** Fields that took longer, and templates whose program was made. */
  readonly slow: number;
  readonly programs: number;
  /** Datagrams that the model decoded, too: every byte that came out was the same. */
  readonly compared: number;
}

/**
 * Sends damaged datagrams of many exporters through pipelines. It fails when a bug shows: an internal error, a line that
 * is no JSON or has a name twice, memory beyond its bounds, an exporter that keeps more than its share, one that does
 * everything right and is decoded otherwise than alone, a kernel that writes another line than the model.
 *
 * @param seed not 0; the same seed sends the same.
 */
export async function fuzzFlows(count: number, seed: number): Promise<FlowFuzzOutcome> {
  const damage = createDatagramDamage(realDatagrams(), createRandom(seed));
  const sums: Record<keyof FlowFuzzOutcome, number> = {
    datagrams: 0,
    records: 0,
    bytesOut: 0,
    good: 0,
    slow: 0,
    programs: 0,
    compared: 0,
  };
  for (let round = 0; sums.datagrams < count; round++) {
    const outcome = await fuzzRound({
      next: () => damage.next(),
      random: createRandom(seed + 7919 * (round + 1)),
      count: Math.min(roundLength, count - sums.datagrams),
      name: `round ${round} of seed ${seed}`,
      number: seed + round,
    });
    for (const key of Object.keys(sums) as (keyof FlowFuzzOutcome)[]) sums[key] += outcome[key];
  }
  assert.ok(sums.slow > 0 && sums.programs > 0, "programs ran, and left some fields to the other side");
  return sums;
}

interface Round {
  readonly next: () => Buffer;
  readonly random: () => number;
  readonly count: number;
  readonly name: string;
  /** Says which settings it has. */
  readonly number: number;
}

async function fuzzRound({ next, random, count, name, number }: Round): Promise<FlowFuzzOutcome> {
  let time = receivedAt;
  const settings = {
    isEnriched: number % 8 < 4,
    communityId: number % 5 !== 0,
    splitBiflows: number % 3 === 0,
    clock: { now: () => time, monotonic: () => time },
  };
  const subject = await createSubject(settings, (options) => new FlowPipeline(options));
  const isCompared = number % 4 === 0;
  const model = isCompared ? await createSubject(settings, createModelPipeline) : undefined;
  const checker = createLineChecker();
  const goodOnes = goodDatagrams();
  const sendGood = (): string => {
    const lines = goodOnes.flatMap((datagram) => {
      const written = subject.send(datagram, "198.51.100.250", 4739);
      model?.send(datagram, "198.51.100.250", 4739);
      return written.toString().split("\n").slice(0, -1);
    });
    assert.equal(lines.length, 4);
    // Their datagrams are the same each time, so that their clock seems to stand still.
    const ownTime = /"@timestamp":"[^"]*",|"flow\.export\.clock\.offset":-?\d+,/g;
    return lines.map((line) => line.replaceAll(ownTime, "")).join("\n");
  };
  const expected = sendGood();

  let records = 0;
  let bytesOut = 0;
  let good = 0;
  for (let i = 0; i < count; i++) {
    const datagram = next();
    // Mostly few senders, so that templates meet the data of others; some of many, so that places run out.
    const host = random() % 50 === 0 ? random() % 60_000 : random() % 12;
    const address = `10.${host >> 8}.${host & 255}.1`;
    const port = 50_000 + (random() % 3);
    time += 10;
    try {
      const lines = subject.send(datagram, address, port);
      assert.equal(subject.errors.length, 0);
      bytesOut += lines.length;
      records += checker.check(lines);
      if (model !== undefined) assert.ok(model.send(datagram, address, port).equals(lines), "the interpreter differs");
    } catch (cause) {
      const hex = datagram.toString("hex");
      throw new Error(`datagram ${i} of ${name} from ${address}, ${port}: ${hex} ${String(subject.errors)}`, { cause });
    }
    if (i % 64 === 0) {
      assert.equal(sendGood(), expected, `after datagram ${i} of ${name}`);
      good += 4;
    }
    if (i % 4096 === 0) {
      subject.pipeline.tidy();
      model?.pipeline.tidy();
      checkShares(subject.pipeline.exporters());
      assert.ok((await subject.value("netgloss_flow_waiting_bytes")) <= 200_000);
      assert.ok(process.memoryUsage().arrayBuffers <= maxArrayBuffers, `memory after datagram ${i} of ${name}`);
    }
  }
  const text = await subject.metrics.render();
  assert.doesNotMatch(text, /drops_total\{[^}]*reason="internal"[^}]*\} [1-9]/);
  if (model !== undefined) {
    assert.equal(aboutTheOutcome(await model.metrics.render()), aboutTheOutcome(text), `counts of ${name}`);
  }
  return {
    datagrams: count,
    records,
    bytesOut,
    good,
    slow: await slowFields(subject.metrics),
    programs: await subject.value("netgloss_flow_compiled_templates_total", { outcome: "compiled" }),
    compared: isCompared ? count : 0,
  };
}

async function slowFields(metrics: Metrics): Promise<number> {
  const counts = [...(await metrics.render()).matchAll(/^netgloss_flow_slow_fields_total\S* (\d+)/gm)];
  return counts.reduce((sum, [, count]) => sum + Number(count), 0);
}

/** Metrics without those about the way that led there. */
function aboutTheOutcome(text: string): string {
  return text
    .split("\n")
    .filter((line) => !line.startsWith("#") && !isAboutTheWay(line))
    .join("\n");
}

function checkShares(exporters: ReturnType<FlowPipeline["exporters"]>): void {
  assert.ok(exporters.length <= 200);
  for (const { domains } of exporters) {
    const templates = domains.flatMap((domain) => domain.templates);
    assert.ok(domains.length <= 6);
    assert.ok(templates.length <= 40);
    assert.ok(templates.reduce((sum, template) => sum + template.fields, 0) <= 800);
    assert.ok(domains.reduce((sum, domain) => sum + domain.waitingSets, 0) <= 16);
  }
}
