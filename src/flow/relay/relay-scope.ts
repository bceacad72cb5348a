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

/** The state of one source of messages: a sender's observation domain or Source ID, with its port. */
export class RelayScope {
  readonly key: string;
  /** The group of the scopes of the same sender and domain on other ports. */
  readonly group: string;
  /** The observation domain or Source ID in messages that are passed on. */
  readonly id: number;
  readonly templates = new Map<number, RelayTemplate>();
  /** Ids of which the last template could not be used. */
  readonly refused = new Set<number>();
  /** Ids of templates that came again although data sets did not fit them: these end so. */
  readonly loose = new Set<number>();
  /** Templates that lists refer to stay as they are; data sets then use a second template, by the id of the first. */
  aliases: Map<number, number> | undefined;
  held: HeldSet[] = [];
  /** Bytes of templates and of what is held. */
  templateBytes = 0;
  heldBytes = 0;
  /** The number that is added to sequence numbers. */
  offset = 0;
  /** The sequence number that the next message has when nothing is lost. */
  next = 0;
  /** True if `offset` holds: not after a message whose records were not all passed on. */
  isAligned = true;
  /** The socket that its templates went out by. */
  generation = -1;
  /** By its last message (NetFlow v9). */
  start: DeviceStart | undefined;
  /** When templates went out last, milliseconds of a monotonic clock (NetFlow v5). */
  announcedAt = Number.NEGATIVE_INFINITY;

  constructor(key: string, group: string, id: number) {
    this.key = key;
    this.group = group;
    this.id = id;
  }
}

export const defaultRelayLimits = {
  scopes: 4000,
  /** Templates of one scope. */
  templates: 1000,
  /** Bytes of all templates. */
  templateBytes: 32 * 2 ** 20,
  /** Data sets that wait in one scope. */
  heldSets: 64,
  /** Bytes of all data sets that wait. */
  heldBytes: 16 * 2 ** 20,
};
export type RelayLimits = Readonly<typeof defaultRelayLimits>;

/** All scopes of a relay, bounded. */
export class RelayScopes {
  readonly #limits: RelayLimits;
  readonly #dropped: () => void;
  readonly #scopes = new Map<string, RelayScope>();
  readonly #groups = new Map<string, Set<RelayScope>>();
  readonly #ids = new Map<number, string>();
  #templateBytes = 0;
  /** Bytes of data sets that wait for their template. */
  heldBytes = 0;

  /** @param dropped is called for each data set that nobody will wait for any more. */
  constructor(limits: RelayLimits, dropped: () => void) {
    this.#limits = limits;
    this.#dropped = dropped;
  }

  /**
   * The scope of a group and port, made on first sight. Beyond the limit the one not used for longest is forgotten.
   *
   * @param start where it is known, a new port belongs to the scope of the group that has the same: an exporter may change its port.
   */
  of(group: string, port: number, id: (isTaken: (id: number) => boolean) => number, start?: DeviceStart): RelayScope {
    const key = `${group} ${port}`;
    let scope = this.#scopes.get(key) ?? (start && this.#scopeOfStart(group, start));
    if (scope === undefined) {
      if (this.#scopes.size >= this.#limits.scopes) this.#forgetOldest(undefined);
      scope = new RelayScope(
        key,
        group,
        id((one) => this.#ids.has(one)),
      );
      this.#ids.set(scope.id, key);
      const others = this.#groups.get(group);
      if (others === undefined) this.#groups.set(group, new Set([scope]));
      else others.add(scope);
    } else this.#scopes.delete(scope.key);
    // The order of insertion is the order of use.
    this.#scopes.set(scope.key, scope);
    scope.start = start;
    return scope;
  }

  /** The only template of an id that other scopes of the group have, for a sender that uses two ports or started again. */
  templateOfOthers(scope: RelayScope, id: number): RelayTemplate | undefined {
    let only: RelayTemplate | undefined;
    for (const { templates, start } of this.#groups.get(scope.group) ?? []) {
      const isOther = start !== undefined && scope.start !== undefined && isOtherBoot(start, scope.start);
      const one = isOther ? undefined : templates.get(id);
      if (one !== undefined && only !== undefined && !one.raw.equals(only.raw)) return undefined;
      only ??= one;
    }
    return only;
  }

  /** Keeps a template. Returns false where there is no room. */
  define(scope: RelayScope, template: RelayTemplate): boolean {
    const { templates, templateBytes } = this.#limits;
    this.withdraw(scope, template.id);
    const size = sizeOf(template);
    if (scope.templates.size >= templates || size > templateBytes) return false;
    while (this.#templateBytes + size > templateBytes) if (!this.#forgetOldest(scope)) return false;
    scope.templates.set(template.id, template);
    scope.refused.delete(template.id);
    this.#countTemplate(scope, size);
    return true;
  }

  withdraw(scope: RelayScope, id: number): void {
    const known = scope.templates.get(id);
    if (known === undefined) return;
    this.#countTemplate(scope, -sizeOf(known));
    scope.templates.delete(id);
  }

  /** Keeps a data set until its template comes; the oldest of the scope gives way. */
  hold(scope: RelayScope, set: HeldSet): void {
    if (scope.held.length >= this.#limits.heldSets) this.#dropOldest(scope);
    while (this.heldBytes + set.bytes.length > this.#limits.heldBytes) {
      if (this.#dropOldest(scope)) continue;
      this.#dropped();
      return;
    }
    scope.held.push(set);
    this.#countHeld(scope, set.bytes.length);
  }

  /** Returns the sets that waited for a template, in order. */
  release(scope: RelayScope, setId: number): readonly HeldSet[] {
    if (scope.held.length === 0) return [];
    const released = scope.held.filter((set) => set.setId === setId);
    scope.held = scope.held.filter((set) => set.setId !== setId);
    for (const { bytes } of released) this.#countHeld(scope, -bytes.length);
    return released;
  }

  #scopeOfStart(group: string, start: DeviceStart): RelayScope | undefined {
    for (const scope of this.#groups.get(group) ?? []) {
      if (scope.start !== undefined && !isOtherBoot(scope.start, start)) return scope;
    }
    return undefined;
  }

  #forgetOldest(except: RelayScope | undefined): boolean {
    for (const scope of this.#scopes.values()) {
      if (scope === except) continue;
      this.#forget(scope);
      return true;
    }
    return false;
  }

  #forget(scope: RelayScope): void {
    while (this.#dropOldest(scope));
    this.#templateBytes -= scope.templateBytes;
    this.#scopes.delete(scope.key);
    const group = this.#groups.get(scope.group);
    group?.delete(scope);
    if (group?.size === 0) this.#groups.delete(scope.group);
    if (this.#ids.get(scope.id) === scope.key) this.#ids.delete(scope.id);
  }

  #dropOldest(scope: RelayScope): boolean {
    const oldest = scope.held.shift();
    if (oldest === undefined) return false;
    this.#countHeld(scope, -oldest.bytes.length);
    this.#dropped();
    return true;
  }

  #countTemplate(scope: RelayScope, bytes: number): void {
    scope.templateBytes += bytes;
    this.#templateBytes += bytes;
  }

  #countHeld(scope: RelayScope, bytes: number): void {
    scope.heldBytes += bytes;
    this.heldBytes += bytes;
  }
}

function sizeOf({ raw, named }: RelayTemplate): number {
  return raw.length + named.length;
}
