import { createLineBuffer, type RecordFields, type Scalar, type Value, type Workspace } from "../../../record/index.ts";
import { writeAscii, writeSafeInteger } from "../text/write-values.ts";

/** Writes values into a line of the kernel. */
export interface ValueWriter {
  /** Writes the JSON of a value. @returns where it ends. */
  value(at: number, value: Value): number;
  /** Renders fields as they stand in a line, each with a comma before it. The bytes may be used until the next call. */
  fields(fields: RecordFields): Uint8Array;
}

const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const scratchBytes = 64 * 1024;
/** The brace and the line feed behind the fields of a line. */
const lineTail = 2;

export function createValueWriter({ bytes: memory, view }: Workspace): ValueWriter {
  const scratch = Buffer.alloc(scratchBytes);
  const lines = createLineBuffer((bytes) => (bytes <= scratch.length ? scratch : Buffer.allocUnsafeSlow(bytes)));

  const text = (at: number, value: string): number => {
    let p = at;
    view.setUint8(p++, quote);
    for (let i = 0; i < value.length; i++) {
      const unit = value.charCodeAt(i);
      if (unit < 0x20 || unit > 0x7e || unit === quote || unit === backslash) {
        return at + memory.write(JSON.stringify(value), at);
      }
      view.setUint8(p++, unit);
    }
    view.setUint8(p++, quote);
    return p;
  };

  const scalar = (at: number, value: Scalar): number => {
    if (typeof value === "string") return text(at, value);
    if (typeof value === "number" && Number.isSafeInteger(value) && value >= 0)
      return writeSafeInteger(view, at, value);
    if (typeof value === "number" && !Number.isFinite(value)) return writeAscii(view, at, "null");
    return writeAscii(view, at, String(value));
  };

  return {
    value(at, value) {
      if (typeof value !== "object") return scalar(at, value);
      let p = at;
      view.setUint8(p++, 0x5b);
      for (let i = 0; i < value.length; i++) {
        if (i > 0) view.setUint8(p++, comma);
        p = scalar(p, value[i] as Scalar);
      }
      view.setUint8(p++, 0x5d);
      return p;
    },
    fields(fields) {
      if (fields.size === 0) return new Uint8Array();
      lines.append(fields);
      const line = lines.take();
      line[0] = comma;
      return line.subarray(0, line.length - lineTail);
    },
  };
}
