// The store as it must behave, without a file: slow, short and obviously right.
import {
  maxViolations,
  UdmError,
  udmFields,
  type UdmEntry,
  type UdmErrorCode,
  type UdmIndex,
  type UdmStore,
  type UdmViolation,
  type UdmWrite,
} from "../../src/metadata/index.ts";
import { modelIndex } from "./udm-model.ts";

export function memoryUdmStore(initial: readonly UdmEntry[] = []): UdmStore {
  let index: UdmIndex = modelIndex(initial);
  const listeners = new Set<(index: UdmIndex) => void>();
  return {
    load: async () => index,
    current: () => index,
    async commit(writes) {
      const violations = violationsOf(index, writes);
      const [first] = violations;
      if (first !== undefined) throw new UdmError(first.code, first.description, violations);
      if (writes.length === 0) return [];
      const edit = index.edit();
      const results = writes.map((write, i) => {
        const before = index.get(write.key);
        const result = outcome(write, before);
        const { tags } = result;
        if (tags.length > 1024 && tags.length > (before?.tags.length ?? 0)) {
          const description = `the ${tags.length} tags of key "${write.key.text}" are more than 1024`;
          throw new UdmError("invalid_argument", description, [{ index: i, field: "tags", description }]);
        }
        if (write.op === "delete") edit.delete(write.key);
        else edit.put(result);
        return result;
      });
      index = edit.done();
      for (const listener of listeners) listener(index);
      return results;
    },
    watch(listener) {
      listeners.add(listener);
      listener(index);
      return () => void listeners.delete(listener);
    },
  };
}

type CodedViolation = UdmViolation & { readonly code: UdmErrorCode };

function violationsOf(index: UdmIndex, writes: readonly UdmWrite[]): CodedViolation[] {
  const violations: CodedViolation[] = [];
  for (const [i, { op, key }] of writes.entries()) {
    const refuse = (code: UdmErrorCode, why: string): void => {
      violations.push({ index: i, field: "key", code, description: `key ${JSON.stringify(key.text)} ${why}` });
    };
    const earlier = writes.findIndex((other) => other.key.text === key.text);
    const exists = index.get(key) !== undefined;
    if (earlier < i) refuse("invalid_argument", `is already in the batch, at position ${earlier}`);
    else if (op === "create" && exists) refuse("already_exists", "already exists");
    else if (op !== "create" && op !== "edit" && !exists) refuse("not_found", "does not exist");
  }
  return violations.slice(0, maxViolations);
}

function outcome(write: UdmWrite, old: UdmEntry | undefined): UdmEntry {
  if (write.op === "edit") throw new Error("edits are for stores with a history");
  if (write.op === "delete") return old as UdmEntry;
  const result = { ...(old ?? { name: "", tags: [], vlan: 0n, internal: false, metadata: new Map() }), key: write.key };
  const fields = write.op === "update" ? (write.fields ?? udmFields) : udmFields;
  return { ...result, ...Object.fromEntries(fields.map((field) => [field, write.values[field]])) };
}
