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

/** The number of items that are processed in one turn of the event loop, which takes one or two milliseconds. */
export const itemsPerYield = 100;

/** Waits until the event loop has done its other work. */
export function yieldToEventLoop(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** The effect of a write on its key. Undefined stands for no entry. */
export interface EntryChange {
  readonly before: UdmEntry | undefined;
  readonly after: UdmEntry | undefined;
}

/**
 * Applies one batch to the edit: all of it or, when it breaks a rule, nothing. A big batch takes several turns of the event
 * loop. Nothing else may use the edit meanwhile.
 *
 * @param note receives the changes for the file: the entry's YAML, or undefined for a deleted entry. They are valid only if nothing is thrown.
 * @returns the effect of each write.
 * @throws UdmError with all violations, at most {@link maxViolations}. Its code is that of the first violation.
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
      // Most entries of an import exist already and are the same.
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

/** Reports whether the entry differs before and after. */
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

/** Returns a refusal where a write makes an oversized entry larger. An entry from the file may exceed the limit, but no write may add to it. */
function tooMuch(after: UdmEntry | undefined, before: UdmEntry | undefined): Refusal | undefined {
  if (after === undefined) return undefined;
  const amounts = measureEntry(after);
  if (excessOf(amounts) === undefined) return undefined;
  const excess = excessOf(amounts, after.key.text, before && measureEntry(before));
  return excess && { refused: "invalid_argument", ...excess };
}

/** Returns the entry after the write, if any. */
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

/** Returns exactly the fields of {@link UdmValues}, because a caller may pass a whole entry. */
function onlyValues({ name, tags, vlan, internal, metadata }: UdmValues): UdmValues {
  return { name, tags, vlan, internal, metadata };
}

/** Notifies listeners of changes. If a listener throws, the error is logged and the others are still called. */
export class Watchers<T extends readonly unknown[]> {
  readonly #listeners = new Set<(...change: T) => void>();
  readonly #log: Log;
  readonly #failure: string;

  /** @param failure the message that is logged when a listener throws. */
  constructor(log: Log, failure: string) {
    this.#log = log;
    this.#failure = failure;
  }

  isEmpty(): boolean {
    return this.#listeners.size === 0;
  }

  /** Adds a listener. @param now the arguments of an immediate first call. @returns a function that removes it. */
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
