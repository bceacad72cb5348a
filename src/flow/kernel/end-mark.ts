import { joinedFields } from "./end-names.ts";
import * as layout from "./layout.ts";
import type { Operation } from "./program-writer.ts";

/** What an operation writes of the ends of a flow. */
export interface EndMark {
  readonly mark: number;
  /** Bytes from where the name goes on behind `flow.src.` to the end of the text. */
  readonly name: number;
}

const ends: Readonly<Record<string, number>> = { src: layout.markSource, dst: layout.markDestination };
const nameOfEnd = /^flow\.(src|dst)\.([^"\\]*)$/;
const nothing: EndMark = { mark: 0, name: 0 };
const maxName = 255;

/** Says which field of an end an operation writes, so that nobody has to look for it in the line. @param text before it. */
export function endMark(
  { field = "", isOpen = false, fields = [] }: Pick<Operation, MarkedKeys>,
  text: string,
): EndMark {
  const begins = [...text.matchAll(/,"flow\.(?:src|dst)\./g)];
  if (fields.some((name) => nameOfEnd.test(name))) {
    return { mark: begins.length === 0 ? layout.markPiece : layout.markLine, name: 0 };
  }
  const [first] = begins;
  if (first === undefined) return nothing;
  const [, end = "", rest = ""] = nameOfEnd.exec(field) ?? [];
  const [begin] = first;
  const isLast = begins.length === 1 && text.startsWith(`,${JSON.stringify(field)}:`, first.index);
  const name = Buffer.byteLength(text.slice(first.index + begin.length));
  if (end === "" || !isLast || name > maxName) return { mark: layout.markLine, name: 0 };
  const join = joinedFields.findIndex((each) => each === rest) + 1;
  return { mark: (ends[end] as number) | (isOpen ? layout.markOpen : 0) | (join << layout.markJoinShift), name };
}

type MarkedKeys = "field" | "isOpen" | "fields";
