import { createRequire } from "node:module";
import type * as Pino from "pino";
import type { Metrics } from "./metrics.ts";

/** The source of time. Tests pass their own. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Returns milliseconds of a clock that never goes back. Only differences are meaningful. */
  monotonic(): number;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
};

export interface Check {
  readonly name: string;
  /** True if the part works. A part that is not ready makes `/readyz` answer 503. */
  readonly ready: boolean;
  /** True if it is ready but something is lost or missing; `detail` says what. */
  readonly degraded?: boolean;
  /** The note for an operator, one line. */
  readonly detail?: string;
}

/** Readiness by named checks. The collector is ready when all checks are. */
export interface Health {
  /** Sets or replaces the check of this name. */
  set(check: Check): void;
  isReady(): boolean;
  /** Reports whether it is ready, but not everything works. */
  isDegraded(): boolean;
  /** Returns all checks, in the order in which they were first set. */
  checks(): readonly Check[];
  /** Calls the listener after each change. @returns a function that ends that. */
  watch(listener: () => void): () => void;
}

export function createHealth(): Health {
  const checks = new Map<string, Check>();
  const listeners = new Set<() => void>();
  const isReady = (): boolean => [...checks.values()].every((check) => check.ready);
  return {
    set(check) {
      checks.set(check.name, check);
      for (const listener of listeners) listener();
    },
    isReady,
    isDegraded: () => isReady() && [...checks.values()].some((check) => check.degraded === true),
    checks: () => [...checks.values()],
    watch(listener) {
      const own = (): void => listener();
      listeners.add(own);
      return () => void listeners.delete(own);
    },
  };
}

const reasons: Readonly<Record<string, string>> = {
  EADDRINUSE: "another program has it, or another collector",
  EACCES: "ports below 1024 need the right to bind them",
  EADDRNOTAVAIL: "no interface of this host has the address",
};

/** Returns why a port cannot be opened, with the system's error code. */
export function listenFault(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  const reason = code === undefined ? undefined : reasons[code];
  return reason === undefined ? message : `${reason} (${code})`;
}

/**
 * Limits the lines of a log: a burst at once, and more with each second.
 *
 * @returns a function that takes one line from the budget; it returns false when the budget is used up.
 */
export function createLineBudget(clock: Pick<Clock, "monotonic">, burst = 20, perSecond = 10): () => boolean {
  let left = burst;
  let last = clock.monotonic();
  return () => {
    const now = clock.monotonic();
    left = Math.min(burst, left + ((now - last) * perSecond) / 1000);
    last = now;
    if (left < 1) return false;
    left--;
    return true;
  };
}

/** An error as a field of the log. */
interface ErrorField {
  readonly type: string;
  /** The message, and the messages of its causes that it does not repeat. */
  readonly message: string;
  readonly code?: string | number;
  /** The stack of a bug. For a fault that an operator can fix, the message is enough. */
  readonly stack?: readonly string[];
}

/** Errors of these classes are bugs of the program, not faults of its input. */
const bugs = [TypeError, RangeError, ReferenceError, SyntaxError];
const maxCauses = 5;

/** Reports whether an error is no bug of the program, so that its message is enough. */
export function isExpected(error: unknown): error is Error {
  return error instanceof Error && !bugs.some((bug) => error instanceof bug);
}

/** Describes a thrown value for the log. Each message occurs once. */
export function describeError(thrown: unknown): unknown {
  if (!(thrown instanceof Error)) return thrown;
  const { code } = thrown as { code?: unknown };
  return {
    type: thrown.name,
    message: messagesOf(thrown),
    ...((typeof code === "string" || typeof code === "number") && { code }),
    ...(!isExpected(thrown) && { stack: framesOf(thrown) }),
  } satisfies ErrorField;
}

function messagesOf(error: Error): string {
  let text = error.message;
  let { cause } = error;
  for (let depth = 0; cause instanceof Error && depth < maxCauses; depth++) {
    if (!text.includes(cause.message)) text = `${text}: ${cause.message}`;
    ({ cause } = cause);
  }
  return text;
}

function framesOf({ stack = "" }: Error): readonly string[] {
  return stack
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line.startsWith("at "));
}

export const logLevels = ["debug", "info", "warn", "error", "silent"] as const;
export type LogLevel = (typeof logLevels)[number];
export const logFormats = ["json", "text"] as const;
export type LogFormat = (typeof logFormats)[number];

export type LogFields = Readonly<Record<string, unknown>>;

/** A structured log. The message says what happened; the fields carry the values. */
export interface Log {
  debug(fields: LogFields, message: string): void;
  info(fields: LogFields, message: string): void;
  warn(fields: LogFields, message: string): void;
  error(fields: LogFields, message: string): void;
}

