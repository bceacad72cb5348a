import { changeEffect, type ChangeEffect } from "../definitions/diff-definitions.ts";
import { type DefinitionsDiff, diffDefinitionsInPieces, type GroupsOf } from "../definitions/diff-definitions.ts";
import type { DeviceChange } from "../definitions/diff-definitions.ts";
import type { Counter, Clock, Health, Log, Metrics } from "../../base/report/index.ts";
import type { Definitions } from "../definitions/definitions.ts";
import { formatFinding, type Finding } from "../definitions/definitions.ts";
import type { DefinitionsLoader } from "../definitions/load-definitions.ts";
import type { Pacer } from "../limits.ts";
import { deviceGroupsOf } from "../definitions/definitions.ts";
import type { DeviceTable } from "./device-table.ts";
import type { Discoveries } from "./discoveries.ts";
import type { ApplyFinding, ApplyOutcome, DefinitionsPreview } from "./snmp-options.ts";

/** The effect of a change of the definitions on one device. */
interface DeviceEffect {
  readonly deviceId: string;
  readonly changes: readonly DeviceChange[];
  readonly isRemoved: boolean;
  /** `at-once` if the change has no effect without a discovery, `queued` if a discovery was requested; undefined for none. */
  readonly discovery: "at-once" | "queued" | undefined;
  /** The changes that wait for the next discovery. */
  readonly pending: readonly string[];
}

/** Determines, by the table of changes, the effect on each device with a difference. */
function planEffects(diff: DefinitionsDiff, forceRediscovery: boolean): DeviceEffect[] {
  return [...diff.devices].map(([deviceId, changes]) => {
    const effects = new Set<ChangeEffect>(changes.map((change) => changeEffect(change.class, forceRediscovery)));
    const discovery = effects.has("discover") ? "at-once" : effects.has("rediscover") ? "queued" : undefined;
    const waiting = changes.filter((change) => changeEffect(change.class, forceRediscovery) === "wait");
    return {
      deviceId,
      changes,
      isRemoved: effects.has("stop"),
      discovery,
      // If there is a discovery, nothing waits.
      pending: discovery === undefined ? [...new Set(waiting.map(({ subject }) => subject ?? deviceId))].sort() : [],
    };
  });
}

/** Returns the report of an apply for the client, with only the kinds that have differences. */
function applyReport(
  revision: string,
  diff: DefinitionsDiff,
  effects: readonly DeviceEffect[],
  warnings: readonly string[],
  seconds: number,
): Record<string, unknown> {
  const kinds = Object.entries(diff.byKind).filter(
    ([, { added, changed, removed }]) => added.length + changed.length + removed.length > 0,
  );
  const pending = effects.filter((effect) => effect.pending.length > 0);
  return {
    revision,
    changes: Object.fromEntries(kinds),
    affected_devices: effects.map(({ deviceId }) => deviceId),
    rediscovering: effects.filter(({ discovery }) => discovery !== undefined).map(({ deviceId }) => deviceId),
    pending: pending.map((effect) => ({ device: effect.deviceId, definitions: effect.pending })),
    warnings,
    duration_seconds: seconds,
  };
}

export interface DefinitionsInUseParts {
  readonly loader: DefinitionsLoader;
  readonly devices: DeviceTable;
  readonly discoveries: Pick<Discoveries, "require">;
  readonly isRunning: () => boolean;
  /** Reports whether a device is to be polled here. */
  readonly isOurs: (deviceId: string) => boolean;
  /** Called with definitions that came into use, before devices are added. */
  readonly changed: (definitions: Definitions) => void;
  /** Returns the delay of the first work for one of this many devices, in ms. */
  readonly spread: (devices: number) => number;
  readonly pacer: Pacer;
  readonly clock: Clock;
  readonly health: Health;
  readonly metrics: Metrics;
  /** A log with a limited rate. */
  readonly log: Log;
  /** A log without a limit, because every finding is logged. */
  readonly findingsLog: Log;
}

const checkName = "snmp definitions";

