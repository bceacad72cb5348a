import { createHealth, createMetrics, systemClock, type Log } from "../../report/index.ts";
import { createUdmFileStore, UdmError, type UdmIndex } from "../../udm/index.ts";
import type { Terminal } from "./terminal.ts";

/** Judges a metadata file as the collector would read it, and writes what it finds. @returns whether it can be used. */
export async function checkMetadata(path: string, terminal: Terminal): Promise<boolean> {
  try {
    const index = await readOnce(path, warningsOnly(terminal));
    terminal.out(`${path}: ${index.size} ${index.size === 1 ? "entry" : "entries"}\n`);
    return true;
  } catch (error) {
    if (!(error instanceof UdmError)) throw error;
    terminal.err(`error: ${error.message}\n`);
    return false;
  }
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
