import type { Command } from "commander";
import type { RecordBatch } from "../../output/index.ts";
import { systemClock } from "../../report/index.ts";
import { storeKinds, storeOutput, storeOutputNames } from "../outputs/store-outputs.ts";
import { addConfigOption, commandSettings } from "./settings-options.ts";
import { exitCodes, type Terminal } from "./terminal.ts";

/** `output test`: sends one record to a store and says what came of it. */
export function addOutputCommand(program: Command, terminal: Terminal, setExitCode: (code: number) => void): void {
  const output = program.command("output").description("test the outputs to stores");
  const test = addConfigOption(output.command("test <name>"))
    .description(
      `send one record to an output, also to one that is off: ${storeKinds.join(", ")}, or one of yours such as kafka-edge`,
    )
    .action(async (name: string) => {
      const { settings } = await commandSettings(test, terminal);
      const found = storeOutput(name, settings);
      if (found === undefined) {
        terminal.err(`error: there is no output ${name}: one of ${storeOutputNames(settings).join(", ")}\n`);
        setExitCode(exitCodes.usage);
        return;
      }
      const signal = AbortSignal.timeout(found.delivery.timeoutMs);
      // No other command needs what talks to stores.
      const { createAdapter, fieldNames } = await import("../../output/index.ts");
      const adapter = createAdapter(found.store, { clock: systemClock, isEcs: found.delivery.isEcs });
      try {
        for (const warning of await adapter.open(signal)) terminal.err(`warning: ${warning}\n`);
        terminal.out(`${name}: connected\n`);
        const { refused, retry } = await adapter.send(
          testBatch(systemClock.now(), fieldNames(found.delivery.isEcs)),
          signal,
        );
        if (refused[0] !== undefined) throw new Error(`the record was refused: ${refused[0].reason}`);
        if (retry.length > 0) throw new Error("the store takes no records at present");
        terminal.out(`${name}: one record was sent and acknowledged\n`);
      } catch (error) {
        terminal.err(`error: ${name}: ${(error as Error).message}\n`);
        setExitCode(exitCodes.failure);
      } finally {
        await adapter.close();
      }
    });
}

/** One record, from an address that is kept for documentation. */
function testBatch(now: number, nameOf: (field: string) => string): RecordBatch {
  const time = new Date(now).toISOString();
  const fields = { "@timestamp": time, "flow.export.ip.addr": "192.0.2.1", "flow.export.type": "test" };
  const named = Object.entries(fields).map(([field, value]) => [nameOf(field), value]);
  const line = Buffer.from(`${JSON.stringify(Object.fromEntries(named))}\n`);
  const id = { instance: "test", number: now };
  return { id, chunks: [line], count: 1, byteLength: line.length, oldestAt: now };
}
