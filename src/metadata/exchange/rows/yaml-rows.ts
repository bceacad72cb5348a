import {
  createPositions,
  isNullNode,
  mergedPairs,
  readYamlParts,
  renderPair,
  YamlFault,
  type YamlNode,
  type YamlPart,
} from "../../../base/yaml/index.ts";
import { udmFields } from "../../model/entry.ts";
import { ExchangeError, type FaultList, rowsOfABlock, type Row, type RowBlocks } from "../import-rows.ts";

/**
 * Yields the rows of a YAML text: the items of a list, or the entries of a mapping, whose names are the `key` of the rows, as in the
 * metadata file. Scalars are texts as they are spelt; null is no value.
 *
 * @param isOwnForm true keeps unknown fields, as in the metadata file, as the text `otherFields`.
 */
export async function* yamlRows(text: string, isOwnForm: boolean, faults: FaultList): RowBlocks {
  const valuesOf = isOwnForm ? ownValues : valueOf;
  const lineOfKey = new Map<string, number>();
  let number = 0;
  for (const part of partsOf(text, faults)) {
    const positions = createPositions(part.text);
    let block: Row[] = [];
    for (const { at, key, node } of itemsOf(part)) {
      number++;
      const line = part.linesBefore + positions(at).line;
      const earlier = key === undefined ? undefined : lineOfKey.get(key);
      if (earlier !== undefined) {
        const reason = `key ${JSON.stringify(key)} is given twice, first at line ${earlier}`;
        faults.add({ row: 0, line, column: "", field: "", reason });
        continue;
      }
      if (key !== undefined) lineOfKey.set(key, line);
      if (node.kind !== "mapping" && !isNullNode(node)) {
        faults.add({ row: number, line, column: "", field: "", reason: "the entry is not a mapping" });
        continue;
      }
      const values = { ...(valuesOf(node) as object), ...(key !== undefined && { key }) };
      block.push({ number, line, header: undefined, values });
      if (block.length < rowsOfABlock) continue;
      yield block;
      block = [];
    }
    yield block;
  }
}

function* partsOf(text: string, faults: FaultList): Generator<YamlPart, void> {
  try {
    yield* readYamlParts(text, (reason, line) => faults.add({ row: 0, line, column: "", field: "", reason }));
  } catch (error) {
    if (!(error instanceof YamlFault)) throw error;
    const { line, column } = error.position;
    throw new ExchangeError("", `the text is not YAML: line ${line}, column ${column}: ${error.message}`);
  }
}

function itemsOf({ root }: YamlPart): readonly { at: number; key: string | undefined; node: YamlNode }[] {
  if (root.kind === "sequence") return root.items.map((node) => ({ at: node.at, key: undefined, node }));
  return mergedPairs(root, fail).map(({ key, value }) => ({ at: key.at, key: key.text, node: value }));
}

/** Returns the values of an entry as in the metadata file. A likely misspelling of a field's name stays, so that it is refused. */
function ownValues(node: YamlNode): unknown {
  if (node.kind !== "mapping") return valueOf(node);
  const pairs = mergedPairs(node, fail);
  const others = pairs.filter(
    ({ key }) => !ownFields.some((field) => isWithinASlip(key.text.toLowerCase(), field.toLowerCase())),
  );
  if (others.length === 0) return valueOf(node);
  const known = pairs.filter((pair) => !others.includes(pair));
  const otherFields = others.map((pair) => renderPair(pair, "")).join("");
  return { ...(valueOf({ ...node, pairs: known }) as object), otherFields };
}

const ownFields: readonly string[] = ["key", "scope", "contexts", "otherFields", ...udmFields];

/** Reports whether two texts differ by at most one wrong, missing or extra letter, or by two exchanged letters. */
function isWithinASlip(a: string, b: string): boolean {
  if (Math.abs(a.length - b.length) > 1) return false;
  let at = 0;
  while (at < a.length && a[at] === b[at]) at++;
  const rests = [a, b].map((text) => [text.slice(at), text.slice(at + 1), text.slice(at + 2)]);
  const [[a0, a1, a2], [b0, b1, b2]] = rests as [string[], string[]];
  return a1 === b1 || a0 === b1 || a1 === b0 || (a2 === b2 && a[at] === b[at + 1] && a[at + 1] === b[at]);
}

function valueOf(node: YamlNode): unknown {
  if (isNullNode(node)) return undefined;
  if (node.kind === "scalar") return node.text;
  if (node.kind === "sequence") return node.items.map(valueOf);
  // Without a prototype, `__proto__` is an ordinary name.
  const value = Object.create(null) as Record<string, unknown>;
  for (const pair of mergedPairs(node, fail)) value[pair.key.text] = valueOf(pair.value);
  return value;
}

function fail(message: string): never {
  throw new ExchangeError("", `the text is not YAML that can be read: ${message}`);
}