/** Loads definitions and puts them to use. */
export class DefinitionsInUse {
  readonly #parts: DefinitionsInUseParts;
  readonly #loader: DefinitionsLoader;
  readonly #devices: DeviceTable;
  readonly #discoveries: Pick<Discoveries, "require">;
  readonly #pacer: Pacer;
  readonly #clock: Clock;
  readonly #health: Health;
  readonly #log: Log;
  readonly #applies: Counter;
  #current: Definitions | undefined;
  #applying: Promise<unknown> = Promise.resolve();
  /** The calls of apply that wait for earlier ones. They have not read any file yet, so that other calls can join them. */
  readonly #waiting = new Map<boolean, Promise<ApplyOutcome>>();
  #waitingPreview: Promise<DefinitionsPreview> | undefined;
  readonly #groupsOf: GroupsOf = (set, device) =>
    deviceGroupsOf(set, device, this.#devices.pollers.get(device.id)?.plan?.sysObjectId);

  constructor(parts: DefinitionsInUseParts) {
    this.#parts = parts;
    this.#loader = parts.loader;
    this.#devices = parts.devices;
    this.#discoveries = parts.discoveries;
    this.#pacer = parts.pacer;
    this.#clock = parts.clock;
    this.#health = parts.health;
    this.#log = parts.log;
    this.#applies = parts.metrics.counter("netgloss_snmp_applies_total", "Definitions applied again, by result", {
      result: ["applied", "rejected"],
    });
  }

  /** The current definitions; undefined before the first reading. */
  get current(): Definitions | undefined {
    return this.#current;
  }

  /** Reads the definitions for the first time. Faulty parts are left out and reported. */
  async load(): Promise<{ readonly definitions: Definitions; readonly isWhole: boolean }> {
    const { definitions, findings } = await this.#loader.load("start");
    this.#current = definitions as Definitions;
    this.#report(findings, this.#current);
    return { definitions: this.#current, isWhole: errorsOf(findings).length === 0 };
  }

  /**
   * Reads all definitions again and uses them, or none of them if there is an error. One call runs at a time; a call joins one that
   * waits.
   */
  apply(forceRediscovery: boolean): Promise<ApplyOutcome> {
    const joined = this.#waiting.get(forceRediscovery);
    if (joined !== undefined) return joined;
    const applied = this.#applying.then(() => {
      this.#waiting.delete(forceRediscovery);
      if (this.#current === undefined) throw new Error("SNMP has not started");
      return this.#applyNow(this.#current, forceRediscovery);
    });
    this.#waiting.set(forceRediscovery, applied);
    this.#applying = applied.catch(() => {});
    return applied;
  }

  /** Reads all definitions and returns what `apply` would do now. Changes nothing. */
  preview(): Promise<DefinitionsPreview> {
    if (this.#waitingPreview !== undefined) return this.#waitingPreview;
    const shown = this.#applying.then(() => {
      this.#waitingPreview = undefined;
      if (this.#current === undefined) throw new Error("SNMP has not started");
      return this.#previewNow(this.#current);
    });
    this.#waitingPreview = shown;
    this.#applying = shown.catch(() => {});
    return shown;
  }

  /** Resolves when no call of `apply` runs. */
  async idle(): Promise<void> {
    await this.#applying;
  }

  #report(findings: readonly Finding[], definitions: Definitions): void {
    const errors = errorsOf(findings);
    const [first] = errors;
    const detail =
      first === undefined
        ? `revision ${definitions.revision.slice(0, 12)}, ${definitions.devices.size} devices`
        : `${errors.length} errors, what is wrong is left out: ${formatFinding(first)}`;
    this.#health.set({ name: checkName, ready: true, ...(first !== undefined && { degraded: true }), detail });
    for (const finding of errors)
      this.#parts.findingsLog.error({ finding: formatFinding(finding) }, "SNMP definition left out");
  }

  #reject(old: Definitions, findings: readonly Finding[]): ApplyOutcome {
    this.#applies.add(1, { result: "rejected" });
    const errors = errorsOf(findings);
    const [first] = errors.map(formatFinding);
    const detail = `revision ${old.revision.slice(0, 12)} stays: the files have ${errors.length} errors: ${first}`;
    this.#health.set({ name: checkName, ready: true, degraded: true, detail });
    this.#log.warn({ errors: errors.length, first }, "SNMP definitions not applied: the old set stays in use");
    return { ok: false, findings: errors.map(applyFinding) };
  }

  async #applyNow(old: Definitions, forceRediscovery: boolean): Promise<ApplyOutcome> {
    const start = this.#clock.monotonic();
    const { definitions: next, findings } = await this.#loader.load("apply");
    if (next === undefined) return this.#reject(old, findings);
    const diff = await diffDefinitionsInPieces(old, next, this.#groupsOf, this.#pacer);
    const effects = planEffects(diff, forceRediscovery);
    this.#current = next;
    if (old.revision !== next.revision) await this.#carryOut(next, effects);
    this.#report(findings, next);
    this.#applies.add(1, { result: "applied" });
    const seconds = Math.round(this.#clock.monotonic() - start) / 1000;
    this.#log.info({ revision: next.revision, devices: effects.length, seconds }, "SNMP definitions applied");
    return { ok: true, report: applyReport(next.revision, diff, effects, next.warnings.map(formatFinding), seconds) };
  }

  async #previewNow(old: Definitions): Promise<DefinitionsPreview> {
    const start = this.#clock.monotonic();
    const { definitions: next, findings } = await this.#loader.load("apply");
    const inUse = { revision: old.revision, devices: old.devices.size };
    if (next === undefined) return { ok: false, inUse, findings: errorsOf(findings).map(applyFinding) };
    const diff = await diffDefinitionsInPieces(old, next, this.#groupsOf, this.#pacer);
    const effects = planEffects(diff, false);
    const seconds = Math.round(this.#clock.monotonic() - start) / 1000;
    return {
      ok: true,
      inUse,
      report: applyReport(next.revision, diff, effects, next.warnings.map(formatFinding), seconds),
    };
  }

  async #carryOut(next: Definitions, effects: readonly DeviceEffect[]): Promise<void> {
    const discovered = effects.filter(({ discovery }) => discovery !== undefined).length;
    for (const { deviceId, isRemoved } of effects) if (isRemoved) this.#devices.remove(deviceId);
    this.#parts.changed(next);
    for (const [id, device] of next.devices) {
      if (this.#pacer.isDue()) await this.#pacer.rest();
      if (!this.#parts.isRunning()) return;
      const poller = this.#devices.pollers.get(id);
      if (poller !== undefined) poller.update(device, next);
      else if (this.#parts.isOurs(id)) this.#devices.add(device, next);
    }
    for (const { deviceId, discovery, pending } of effects) {
      if (this.#pacer.isDue()) await this.#pacer.rest();
      if (!this.#devices.pollers.has(deviceId)) continue;
      this.#devices.addPending(deviceId, pending);
      if (discovery !== undefined) this.#discoveries.require(deviceId, this.#parts.spread(discovered));
    }
  }
}

function errorsOf(findings: readonly Finding[]): Finding[] {
  return findings.filter(({ severity }) => severity === "error");
}

function applyFinding(finding: Finding): ApplyFinding {
  const { file, line, column, id, message, suggestion } = finding;
  return {
    place: line === undefined ? file : `${file}:${line}:${column}`,
    id: id ?? "",
    message: suggestion === undefined ? message : `${message} (did you mean "${suggestion}"?)`,
  };
}
