import { changeEffect, type ChangeEffect } from "../definitions/diff-definitions.ts";
import { type DefinitionsDiff, diffDefinitionsInPieces, type GroupsOf } from "../definitions/diff-definitions.ts";
import type { DeviceChange } from "../definitions/diff-definitions.ts";
import type { Clock, Health, Log, Metrics } from "../../base/report/index.ts";
import type { Definitions } from "../definitions/definitions.ts";
import { formatFinding, type Finding } from "../definitions/definitions.ts";
import type { DefinitionsLoader } from "../definitions/load-definitions.ts";
import type { Pacer } from "../limits.ts";
import { deviceGroupsOf } from "../definitions/definitions.ts";
import type { DeviceTable } from "./device-table.ts";
import type { Discoveries } from "./discoveries.ts";
import type { ApplyFinding, ApplyOutcome, DefinitionsPreview } from "./snmp.ts";

/** What a change of the definitions means for one device. */
interface DeviceEffect {
  readonly deviceId: string;
  readonly changes: readonly DeviceChange[];
  readonly isRemoved: boolean;
  /** `at-once` where the file has no effect otherwise, `queued` where it was asked for; undefined: none. */
  readonly discovery: "at-once" | "queued" | undefined;
  /** What waits for the next discovery. */
  readonly pending: readonly string[];
}

/** Works out by the table of changes what happens to each device for which something is different. */
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
      // A discovery finds what would wait.
      pending: discovery === undefined ? [...new Set(waiting.map(({ subject }) => subject ?? deviceId))].sort() : [],
    };
  });
}

/** The report of an apply, as it is shown to the client: only kinds for which something is different are in it. */
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

/** Puts definitions to use. */
export interface DefinitionsInUse {
  /** undefined until they were read for the first time. */
  readonly current: Definitions | undefined;
  /** Reads them for the first time: what is wrong is left out and reported. */
  load(): Promise<{ readonly definitions: Definitions; readonly isWhole: boolean }>;
  /** Reads all again and uses them, or, with any error, none of them. One runs at a time; a call joins one that waits. */
  apply(forceRediscovery: boolean): Promise<ApplyOutcome>;
  /** Reads all and says what `apply` would do now. Changes nothing. */
  preview(): Promise<DefinitionsPreview>;
  /** Resolves when no call of `apply` runs. */
  idle(): Promise<void>;
}

export interface DefinitionsInUseParts {
  readonly loader: DefinitionsLoader;
  readonly devices: DeviceTable;
  readonly discoveries: Pick<Discoveries, "require">;
  readonly isRunning: () => boolean;
  /** Whether a device is to be polled here. */
  readonly isOurs: (deviceId: string) => boolean;
  /** Called with definitions that came into use, before devices are added. */
  readonly changed: (definitions: Definitions) => void;
  /** When the first work of one of this many devices begins, milliseconds from now. */
  readonly spread: (devices: number) => number;
  readonly pacer: Pacer;
  readonly clock: Clock;
  readonly health: Health;
  readonly metrics: Metrics;
  /** Limited in rate. */
  readonly log: Log;
  /** Not limited: every finding is logged. */
  readonly findingsLog: Log;
}

const checkName = "snmp definitions";

