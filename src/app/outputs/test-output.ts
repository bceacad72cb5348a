import type { OutputAdapter, RecordBatch } from "../../output/index.ts";
import type { Clock } from "../../base/report/index.ts";
import type { StoreOutput } from "./store-outputs.ts";

/** The result of a test, to be shown. */
export interface OutputTest {
  readonly ok: boolean;
  /** The steps that succeeded: the store was reached, the record acknowledged. */
  readonly steps: readonly ("connected" | "acknowledged")[];
  /** Messages of the store that are not faults. */
  readonly warnings: readonly string[];
  /** The fault, in the store's words if it has some. */
  readonly fault?: string;
  readonly ms: number;
}

/** Sends one record to an output, even to a disabled one. It uses its own connection, and does not touch records that wait for the store. */
export async function testOutput(output: StoreOutput, clock: Clock): Promise<OutputTest> {
  const { addressSetting, addresses, word, settings } = output;
  const startedAt = clock.monotonic();
  const steps: OutputTest["steps"][number][] = [];
  const warnings: string[] = [];
  const result = (fault?: string): OutputTest => {
    const ms = Math.round(clock.monotonic() - startedAt);
    return { ok: fault === undefined, steps, warnings, ...(fault !== undefined && { fault }), ms };
  };
  if (addresses.length === 0) return result(`there is no address to send to: set ${addressSetting}`);
  // Import it late: only outputs need the code that talks to stores.
  const { createAdapter, TimedCalls, fieldNames } = await import("../../output/index.ts");
  const calls = new TimedCalls(1000 * settings.TIMEOUT);
  let adapter: OutputAdapter | undefined;
  try {
    const opened = await createAdapter(word, settings, { clock });
    adapter = opened;
    warnings.push(...(await calls.call((signal) => opened.open(signal))));
    steps.push("connected");
    const batch = testBatch(clock.now(), fieldNames(settings.ECS_ENABLE));
    const {
      refused,
      unclear = [],
      retry,
      fault,
    } = await calls.call((signal) =>
      opened.rehearse === undefined ? opened.send(batch, signal) : opened.rehearse(batch, signal),
    );
    const [bad] = [...refused, ...unclear];
    if (bad !== undefined) return result(`the record was refused: ${bad.reason}`);
    if (retry.length > 0) return result(fault?.message ?? "the store takes no records at present");
    steps.push("acknowledged");
    return result();
  } catch (error) {
    return result((error as Error).message);
  } finally {
    await adapter?.close();
  }
}

/** Returns a batch of one record, from an address reserved for documentation. */
function testBatch(now: number, nameOf: (field: string) => string): RecordBatch {
  const time = new Date(now).toISOString();
  const fields = { "@timestamp": time, "flow.export.ip.addr": "192.0.2.1", "flow.export.type": "test" };
  const named = Object.entries(fields).map(([field, value]) => [nameOf(field), value]);
  const line = Buffer.from(`${JSON.stringify(Object.fromEntries(named))}\n`);
  const id = { instance: "test", number: now };
  return { id, chunks: [line], count: 1, byteLength: line.length, oldestAt: now };
}
