import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { OutputMetrics, type OutputOptions } from "../../src/output/index.ts";
import {
  createHealth,
  createMetrics,
  systemClock,
  type Health,
  type Log,
  type Metrics,
} from "../../src/base/report/index.ts";
import { tempDirectory } from "../support/temp-directory.ts";

export interface OutputFixture {
  readonly folder: string;
  readonly metrics: Metrics;
  readonly health: Health;
  /** Messages of the log. */
  readonly messages: string[];
  readonly options: OutputOptions;
}

/** What an output needs, with quick retries and a folder that goes away with the test. */
export async function outputFixture(t: TestContext, given: Partial<OutputOptions> = {}): Promise<OutputFixture> {
  const folder = tempDirectory(t);
  const metrics = createMetrics();
  const health = createHealth();
  const messages: string[] = [];
  const note = (_: unknown, message: string): void => void messages.push(message);
  const log: Log = { debug: note, info: note, warn: note, error: note };
  const options: OutputOptions = {
    queueBytes: 1024 * 1024,
    log,
    metrics: new OutputMetrics(metrics),
    clock: systemClock,
    health,
    retryMs: 1,
    ...given,
  };
  return { folder, metrics, health, messages, options };
}

/** Lines `{"n":<from>}` to `{"n":<from+count-1>}`, with something to make them longer. */
export function lines(from: number, count: number, pad = ""): Buffer {
  return Buffer.from(Array.from({ length: count }, (_, i) => `{"n":${from + i},"pad":"${pad}"}\n`).join(""));
}

/** The numbers of the lines of a text; throws at a line that is not whole. */
export function numbers(text: string): number[] {
  if (text !== "" && !text.endsWith("\n")) throw new Error(`half a line at the end: ${text.slice(-40)}`);
  return text
    .split("\n")
    .slice(0, -1)
    .map((line) => (JSON.parse(line) as { n: number }).n);
}

export const range = (from: number, to: number): number[] => Array.from({ length: to - from }, (_, i) => from + i);

/** The contents of a file and its renamed forerunners, oldest first. */
export async function readRotated(folder: string, name: string): Promise<string[]> {
  const age = (file: string): number => (file === name ? 0 : Number(file.slice(name.length + 1)));
  const files = (await readdir(folder)).filter((file) => file === name || /^\.\d+$/.test(file.slice(name.length)));
  files.sort((a, b) => age(b) - age(a));
  return Promise.all(files.map((file) => readFile(join(folder, file), "utf8")));
}

/** Waits until the condition holds; throws after a minute. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  const start = performance.now();
  while (!(await condition())) {
    const waited = performance.now() - start;
    if (waited > 60_000) throw new Error(`waited too long for: ${String(condition)}`);
    await new Promise((resolve) => (waited < 10 ? setImmediate(resolve) : setTimeout(resolve, 2)));
  }
}
