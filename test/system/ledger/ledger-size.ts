import type { TestContext } from "node:test";
import { keepCollectorLedger, type LedgerOptions } from "./ledger.ts";
import { ledgerStores } from "./ledger-stores.ts";

/**
 * Keeps the ledger of each store, or of those that `NETGLOSS_LEDGER_STORES` names with commas between them.
 * `NETGLOSS_LEDGER_RECORDS`, `NETGLOSS_LEDGER_FAULTS`, `NETGLOSS_LEDGER_SEED` and, for a slow or busy host,
 * `NETGLOSS_LEDGER_RATE` (records a second) take the place of the sizes given.
 */
export async function keepLedgers(t: TestContext, size: Omit<LedgerOptions, "random">): Promise<void> {
  const { env } = process;
  const names = env["NETGLOSS_LEDGER_STORES"]?.split(",") ?? Object.keys(ledgerStores);
  const seed = Number(env["NETGLOSS_LEDGER_SEED"] ?? Math.trunc(Math.random() * 2 ** 32));
  for (const name of names) {
    await t.test(name, async (u) => {
      const start = ledgerStores[name];
      if (start === undefined)
        throw new Error(`no such store: ${name}; there are ${Object.keys(ledgerStores).join(", ")}`);
      u.diagnostic(`NETGLOSS_LEDGER_SEED=${seed}`);
      await keepCollectorLedger(u, await start(u), {
        ...size,
        records: Number(env["NETGLOSS_LEDGER_RECORDS"] ?? size.records),
        faults: Number(env["NETGLOSS_LEDGER_FAULTS"] ?? size.faults),
        rate: Number(env["NETGLOSS_LEDGER_RATE"] ?? size.rate),
        random: randomOf(seed),
      });
    });
  }
}

/** Numbers from 0 to below 1, the same for the same seed (mulberry32). */
function randomOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
