import { nameText, putText } from "../compiled/line-text.ts";
import { writeAscii, writeUint32 } from "../compiled/write-values.ts";
import { dropReasonName } from "./drop-reason-names.ts";
import type { ParsedFlowSample } from "./parse-flow-sample.ts";
import { interfaceFormats, internal, several } from "./put-interface.ts";

const sideNames = ["index", "isInternal", "count", "format.id", "value"];
const dropReason = "flow.drop.reason.id";
const dropReasonText = "flow.drop.reason.name";
const direction = "flow.direction.name";

/** Every name that is written. */
export const interfaceNames: readonly string[] = [
  ...["in", "out"].flatMap((side) => sideNames.map((name) => `flow.${side}.netif.${name}`)),
  dropReason,
  dropReasonText,
  direction,
];

const side = (name: string) => ({
  index: nameText(`flow.${name}.netif.index`),
  isInternal: nameText(`flow.${name}.netif.isInternal`, "true"),
  count: nameText(`flow.${name}.netif.count`),
  format: nameText(`flow.${name}.netif.format.id`),
  value: nameText(`flow.${name}.netif.value`),
});
const texts = {
  in: side("in"),
  out: side("out"),
  dropReason: nameText(dropReason),
  dropReasonName: nameText(dropReasonText, `"`),
  ingress: nameText(direction, `"ingress"`),
  egress: nameText(direction, `"egress"`),
} as const;

/** The interfaces of a sample: positions in the array that {@link writeInterfaces} fills. */
export const interfaceNumbers = { input: 0, output: 1 } as const;

const none = -1;

/**
 * Writes where the packet came in and went out, and the direction, as {@link putInterface} and {@link putDirection} put them.
 *
 * @param numbers is given the indexes; a negative number where there is none.
 * @returns where it ends.
 */
export function writeInterfaces(
  out: DataView,
  at: number,
  input: DataView,
  sample: ParsedFlowSample,
  numbers: Float64Array,
): number {
  const { interfacesAt, isExpanded, sourceType, sourceIndex } = sample;
  const first = input.getUint32(interfacesAt);
  const second = input.getUint32(interfacesAt + 4);
  let p = at;
  if (isExpanded) {
    p = writeSide(out, p, true, first, second, numbers);
    p = writeSide(out, p, false, input.getUint32(interfacesAt + 8), input.getUint32(interfacesAt + 12), numbers);
  } else {
    p = writeSide(out, p, true, first >>> 30, first & 0x3fff_ffff, numbers);
    p = writeSide(out, p, false, second >>> 30, second & 0x3fff_ffff, numbers);
  }
  const isIn = numbers[interfaceNumbers.input] === sourceIndex;
  const output = numbers[interfaceNumbers.output];
  const isOut = output === sourceIndex || (output === several && !isIn);
  return sourceType === 0 && isIn !== isOut ? putText(out, p, isIn ? texts.ingress : texts.egress) : p;
}

function writeSide(
  out: DataView,
  at: number,
  isInput: boolean,
  format: number,
  value: number,
  numbers: Float64Array,
): number {
  const own = isInput ? texts.in : texts.out;
  const number = isInput ? interfaceNumbers.input : interfaceNumbers.output;
  numbers[number] = none;
  if (format === interfaceFormats.index && value !== internal) {
    numbers[number] = value;
    return writeUint32(out, putText(out, at, own.index), value);
  }
  if (format === interfaceFormats.index) return putText(out, at, own.isInternal);
  if (format === interfaceFormats.discarded && !isInput) {
    const p = writeUint32(out, putText(out, at, texts.dropReason), value);
    const name = dropReasonName(value);
    return name === undefined ? p : writeAscii(out, putText(out, p, texts.dropReasonName), `${name}"`);
  }
  if (format === interfaceFormats.multiple && !isInput) {
    numbers[number] = several;
    return writeUint32(out, putText(out, at, own.count), value);
  }
  const p = writeUint32(out, putText(out, at, own.format), format);
  return writeUint32(out, putText(out, p, own.value), value);
}
