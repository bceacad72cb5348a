import { itemsATurn, nextTurn } from "./next-turn.ts";
import type { UdmEntry, UdmValues } from "./udm-entry.ts";
import { maxViolations, UdmError, type UdmErrorCode, type UdmViolation } from "./udm-error.ts";
import type { UdmEdit } from "./udm-index.ts";
import type { UdmWrite } from "./udm-store.ts";
import { quote } from "../../text/index.ts";

/**
 * Applies one batch to the edit: all of it or, when it breaks a rule, nothing. A big one takes several turns of the event
 * loop; nothing else may use the edit meanwhile.
 *
 * @returns one entry for each write: as it is afterwards, or for a delete as it was.
 * @throws UdmError with all violations, at most {@link maxViolations}; its code is that of the first.
 */
export async function applyWrites(edit: UdmEdit, writes: readonly UdmWrite[]): Promise<readonly UdmEntry[]> {
  const violations: UdmViolation[] = [];
  let code: UdmErrorCode | undefined;
  const results: UdmEntry[] = [];
  const firstIndex = new Map<string, number>();

  for (const [index, write] of writes.entries()) {
    if (index % itemsATurn === itemsATurn - 1) await nextTurn();
    const found = edit.get(write.key);
    const earlier = firstIndex.get(write.key.text);
    if (earlier === undefined) firstIndex.set(write.key.text, index);
    const refusal = refuse(write, found, earlier);
    if (refusal === undefined) {
      results.push(resultOf(write, found));
    } else if (violations.length < maxViolations) {
      code ??= refusal.code;
      violations.push({ index, field: "key", description: refusal.description });
    }
  }
  if (code !== undefined) throw new UdmError(code, violations[0]?.description ?? "", violations);

  const mark = edit.mark();
  try {
    for (const [index, entry] of results.entries()) {
      if (index % itemsATurn === itemsATurn - 1) await nextTurn();
      if (writes[index]?.op === "delete") edit.delete(entry.key);
      else edit.put(entry);
    }
  } catch (error) {
    mark.undo();
    throw error;
  }
  mark.keep();
  return results;
}

function refuse(
  write: UdmWrite,
  found: UdmEntry | undefined,
  earlier: number | undefined,
): { code: UdmErrorCode; description: string } | undefined {
  const key = `key ${quote(write.key.text)}`;
  if (earlier !== undefined) {
    return { code: "invalid_argument", description: `${key} is already in the batch, at position ${earlier}` };
  }
  if (write.op === "create" && found !== undefined) {
    return { code: "already_exists", description: `${key} already exists` };
  }
  if (write.op !== "create" && found === undefined) {
    return { code: "not_found", description: `${key} does not exist` };
  }
  return undefined;
}

/** The entry that the write leaves, or that a delete takes away. */
function resultOf(write: UdmWrite, found: UdmEntry | undefined): UdmEntry {
  if (write.op === "delete") return found as UdmEntry;
  const { key } = write;
  if (found === undefined) return { key, ...onlyValues(write.values) };
  const values = { ...onlyValues(found), ...changedValues(write) };
  return found.fileOnly === undefined ? { key, ...values } : { key, ...values, fileOnly: found.fileOnly };
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
