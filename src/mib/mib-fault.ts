import { positionAt } from "../base/yaml/index.ts";

/** A text of MIB modules and the file that it is from. */
export interface MibSource {
  readonly file: string;
  readonly text: string;
}

/** Thrown for a MIB module that cannot be used. The message starts with `file:line:column`. */
export class MibFault extends Error {
  readonly code = "bad_mib";

  /** `at` is the offset in the text of the source; undefined where the whole file is meant. */
  constructor(message: string, source?: MibSource, at?: number) {
    super(source === undefined ? message : `${placeOf(source, at)}: ${message}`);
    this.name = "MibFault";
  }
}

/** `file:line:column`, both counted from 1. */
export function placeOf({ file, text }: MibSource, at: number | undefined): string {
  if (at === undefined) return file;
  const { line, column } = positionAt(text, at);
  return `${file}:${line}:${column}`;
}
