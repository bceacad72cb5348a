import type { Workspace } from "../../../record/index.ts";
import * as layout from "../kernel/layout.ts";
import type { ListShape } from "./list-text.ts";

/** Lists that the kernel writes by itself once it knows them, in the memory of the operation for them. */
export interface ListShapes {
  /** Adds the shape of a list at a place to those of the operation under way, or in the place of one when there are enough. */
  learn(shape: ListShape, at: number): void;
}

export function createListShapes({ bytes, view }: Workspace): ListShapes {
  let replaced = 0;

  const placeOf = (shapes: number): number => {
    for (let i = 0; i < layout.maxListShapes; i++) {
      const at = shapes + i * layout.listShapeBytes;
      if (view.getUint16(at + layout.shapeTextLength, true) === 0) return at;
    }
    replaced = (replaced + 1) % layout.maxListShapes;
    return shapes + replaced * layout.listShapeBytes;
  };

  return {
    learn({ text, headLength, valueLength, code, isQuoted, isMany }, list) {
      const before = Buffer.from(text);
      if (before.length > layout.shapeTextBytes) return;
      const at = placeOf(view.getUint32(layout.listShapes, true));
      view.setUint16(at + layout.shapeTextLength, before.length, true);
      view.setUint16(at + layout.shapeValueLength, valueLength, true);
      bytes[at + layout.shapeCode] = code;
      bytes[at + layout.shapeIsMany] = isMany ? 1 : 0;
      bytes[at + layout.shapeIsQuoted] = isQuoted ? 1 : 0;
      bytes[at + layout.shapeHeadLength] = headLength;
      bytes.copyWithin(at + layout.shapeHead, list, list + headLength);
      bytes.set(before, at + layout.shapeText);
    },
  };
}
