import type { Clock, Log } from "../../base/report/index.ts";
import type { Definitions } from "../definitions/definitions.ts";
import {
  discover,
  type DiscoverParts,
  DiscoveryQueue,
  type DiscoveryOutcome,
  type DiscoveryState,
} from "../discovery/discover.ts";
import type { MemoryBudget } from "../limits.ts";
import { type PlanStore, planText } from "../discovery/device-plan.ts";
import type { SnmpClient } from "../session/snmp-client.ts";
import { SnmpError } from "../session/snmp-error.ts";
import type { DeviceTable } from "./device-table.ts";
import type { DeviceSharing } from "./snmp-options.ts";

/** Waits for a promise. @returns undefined if the time was over first, or the signal aborted. */
export async function waitFor<T>(promise: Promise<T>, ms: number, signal: AbortSignal): Promise<T | undefined> {
  let giveUp: () => void = () => {};
  const given = new Promise<undefined>((resolve) => (giveUp = () => resolve(undefined)));
  const timer = setTimeout(giveUp, ms);
  signal.addEventListener("abort", giveUp);
  if (signal.aborted) giveUp();
  try {
    return await Promise.race([promise, given]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", giveUp);
  }
}

interface DiscoveriesParts {
  readonly client: SnmpClient;
  readonly devices: Pick<DeviceTable, "pollers" | "pendingOf" | "settlePending">;
  readonly plans: PlanStore;
  readonly memory: MemoryBudget;
  /** Keeps plans for the other collectors, too. */
  readonly sharing: Pick<DeviceSharing, "keep"> | undefined;
  readonly definitions: () => Definitions | undefined;
  readonly clock: Clock;
  /** A log with a limited rate. */
  readonly log: Log;
}

/** The most discoveries at the same time; they mostly wait for devices. */
const maxDiscoveries = 128;
/**
 * The least time between discoveries that a device causes itself. It doubles with each of them, because some devices change each
 * minute, and is reset after four times of quiet.
 */
const askEveryMs = 60_000;
const askSeldomMs = 3_600_000;

/** The duration of an event loop cycle above which other work precedes discoveries. */
const busyMs = 5;
/** The messages of discoveries in a busy cycle of the event loop; below, in an idle one. */
const minAtOnce = 4;
const maxAtOnce = 32;

/**
 * Sends the messages of discoveries one after another, and fewer while the event loop is busy. Discoveries of many devices take
 * minutes, and polls must be on time.
 */
export class BackgroundTurns {
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #waiting: (() => void)[] = [];
  #atOnce = minAtOnce;
  #isArmed = false;

  constructor(clock: Pick<Clock, "monotonic">) {
    this.#clock = clock;
  }

  next(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      if (!this.#isArmed) this.#arm();
    });
  }

  #arm(): void {
    this.#isArmed = true;
    const armedAt = this.#clock.monotonic();
    setTimeout(() => {
      const isBusy = this.#clock.monotonic() - armedAt > busyMs;
      this.#atOnce = isBusy ? Math.max(minAtOnce, this.#atOnce >> 1) : Math.min(maxAtOnce, 2 * this.#atOnce);
      for (const resolve of this.#waiting.splice(0, this.#atOnce)) resolve();
      this.#isArmed = false;
      if (this.#waiting.length > 0) this.#arm();
    }, 1);
  }
}

/** Receives requests for discoveries, and runs them. */
export class Discoveries {
  readonly #parts: DiscoveriesParts;
  readonly #devices: Pick<DeviceTable, "pollers" | "pendingOf" | "settlePending">;
  readonly #plans: PlanStore;
  readonly #clock: Clock;
  readonly #log: Log;
  #isStopped = false;
  readonly #discoverParts: DiscoverParts;
  readonly #queue: DiscoveryQueue;
  /** The devices that must be discovered, with the number of the last demand. */
  readonly #required = new Map<string, number>();
  readonly #lastAsked = new Map<string, { readonly at: number; readonly everyMs: number }>();
  #demands = 0;

  constructor(parts: DiscoveriesParts) {
    this.#parts = parts;
    this.#devices = parts.devices;
    this.#plans = parts.plans;
    this.#clock = parts.clock;
    this.#log = parts.log;
    const turns = new BackgroundTurns(parts.clock);
    this.#discoverParts = {
      client: { open: (target) => parts.client.open({ ...target, turn: () => turns.next() }) },
      memory: parts.memory,
      now: () => parts.clock.now(),
      isWanted: () => !this.#isStopped,
    };
    this.#queue = new DiscoveryQueue(
      (deviceId) => this.#run(deviceId),
      () => parts.clock.monotonic(),
      maxDiscoveries,
    );
  }

  /** Requests a discovery without which something has no effect. It is repeated until it succeeds. */
  require(deviceId: string, delayMs: number): void {
    this.#required.set(deviceId, ++this.#demands);
    void this.#queue.request(deviceId, delayMs, true);
  }

  /** Requests a discovery because of an answer of the device: at once, but at most once a minute, and less and less often. */
  ask(deviceId: string, reason: string): void {
    if (!this.#devices.pollers.has(deviceId) || this.#queue.state(deviceId) === "queued") return;
    const now = this.#clock.monotonic();
    // A device whose values change at every poll must not be discovered at every poll.
    const last = this.#lastAsked.get(deviceId) ?? { at: -Infinity, everyMs: askEveryMs };
    const at = Math.max(now, last.at + last.everyMs);
    const isQuiet = now > last.at + 4 * last.everyMs;
    this.#lastAsked.set(deviceId, { at, everyMs: isQuiet ? askEveryMs : Math.min(askSeldomMs, last.everyMs * 2) });
    this.#log.info({ device: deviceId, reason }, "an SNMP device is discovered again");
    void this.#queue.request(deviceId, at - now, true);
  }

  /** Handles an answer of a silent device. */
  answersAgain(deviceId: string): void {
    const poller = this.#devices.pollers.get(deviceId);
    if (poller === undefined || (poller.state === "up" && !this.#required.has(deviceId))) return;
    void this.#queue.request(deviceId, 0, false);
  }

  /** Begins a discovery or joins the running one. */
  join(deviceId: string): Promise<DiscoveryOutcome> {
    return this.#queue.request(deviceId, 0, false);
  }

  state(deviceId: string): DiscoveryState | undefined {
    return this.#queue.state(deviceId);
  }

  counts(): { readonly queued: number; readonly running: number } {
    return this.#queue.counts();
  }

  /** Forgets a device that was removed. */
  forget(deviceId: string): void {
    this.#required.delete(deviceId);
    this.#lastAsked.delete(deviceId);
    this.#queue.cancel(deviceId);
  }

  stop(): Promise<void> {
    this.#isStopped = true;
    return this.#queue.stop();
  }

  async #run(deviceId: string): Promise<DiscoveryOutcome> {
    const poller = this.#devices.pollers.get(deviceId);
    const definitions = this.#parts.definitions();
    if (poller === undefined || definitions === undefined) return { ok: false, error: "the device was removed" };
    const { device } = poller;
    const waited = this.#devices.pendingOf(deviceId);
    const demand = this.#required.get(deviceId);
    try {
      const plan = await discover(this.#discoverParts, device, definitions, poller.plan);
      if (this.#devices.pollers.get(deviceId) !== poller) return { ok: false, error: "the device was removed" };
      poller.counts.discoveries++;
      poller.follow(plan);
      this.#devices.settlePending(deviceId, waited);
      if (this.#required.get(deviceId) === demand) this.#required.delete(deviceId);
      await Promise.all([this.#plans.save(plan), this.#parts.sharing?.keep(deviceId, planText(plan))]);
      this.#log.info(
        { device: deviceId, groups: plan.deviceGroups, objects: plan.objects.size },
        "SNMP device discovered",
      );
      return { ok: true };
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      if (this.#devices.pollers.get(deviceId) !== poller) return { ok: false, error: message };
      poller.counts.failedDiscoveries++;
      poller.discoveryFailed(message);
      if (error instanceof SnmpError) this.#log.warn({ device: deviceId, error: message }, "SNMP discovery failed");
      else this.#log.error({ device: deviceId, error }, "SNMP discovery failed by a fault of the collector");
      // A silent device gets one request each interval, and is discovered when it answers again.
      if (this.#required.has(deviceId) && poller.state === "up") this.#again(deviceId, poller.device.pollIntervalMs);
      return { ok: false, error: message };
    }
  }

  #again(deviceId: string, delayMs: number): void {
    // The current run is not over yet, so another one must follow it.
    void this.#queue.request(deviceId, delayMs, true);
  }
}