export interface LogOptions {
  readonly level: LogLevel;
  readonly format: LogFormat;
  /** A name that each line carries as `instance`. None where it is empty or absent. */
  readonly instance?: string;
  readonly destination: { write(line: string): unknown };
}

/** pino takes longer to load than most commands to run, and threads pass their lines on. So only the creator of a log loads it. */
const loadPino = (): typeof Pino => createRequire(import.meta.url)("pino") as typeof Pino;

/** Creates a log of lines: JSON (pino's), or `time LEVEL message field=value …` for people. */
export function createLog(options: LogOptions): Log {
  const destination: Pino.DestinationStream =
    options.format === "json"
      ? { write: (line) => void options.destination.write(line) }
      : { write: (line) => void options.destination.write(formatText(line)) };
  const { instance = "" } = options;
  const { pino } = loadPino();
  const logger = pino(
    {
      level: options.level,
      base: instance === "" ? null : { instance },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { error: describeError },
    },
    destination,
  );
  return {
    debug: (fields, message) => logger.debug(fields, message),
    info: (fields, message) => logger.info(fields, message),
    warn: (fields, message) => logger.warn(fields, message),
    error: (fields, message) => logger.error(fields, message),
  };
}

/** A log that writes nothing. */
export const silentLog: Log = { debug() {}, info() {}, warn() {}, error() {} };

/** Returns a log whose lines also have these fields. */
export function logWith(fields: object, log: Log): Log {
  return {
    debug: (more, message) => log.debug({ ...fields, ...more }, message),
    info: (more, message) => log.info({ ...fields, ...more }, message),
    warn: (more, message) => log.warn({ ...fields, ...more }, message),
    error: (more, message) => log.error({ ...fields, ...more }, message),
  };
}

/**
 * Returns a log that passes at most one line for each message text in `intervalMs`. The next passed line carries `suppressed`, the number of lines left
 * out. For messages that a stranger's packets or requests can cause repeatedly.
 */
export function limitLog(log: Log, clock: Clock, intervalMs = 10_000): Log {
  const last = new Map<string, { at: number; suppressed: number }>();
  const limited =
    (level: keyof Log) =>
    (fields: LogFields, message: string): void => {
      const now = clock.monotonic();
      const previous = last.get(message);
      if (previous !== undefined && now - previous.at < intervalMs) {
        previous.suppressed++;
        return;
      }
      last.set(message, { at: now, suppressed: 0 });
      const suppressed = previous?.suppressed ?? 0;
      log[level](suppressed > 0 ? { ...fields, suppressed } : fields, message);
    };
  return { debug: limited("debug"), info: limited("info"), warn: limited("warn"), error: limited("error") };
}

function formatText(line: string): string {
  const { time, level, msg, ...fields } = JSON.parse(line) as Record<string, unknown>;
  const rest = Object.entries(fields).map(([name, value]) => ` ${name}=${formatField(value)}`);
  return `${String(time)} ${String(level).toUpperCase().padEnd(5)} ${String(msg)}${rest.join("")}\n`;
}

function formatField(value: unknown): string {
  if (typeof value === "string") return /^[^\s"=]+$/.test(value) ? value : JSON.stringify(value);
  if (typeof value === "object" && value !== null && "message" in value) {
    const stack = "stack" in value ? ` stack=${JSON.stringify(value.stack)}` : "";
    return JSON.stringify(value.message) + stack;
  }
  return JSON.stringify(value);
}

/**
 * A part of the collector with a life cycle. Its constructor has no effects: nothing is opened before `start`, and nothing is open after `stop`. `stop`
 * finishes running work, and may be called on a component that never started.
 */
export interface Component {
  readonly name: string;
  start(): Promise<void>;
  stop(): Promise<void>;
}

/** Milliseconds before a slow start is first logged, and between repetitions. */
const slowStartMs = 1000;

/**
 * Starts components in order. When one fails, it stops those already started in reverse order and throws the failure. It logs a start that takes more
 * than a second.
 */
export async function startComponents(components: readonly Component[], log: Log): Promise<void> {
  for (const [i, component] of components.entries()) {
    let seconds = 0;
    const slow = setInterval(() => {
      seconds += slowStartMs / 1000;
      log.info({ part: component.name, seconds }, "still starting");
    }, slowStartMs);
    try {
      await component.start();
    } catch (error) {
      await stopComponents(components.slice(0, i), log);
      throw error;
    } finally {
      clearInterval(slow);
    }
  }
}

/** Stops components in reverse order. It logs a failure and stops the others all the same. */
export async function stopComponents(components: readonly Component[], log: Log): Promise<void> {
  for (const component of components.toReversed()) {
    try {
      await component.stop();
    } catch (error) {
      log.error({ component: component.name, error }, "component did not stop cleanly");
    }
  }
}

/** The log, metrics, clock and health that every room uses to report. */
export interface Reporting {
  readonly log: Log;
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly health: Health;
}
