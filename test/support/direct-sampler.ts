import { LineSampler, type SamplingMemory, type SamplingRates } from "../../src/explore/sampling/index.ts";

/** Chooses in the thread that takes, without a queue between. */
export function createDirectSampler(
  memory: SamplingMemory,
  rates: SamplingRates,
  take: (lines: Buffer, records: number) => void,
  chooser = 0,
): LineSampler {
  const to = {
    maxLength: Number.POSITIVE_INFINITY,
    allocate: (bytes: number) => Buffer.allocUnsafe(bytes),
    hasRoom: () => true,
    part() {},
    write: (lines: Uint8Array, records: number) =>
      take(Buffer.from(lines.buffer, lines.byteOffset, lines.length), records),
  };
  return new LineSampler(memory, rates, chooser, Math.random, to, () => {});
}