export function createDefinitionsInUse(parts: DefinitionsInUseParts): DefinitionsInUse {
  const { loader, devices, discoveries, pacer, clock, health, log } = parts;
  const applies = parts.metrics.counter("netgloss_snmp_applies_total", "Definitions applied again, by result", {
    result: ["applied", "rejected"],
  });
  let current: Definitions | undefined;
  let applying: Promise<unknown> = Promise.resolve();
  /** Applies that wait for those before them: what they will read is not read yet, so that others can join them. */
  const waiting = new Map<boolean, Promise<ApplyOutcome>>();
  let waitingPreview: Promise<DefinitionsPreview> | undefined;
  const groupsOf: GroupsOf = (set, device) =>
    deviceGroupsOf(set, device, devices.pollers.get(device.id)?.plan?.sysObjectId);

  function report(findings: readonly Finding[], definitions: Definitions): void {
    const errors = errorsOf(findings);
    const [first] = errors;
    const detail =
      first === undefined
        ? `revision ${definitions.revision.slice(0, 12)}, ${definitions.devices.size} devices`
        : `${errors.length} errors, what is wrong is left out: ${formatFinding(first)}`;
    health.set({ name: checkName, ready: true, ...(first !== undefined && { degraded: true }), detail });
    for (const finding of errors)
      parts.findingsLog.error({ finding: formatFinding(finding) }, "SNMP definition left out");
  }

  function reject(old: Definitions, findings: readonly Finding[]): ApplyOutcome {
    applies.add(1, { result: "rejected" });
    const errors = errorsOf(findings);
    const [first] = errors.map(formatFinding);
    const detail = `revision ${old.revision.slice(0, 12)} stays: the files have ${errors.length} errors: ${first}`;
    health.set({ name: checkName, ready: true, degraded: true, detail });
    log.warn({ errors: errors.length, first }, "SNMP definitions not applied: the old set stays in use");
    return { ok: false, findings: errors.map(applyFinding) };
  }

  async function applyNow(old: Definitions, forceRediscovery: boolean): Promise<ApplyOutcome> {
    const start = clock.monotonic();
    const { definitions: next, findings } = await loader.load("apply");
    if (next === undefined) return reject(old, findings);
    const diff = await diffDefinitionsInPieces(old, next, groupsOf, pacer);
    const effects = planEffects(diff, forceRediscovery);
    current = next;
    if (old.revision !== next.revision) await carryOut(next, effects);
    report(findings, next);
    applies.add(1, { result: "applied" });
    const seconds = Math.round(clock.monotonic() - start) / 1000;
    log.info({ revision: next.revision, devices: effects.length, seconds }, "SNMP definitions applied");
    return { ok: true, report: applyReport(next.revision, diff, effects, next.warnings.map(formatFinding), seconds) };
  }

  async function previewNow(old: Definitions): Promise<DefinitionsPreview> {
    const start = clock.monotonic();
    const { definitions: next, findings } = await loader.load("apply");
    const inUse = { revision: old.revision, devices: old.devices.size };
    if (next === undefined) return { ok: false, inUse, findings: errorsOf(findings).map(applyFinding) };
    const diff = await diffDefinitionsInPieces(old, next, groupsOf, pacer);
    const effects = planEffects(diff, false);
    const seconds = Math.round(clock.monotonic() - start) / 1000;
    return {
      ok: true,
      inUse,
      report: applyReport(next.revision, diff, effects, next.warnings.map(formatFinding), seconds),
    };
  }

  async function carryOut(next: Definitions, effects: readonly DeviceEffect[]): Promise<void> {
    const discovered = effects.filter(({ discovery }) => discovery !== undefined).length;
    for (const { deviceId, isRemoved } of effects) if (isRemoved) devices.remove(deviceId);
    parts.changed(next);
    for (const [id, device] of next.devices) {
      if (pacer.isDue()) await pacer.rest();
      if (!parts.isRunning()) return;
      const poller = devices.pollers.get(id);
      if (poller !== undefined) poller.update(device, next);
      else if (parts.isOurs(id)) devices.add(device, next);
    }
    for (const { deviceId, discovery, pending } of effects) {
      if (pacer.isDue()) await pacer.rest();
      if (!devices.pollers.has(deviceId)) continue;
      devices.addPending(deviceId, pending);
      if (discovery !== undefined) discoveries.require(deviceId, parts.spread(discovered));
    }
  }

  return {
    get current() {
      return current;
    },
    async load() {
      const { definitions, findings } = await loader.load("start");
      current = definitions as Definitions;
      report(findings, current);
      return { definitions: current, isWhole: errorsOf(findings).length === 0 };
    },
    apply(forceRediscovery) {
      const joined = waiting.get(forceRediscovery);
      if (joined !== undefined) return joined;
      const applied = applying.then(() => {
        waiting.delete(forceRediscovery);
        if (current === undefined) throw new Error("SNMP has not started");
        return applyNow(current, forceRediscovery);
      });
      waiting.set(forceRediscovery, applied);
      applying = applied.catch(() => {});
      return applied;
    },
    preview() {
      if (waitingPreview !== undefined) return waitingPreview;
      const shown = applying.then(() => {
        waitingPreview = undefined;
        if (current === undefined) throw new Error("SNMP has not started");
        return previewNow(current);
      });
      waitingPreview = shown;
      applying = shown.catch(() => {});
      return shown;
    },
    async idle() {
      await applying;
    },
  };
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
