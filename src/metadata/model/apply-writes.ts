import type { Log } from "../../base/report/index.ts";
import { excessOf, measureEntry } from "./check-udm.ts";
import { type UdmEntry, type UdmValues, sameEntry } from "./entry.ts";
import {
  maxViolations,
  UdmError,
  type EditedEntry,
  type UdmErrorCode,
  type UdmViolation,
  type UdmEdit,
  type UdmWrite,
} from "./udm-store.ts";
import type { Key } from "../../base/ip/index.ts";
import { quote } from "../../base/text/index.ts";
import { renderEntry } from "./render-entry.ts";

/** Items worked on between two cycles of the event loop: a millisecond or two of it. */
export const itemsPerYield = 100;

/** Lets other work of the event loop go first. */
export function yieldToEventLoop(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** The effect of a write on its key; undefined is no entry. */
export interface EntryChange {
  readonly before: UdmEntry | undefined;
  readonly after: UdmEntry | undefined;
}

/**
 * Applies one batch to the edit: all of it or, when it breaks a rule, nothing. A big one takes several cycles of the event
 * loop; nothing else may use the edit meanwhile.
 *
 * @param note takes what is done to the file: the entry's YAML, undefined when it is gone. It counts only if nothing is thrown.
 * @returns what each write did.
 * @throws UdmError with all violations, at most {@link maxViolations}; its code is that of the first.
 */
export async function applyWrites(
  edit: UdmEdit,
  writes: readonly UdmWrite[],
  note: (key: Key, yaml: string | undefined) => void,
): Promise<readonly EntryChange[]> {
  const violations: UdmViolation[] = [];
  let code: UdmErrorCode | undefined;
  const results: EntryChange[] = [];
  const firstIndex = new Map<string, number>();

  for (const [index, write] of writes.entries()) {
    if (index % itemsPerYield === itemsPerYield - 1) await yieldToEventLoop();
    const before = edit.get(write.key);
    const earlier = firstIndex.get(write.key.text);
    if (earlier === undefined) firstIndex.set(write.key.text, index);
    const made = refuse(write, before, earlier) ?? resultOf(write, before);
    const outcome = "refused" in made ? made : (tooMuch(made.entry, before) ?? made);
    if (!("refused" in outcome)) {
      results.push({ before, after: outcome.entry });
    } else if (violations.length < maxViolations) {
      code ??= outcome.refused;
      violations.push({ index, field: outcome.field, description: outcome.description });
    }
  }
  if (code !== undefined) throw new UdmError(code, violations[0]?.description ?? "", violations);

  const mark = edit.mark();
  try {
    for (const [index, { before, after }] of results.entries()) {
      if (index % itemsPerYield === itemsPerYield - 1) await yieldToEventLoop();
      // Imports mostly bring what is there already.
      if (writes[index]?.op === "edit" && before !== undefined && after !== undefined && sameEntry(before, after))
        continue;
      if (after !== undefined) {
        const yaml = renderEntry(after);
        edit.put(after, yaml);
        note(after.key, yaml);
      } else if (before !== undefined) {
        edit.delete(before.key);
        note(before.key, undefined);
      }
    }
  } catch (error) {
    mark.undo();
    throw error;
  }
  mark.keep();
  return results;
}

/** Tells whether there is a difference. */
export function isChange({ before, after }: EntryChange): boolean {
  if (before === undefined || after === undefined) return before !== after;
  return !sameEntry(before, after);
}

type Refusal = Extract<EditedEntry, { readonly refused: UdmErrorCode }>;

function refuse(write: UdmWrite, found: UdmEntry | undefined, earlier: number | undefined): Refusal | undefined {
  const no = (refused: UdmErrorCode, why: string): Refusal => {
    return { refused, field: "key", description: `key ${quote(write.key.text)} ${why}` };
  };
  if (earlier !== undefined) return no("invalid_argument", `is already in the batch, at position ${earlier}`);
  if (found !== undefined && found.key.text !== write.key.text) {
    const code = write.op === "update" || write.op === "delete" ? "not_found" : "already_exists";
    return no(code, `has the digest of ${quote(found.key.text)}, which is there: delete that one first`);
  }
  if (write.op === "create" && found !== undefined) return no("already_exists", "already exists");
  if ((write.op === "update" || write.op === "delete") && found === undefined) return no("not_found", "does not exist");
  return undefined;
}

/** An entry may hold more than is allowed when it came from the file, but no write makes it hold more. */
function tooMuch(after: UdmEntry | undefined, before: UdmEntry | undefined): Refusal | undefined {
  if (after === undefined) return undefined;
  const amounts = measureEntry(after);
  if (excessOf(amounts) === undefined) return undefined;
  const excess = excessOf(amounts, after.key.text, before && measureEntry(before));
  return excess && { refused: "invalid_argument", ...excess };
}

/** The entry that the write leaves, if any. */
function resultOf(write: UdmWrite, found: UdmEntry | undefined): { readonly entry: UdmEntry | undefined } | Refusal {
  if (write.op === "edit") return write.edit(found);
  if (write.op === "delete") return { entry: undefined };
  const { key } = write;
  if (found === undefined) return { entry: { key, ...onlyValues(write.values) } };
  const values = { ...onlyValues(found), ...changedValues(write) };
  return { entry: { key, ...values, ...(found.fileOnly !== undefined && { fileOnly: found.fileOnly }) } };
}

function changedValues(write: Extract<UdmWrite, { op: "create" | "update" }>): Partial<UdmValues> {
  const values = onlyValues(write.values);
  if (write.op === "create" || write.fields === undefined) return values;
  return Object.fromEntries(write.fields.map((field) => [field, values[field]]));
}

/** Exactly the fields of {@link UdmValues}: a caller may pass a whole entry. */
function onlyValues({ name, tags, vlan, internal, metadata }: UdmValues): UdmValues {
  return { name, tags, vlan, internal, metadata };
}

/** Notifies listeners of changes. One that fails is logged, and the others are called all the same. */
export class Watchers<T extends readonly unknown[]> {
  readonly #listeners = new Set<(...change: T) => void>();
  readonly #log: Log;
  readonly #failure: string;

  /** @param failure what is logged of a listener that throws. */
  constructor(log: Log, failure: string) {
    this.#log = log;
    this.#failure = failure;
  }

  isEmpty(): boolean {
    return this.#listeners.size === 0;
  }

  /** @param now what it is called with at once. @returns a function that ends it. */
  add(listener: (...change: T) => void, now?: T): () => void {
    this.#listeners.add(listener);
    if (now !== undefined) this.#notify(listener, now);
    return () => void this.#listeners.delete(listener);
  }

  notify(...change: T): void {
    for (const listener of this.#listeners) this.#notify(listener, change);
  }

  #notify(listener: (...change: T) => void, change: T): void {
    try {
      listener(...change);
    } catch (error) {
      this.#log.error({ error }, this.#failure);
    }
  }
}
