import { isOtherBoot } from "../exporters/domain.ts";
import type { RelayTemplate } from "./ipfix-message.ts";

/** A data set whose template is not known yet, and the header of its message. */
export interface HeldSet {
  readonly header: Buffer;
  readonly setId: number;
  readonly bytes: Buffer;
}

/** When a device started by its own clock, milliseconds since the epoch, and how long ago it says that is. */
export interface DeviceStart {
  readonly bootTime: number;
  readonly uptime: number;
}

/** What is kept of one source of messages: a sender's observation domain or Source ID, with its port. */
export interface RelayScope {
  readonly key: string;
  /** What it has in common with the scopes of the same sender and domain on other ports. */
  readonly group: string;
  /** The observation domain or Source ID in messages that are passed on. */
  readonly id: number;
  readonly templates: Map<number, RelayTemplate>;
  /** Ids of which the last template could not be used. */
  readonly refused: Set<number>;
  /** Ids of templates that came again although data sets did not fit them: these end so. */
  readonly loose: Set<number>;
  /** Templates that lists refer to stay as they are; data sets then use a second template, by the id of the first. */
  aliases: Map<number, number> | undefined;
  held: HeldSet[];
  /** Bytes of templates and of what is held. */
  templateBytes: number;
  heldBytes: number;
  /** What is added to sequence numbers. */
  offset: number;
  /** The sequence number that the next message has when nothing is lost. */
  next: number;
  /** Whether `offset` holds: not after a message whose records were not all passed on. */
  isAligned: boolean;
  /** The socket that its templates went out by. */
  generation: number;
  /** By its last message (NetFlow v9). */
  start: DeviceStart | undefined;
  /** When templates went out last, milliseconds of a monotonic clock (NetFlow v5). */
  announcedAt: number;
}

export interface RelayLimits {
  readonly scopes: number;
  /** Templates of one scope. */
  readonly templates: number;
  /** Bytes of all templates. */
  readonly templateBytes: number;
  /** Data sets that wait in one scope. */
  readonly heldSets: number;
  /** Bytes of all data sets that wait. */
  readonly heldBytes: number;
}

export const defaultRelayLimits: RelayLimits = {
  scopes: 4000,
  templates: 1000,
  templateBytes: 32 * 2 ** 20,
  heldSets: 64,
  heldBytes: 16 * 2 ** 20,
};

export interface RelayScopes {
  /**
   * The scope of a group and port, made on first sight. Beyond the limit the one not used for longest is forgotten.
   *
   * @param start where it is known, a new port belongs to the scope of the group that has the same: an exporter may change its port.
   */
  of(group: string, port: number, id: (isTaken: (id: number) => boolean) => number, start?: DeviceStart): RelayScope;
  /** The only template of an id that other scopes of the group have, for a sender that uses two ports or started again. */
  templateOfOthers(scope: RelayScope, id: number): RelayTemplate | undefined;
  /** Keeps a template. Returns false where there is no place. */
  define(scope: RelayScope, template: RelayTemplate): boolean;
  withdraw(scope: RelayScope, id: number): void;
  /** Keeps a data set until its template comes; the oldest of the scope gives way. */
  hold(scope: RelayScope, set: HeldSet): void;
  /** Those that waited for a template, in order. */
  release(scope: RelayScope, setId: number): readonly HeldSet[];
  heldBytes(): number;
}

