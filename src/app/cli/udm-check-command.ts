import { existsSync } from "node:fs";
import type { Command } from "commander";
import { createHealth, createMetrics, systemClock, type Log } from "../../report/index.ts";
import { createUdmFileStore, UdmError, type UdmIndex } from "../../udm/index.ts";
import { exitCodes, type Terminal } from "./terminal.ts";

/** `udm check <file>`: judges a metadata file as the collector would read it. Needs no collector and changes nothing. */
export function addUdmCheckCommand(udm: Command, terminal: Terminal, setExitCode: (code: number) => void): void {
  udm
    .command("check <file>")
    .helpGroup("Offline:")
    .description("judge a metadata file without a collector; a fault is told as file:line:column")
    .action(async (path: string) => {
      if (!existsSync(path)) {
        terminal.err(`error: ${path}: no such file\n`);
        setExitCode(exitCodes.failure);
        return;
      }
      try {
        const index = await readOnce(path, warningsOnly(terminal));
        terminal.out(`${path}: ${index.size} ${index.size === 1 ? "entry" : "entries"}\n`);
      } catch (error) {
        if (!(error instanceof UdmError)) throw error;
        terminal.err(`error: ${error.message}\n`);
        setExitCode(exitCodes.failure);
      }
    });
}

function readOnce(path: string, log: Log): Promise<UdmIndex> {
  const store = createUdmFileStore({
    path,
    owned: false,
    refreshMs: 0,
    log,
    metrics: createMetrics(),
    clock: systemClock,
    health: createHealth(),
  });
  return store.load();
}

/** Passes warnings on as lines; the fault itself comes as an error. */
function warningsOnly(terminal: Terminal): Log {
  return {
    debug() {},
    info() {},
    error() {},
    warn(fields, message) {
      // The path is known: it was given.
      terminal.err(`warning: ${message}: ${JSON.stringify({ ...fields, path: undefined })}\n`);
    },
  };
}
