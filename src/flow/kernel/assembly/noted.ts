// Fields of both ends are noted when they are written.
import { controlHasFields } from "../../../record/address-layout";
import * as L from "../layout";

/** Where the next of {@link L.notedFields} comes. */
export let notedEnd: usize = L.notedFields;
/** Whether fields of the ends may be anywhere in the line. */
export let isAnywhere: bool = false;

export function forgetNoted(): void {
  notedEnd = L.notedFields;
  isAnywhere = false;
}

/** Notes what an operation wrote. @param name where the name of its field goes on, @param p behind its value. */
@inline
export function note(mark: u32, name: usize, p: usize): void {
  store<u32>(notedEnd, <u32>name);
  store<u32>(notedEnd, <u32>(p + ((mark & L.markOpen) >>> 2)), L.notedEnd);
  store<u32>(notedEnd, mark, L.notedMark);
  notedEnd += L.notedBytes;
  if (mark == L.markLine || notedEnd == L.notedFields + L.notedBytes * L.maxNoted) noteAnywhere();
}

/** Notes that fields of the ends may be anywhere in the line. */
export function noteAnywhere(): void {
  notedEnd = L.notedFields;
  isAnywhere = true;
}

/** Notes that there may be fields of the ends between two places. */
@inline
export function notePiece(from: usize, to: usize): void {
  if (to > from) note(L.markPiece, from, to);
}

/**
 * Notes that parts of the text of an address were copied.
 *
 * @param first bytes of the first part, @param second where the second one begins, @param total bytes of the text.
 */
@inline
export function noteText(object: i32, text: usize, first: i32, second: i32, total: i32): void {
  store<u32>(notedEnd, total, L.notedTotal);
  note(L.markText | <u32>(object == 0 ? L.markSource : L.markDestination), text, <usize>(first | (second << 16)));
}

/** Says that what stands behind a place was moved. */
export function moveNoted(place: usize, by: i32): void {
  for (let at: usize = L.notedFields; at < notedEnd; at += L.notedBytes) {
    if ((load<u32>(at, L.notedMark) & L.markText) == L.markText) continue;
    if (load<u32>(at) > <u32>place) store<u32>(at, load<u32>(at) + by);
    if (load<u32>(at, L.notedEnd) > <u32>place) store<u32>(at, load<u32>(at, L.notedEnd) + by, L.notedEnd);
  }
}

/** Whether texts of addresses have room for where their fields begin. */
@inline
export function keepsFields(): bool {
  const control = <usize>load<u32>(L.addressControl);
  return load<u32>(control, controlHasFields) != 0;
}
