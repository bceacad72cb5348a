import { copyLines } from "../../record/index.ts";
import type { MatchesLine } from "../../filter/index.ts";
import type { ShapeLines } from "../../record/index.ts";
import type { Thinning } from "./thinning.ts";
import { createLineEditor, dropField, type FieldEdit } from "./line-editor.ts";
import { recordTypeOf, recordTypes, type RecordType } from "./record-type.ts";

export interface LineFilterOptions {
  /** Left out: all. */
  readonly types?: readonly RecordType[];
  readonly dropFields?: readonly string[];
  /** What happens to fields, by their names; fields to drop come before it. */
  readonly edits?: ReadonlyMap<string, FieldEdit>;
  /** Leaves out some of too many records; left out: none. */
  readonly thinning?: Thinning | undefined;
  /** Left out: every record. */
  readonly matches?: MatchesLine | undefined;
  /** Called with how many records do not match, those of other types left out. */
  readonly filtered?: (records: number) => void;
}

/**
 * Takes only records of some types that match a filter, and takes fields out of them, or changes them. What is left lies in memory of its own.
 *
 * @returns undefined when every line passes as it is: then no line needs to be looked at.
 */
export function createLineFilter(options: LineFilterOptions): ShapeLines | undefined {
  const {
    types = recordTypes,
    dropFields = [],
    edits = new Map<string, FieldEdit>(),
    matches,
    thinning,
    filtered,
  } = options;
  const allowed = new Set(types);
  const takesAll = recordTypes.every((type) => type === "as_path_hop" || allowed.has(type));
  const all = new Map([...edits, ...dropFields.map((name) => [name, dropField] as const)]);
  if (takesAll && all.size === 0 && matches === undefined && thinning === undefined) return undefined;
  const editor = all.size === 0 ? undefined : createLineEditor(all);
  const weighted = thinning && createLineEditor(new Map([...thinning.edits, ...all]));
  const maxGrowth = (weighted ?? editor)?.maxGrowth ?? 0;
  let to = Buffer.alloc(0);
  return (lines, records) => {
    const from = Buffer.from(lines.buffer, lines.byteOffset, lines.length);
    const most = lines.length + records * maxGrowth;
    if (to.length < most) to = Buffer.allocUnsafeSlow(most);
    let length = 0;
    let count = 0;
    let others = 0;
    thinning?.begin();
    for (let at = 0, end = 0; at < from.length; at = end) {
      end = from.indexOf(0x0a, at) + 1 || from.length;
      if (!takesAll && !allowed.has(recordTypeOf(from, at, end))) continue;
      if (matches !== undefined && !matches(from, at, end)) {
        others++;
        continue;
      }
      const weight = thinning === undefined ? 1 : thinning.weigh(from, at, end);
      if (weight === 0) continue;
      const copier = weight > 1 ? weighted : editor;
      length = copier?.copy(from, at, end, to, length) ?? copyLines(from, at, end, to, length);
      count++;
    }
    thinning?.end();
    if (others > 0) filtered?.(others);
    // Who keeps the lines is to keep no more memory than they take.
    return count === 0
      ? undefined
      : { lines: Buffer.from(Uint8Array.prototype.slice.call(to, 0, length).buffer), count };
  };
}