/** @param dropped is called for each data set that nobody will wait for any more. */
export function createRelayScopes(limits: RelayLimits, dropped: () => void): RelayScopes {
  const scopes = new Map<string, RelayScope>();
  const groups = new Map<string, Set<RelayScope>>();
  const ids = new Map<number, string>();
  let templateBytes = 0;
  let heldBytes = 0;

  const dropOldest = (scope: RelayScope): boolean => {
    const oldest = scope.held.shift();
    if (oldest === undefined) return false;
    scope.heldBytes -= oldest.bytes.length;
    heldBytes -= oldest.bytes.length;
    dropped();
    return true;
  };
  const forget = (scope: RelayScope): void => {
    while (dropOldest(scope));
    templateBytes -= scope.templateBytes;
    scopes.delete(scope.key);
    const group = groups.get(scope.group);
    group?.delete(scope);
    if (group?.size === 0) groups.delete(scope.group);
    if (ids.get(scope.id) === scope.key) ids.delete(scope.id);
  };
  const forgetOldest = (except: RelayScope | undefined): boolean => {
    for (const scope of scopes.values()) {
      if (scope === except) continue;
      forget(scope);
      return true;
    }
    return false;
  };
  const remove = (scope: RelayScope, id: number): void => {
    const known = scope.templates.get(id);
    if (known === undefined) return;
    const size = known.raw.length + known.named.length;
    scope.templateBytes -= size;
    templateBytes -= size;
    scope.templates.delete(id);
  };

  const scopeOfStart = (group: string, start: DeviceStart): RelayScope | undefined => {
    for (const scope of groups.get(group) ?? []) {
      if (scope.start !== undefined && !isOtherBoot(scope.start, start)) return scope;
    }
    return undefined;
  };

  return {
    of(group, port, id, start) {
      const key = `${group} ${port}`;
      let scope = scopes.get(key) ?? (start && scopeOfStart(group, start));
      if (scope === undefined) {
        if (scopes.size >= limits.scopes) forgetOldest(undefined);
        scope = {
          key,
          group,
          id: id((one) => ids.has(one)),
          templates: new Map(),
          refused: new Set(),
          loose: new Set(),
          aliases: undefined,
          held: [],
          templateBytes: 0,
          heldBytes: 0,
          offset: 0,
          next: 0,
          isAligned: true,
          generation: -1,
          start,
          announcedAt: Number.NEGATIVE_INFINITY,
        };
        ids.set(scope.id, key);
        const others = groups.get(group);
        if (others === undefined) groups.set(group, new Set([scope]));
        else others.add(scope);
      } else scopes.delete(scope.key);
      // The order of insertion is the order of use.
      scopes.set(scope.key, scope);
      scope.start = start;
      return scope;
    },
    templateOfOthers(scope, id) {
      let only: RelayTemplate | undefined;
      for (const { templates, start } of groups.get(scope.group) ?? []) {
        const isOther = start !== undefined && scope.start !== undefined && isOtherBoot(start, scope.start);
        const one = isOther ? undefined : templates.get(id);
        if (one !== undefined && only !== undefined && !one.raw.equals(only.raw)) return undefined;
        only ??= one;
      }
      return only;
    },
    define(scope, template) {
      remove(scope, template.id);
      const size = template.raw.length + template.named.length;
      if (scope.templates.size >= limits.templates || size > limits.templateBytes) return false;
      while (templateBytes + size > limits.templateBytes) if (!forgetOldest(scope)) return false;
      scope.templates.set(template.id, template);
      scope.refused.delete(template.id);
      scope.templateBytes += size;
      templateBytes += size;
      return true;
    },
    withdraw: remove,
    hold(scope, set) {
      if (scope.held.length >= limits.heldSets) dropOldest(scope);
      while (heldBytes + set.bytes.length > limits.heldBytes) {
        if (dropOldest(scope)) continue;
        dropped();
        return;
      }
      scope.held.push(set);
      scope.heldBytes += set.bytes.length;
      heldBytes += set.bytes.length;
    },
    release(scope, setId) {
      if (scope.held.length === 0) return [];
      const released = scope.held.filter((set) => set.setId === setId);
      scope.held = scope.held.filter((set) => set.setId !== setId);
      for (const { bytes } of released) {
        scope.heldBytes -= bytes.length;
        heldBytes -= bytes.length;
      }
      return released;
    },
    heldBytes: () => heldBytes,
  };
}
