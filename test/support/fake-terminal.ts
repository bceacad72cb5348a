import { EventEmitter } from "node:events";
import type { Terminal } from "../../src/app/index.ts";

export interface FakeTerminal extends Terminal {
  /** What was written to the standard output and error so far. */
  readonly written: { out: string; err: string };
  /** Emits signals to the program. */
  readonly signals: EventEmitter;
  /** Codes with which the program ended at once. */
  readonly exits: number[];
}

/** A terminal that keeps what is written to it. */
export function createFakeTerminal(argv: readonly string[], env: Readonly<Record<string, string>> = {}): FakeTerminal {
  const written = { out: "", err: "" };
  const exits: number[] = [];
  return {
    argv,
    env,
    written,
    exits,
    signals: new EventEmitter(),
    out: (text) => void (written.out += text),
    err: (text) => void (written.err += text),
    exit: (code) => void exits.push(code),
  };
}
