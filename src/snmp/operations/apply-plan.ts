import { changeEffect, type ChangeEffect } from "../definitions/definition-change.ts";
import type { DefinitionsDiff } from "../definitions/diff-definitions.ts";
import type { DeviceChange } from "../definitions/diff-objects.ts";

/** What a change of the definitions means for one device. */
export interface DeviceEffect {
  readonly deviceId: string;
  readonly changes: readonly DeviceChange[];
  readonly isRemoved: boolean;
  /** `at-once` where the file has no effect otherwise, `queued` where it was asked for; undefined: none. */
  readonly discovery: "at-once" | "queued" | undefined;
  /** What waits for the next discovery. */
  readonly pending: readonly string[];
}

/** Works out by the table of changes what happens to each device for which something is different. */
export function planEffects(diff: DefinitionsDiff, forceRediscovery: boolean): DeviceEffect[] {
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
export function applyReport(
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
