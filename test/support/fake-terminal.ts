import { EventEmitter } from "node:events";
import { Readable } from "node:stream";
import type { Terminal } from "../../src/app/index.ts";

export interface FakeTerminal extends Terminal {
  /** What was written to the standard output and error so far. */
  readonly written: { out: string; err: string };
  /** Emits signals to the program. */
  readonly signals: EventEmitter;
  /** Codes with which the program ended at once. */
  readonly exits: number[];
}

/** A terminal that keeps what is written to it. @param input pieces of the standard input. @param answers what a person answers to questions; without, nobody is there. */
export function createFakeTerminal(
  argv: readonly string[],
  env: Readonly<Record<string, string>> = {},
  input: readonly (string | Uint8Array)[] = [],
  answers: readonly string[] = [],
): FakeTerminal {
  const unasked = [...answers];
  const written = { out: "", err: "" };
  const exits: number[] = [];
  return {
    startedAs: "netgloss",
    argv,
    env,
    written,
    exits,
    drained: () => Promise.resolve(true),
    input: Readable.from(input),
    signals: new EventEmitter(),
    out: (text) => void (written.out += text),
    err: (text) => void (written.err += text),
    ask(question) {
      if (answers.length === 0) return Promise.resolve(undefined);
      written.err += question;
      return Promise.resolve(unasked.shift());
    },
    isWatched: false,
    exit: (code) => void exits.push(code),
  };
}
