import { addressLayout } from "../record/index.ts";
import type { RenderedAdditions, SystemAddition } from "./additions.ts";
import type { Locality } from "./locality.ts";

/** What an address adds, before it is stored. */
export interface MadeAdditions {
  /** Null for nothing, undefined when it cannot be added as bytes. */
  readonly rendered: RenderedAdditions | null | undefined;
  /** Whether metadata gave any of it. */
  readonly hasMetadata: boolean;
  /** Added after that, where the record does not tell another one. */
  readonly system?: SystemAddition | undefined;
  /** Of the address, for what is told of a flow by both its ends. */
  readonly locality?: Locality | undefined;
  /** For how long it may be used at most, in milliseconds. */
  readonly validMs: number;
}

/** Additions longer than this go the way of fields. */
export const maxText = 8191;
/** So does a system with a longer name. */
const maxSystem = 1024;
/** What is copied of one address is not longer. */
export const maxLength = maxText + 1 + maxSystem;

/**
 * The lengths: with the VLAN in the bits from 16, without it in those from 0; between them the locality's number, above
 * them whether metadata gave any of it, and whether a system comes first in what is stored: its number and `length of the
 * number's field * 65536 + length of the organisation's`, each a double; both fields then stand behind the text.
 */
const { withVlanShift, localityShift, localityMask, lengthMask, systemBit, metadataBit, systemHead } = addressLayout;
export const localities: readonly (Locality | undefined)[] = [undefined, "internal", "private", "public", "multicast"];
const nothing = new Uint8Array();

/** In place of the lengths: the address needs the way of fields. */
export const careful = addressLayout.carefulLengths;

/** More than anything takes that is stored. */
export const maxStored = maxLength + systemHead;

/** The lengths of what is stored, with all that is told beside the bytes; 0 for nothing. */
export function lengthsOf(made: MadeAdditions): number {
  if (!canStore(made)) return careful;
  const { rendered, system, locality } = made;
  return (
    (made.hasMetadata ? metadataBit : 0) |
    (system === undefined ? 0 : systemBit) |
    ((rendered?.withVlan?.length ?? 0) << withVlanShift) |
    (localities.indexOf(locality) << localityShift) |
    (rendered?.withoutVlan?.length ?? 0)
  );
}

export function hasMetadata(lengths: number): boolean {
  return (lengths & metadataBit) !== 0;
}

export function hasSystem(lengths: number): boolean {
  return (lengths & systemBit) !== 0;
}

/** The position in {@link localities}. */
export function localityNumber(lengths: number): number {
  return (lengths >> localityShift) & localityMask;
}

/** Writes what can be stored. @returns where it ends. */
export function writeAdditions({ rendered, system }: MadeAdditions, arena: DataView, start: number): number {
  const bytes = new Uint8Array(arena.buffer, arena.byteOffset, arena.byteLength);
  const withVlan = rendered?.withVlan ?? nothing;
  const textAt = start + (system === undefined ? 0 : systemHead);
  bytes.set(withVlan, textAt);
  const end = textAt + withVlan.length;
  if (system === undefined) return end;
  const organisation = system.renderedOrganisation?.length ?? 0;
  arena.setFloat64(start, system.number, true);
  arena.setFloat64(start + 8, (system.rendered.length - organisation) * 0x10000 + organisation, true);
  bytes.set(system.rendered, end);
  return end + system.rendered.length;
}

/**
 * Copies what is stored at a place.
 *
 * @param told the system that the record has, -1 for none; not 0 where one is stored.
 * @returns where it ends.
 */
export function copyAdditions(
  arena: DataView,
  start: number,
  lengths: number,
  hasVlan: boolean,
  told: number,
  into: DataView,
  end: number,
): number {
  const text = hasVlan ? lengths & lengthMask : (lengths >> withVlanShift) & lengthMask;
  if ((lengths & systemBit) === 0) {
    copyWords(arena, start, text, into, end);
    return end + text;
  }
  const textAt = start + systemHead;
  copyWords(arena, textAt, text, into, end);
  if (told !== -1 && told !== arena.getFloat64(start, true)) return end + text;
  const parts = arena.getFloat64(start + 8, true);
  const organisation = parts & 0xffff;
  const number = (parts - organisation) / 0x10000;
  const systemAt = textAt + ((lengths >> withVlanShift) & lengthMask);
  const length = told === -1 ? number + organisation : organisation;
  copyWords(arena, told === -1 ? systemAt : systemAt + number, length, into, end + text);
  return end + text + length;
}

export function canStore({ rendered, system }: MadeAdditions): boolean {
  return (
    rendered !== undefined &&
    (rendered?.withVlan?.length ?? 0) <= maxText &&
    (system?.rendered.length ?? 0) <= maxSystem
  );
}

export function bytesToStore({ rendered, system }: MadeAdditions): number {
  return (rendered?.withVlan?.length ?? 0) + (system === undefined ? 0 : systemHead + system.rendered.length);
}

/** How many bytes an entry has in the arena. */
export function storedBytes(arena: DataView, start: number, lengths: number): number {
  if (lengths === careful) return 0;
  const text = (lengths >> withVlanShift) & lengthMask;
  if ((lengths & systemBit) === 0) return text;
  const parts = arena.getFloat64(start + 8, true);
  const organisation = parts & 0xffff;
  return systemHead + text + organisation + (parts - organisation) / 0x10000;
}

/**
 * Copies whole words of eight bytes, so up to seven more than asked for. As doubles, because integers of 64 bits are objects
 * here: the only bits that a double may lose are those of a NaN, which no text in UTF-8 has.
 */
export function copyWords(from: DataView, start: number, length: number, into: DataView, end: number): void {
  for (let i = 0; i < length; i += 8) into.setFloat64(end + i, from.getFloat64(start + i, true), true);
}
