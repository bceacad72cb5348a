/** One set (a FlowSet in NetFlow v9): its id and where its content lies. */
export interface SetRange {
  readonly id: number;
  readonly start: number;
  /** Exclusive. */
  readonly end: number;
  /** Whether it claims more than is there. */
  readonly isCut: boolean;
}

export interface SetsRead {
  readonly sets: readonly SetRange[];
  /** Where the last of them ends. */
  readonly end: number;
  /** Where the walk met a length that cannot be; undefined when all was in order. */
  readonly problem: { readonly at: number; readonly length: number } | undefined;
}

const setHeader = 4;

/**
 * Finds the sets of a message (RFC 3954 section 5, RFC 7011 section 3.3). A set that claims more than is there ends with
 * the datagram: its whole records can be read. One that claims less than its own header ends the walk. Zeros to the end
 * are padding of the datagram.
 *
 * @param view the whole datagram.
 * @param end where the message ends by its header. Exporters that forget the padding of the last set in it are known, so
 *   that set may end behind it.
 */
export function readSets(view: DataView, start: number, end: number): SetsRead {
  const sets: SetRange[] = [];
  let at = start;
  while (at < end) {
    const hasHeader = end - at >= setHeader;
    const length = hasHeader ? view.getUint16(at + 2) : 0;
    if (length < setHeader) {
      return { sets, end: at, problem: isZero(view, at, end) ? undefined : { at, length } };
    }
    const isCut = at + length > view.byteLength;
    const next = isCut ? view.byteLength : at + length;
    sets.push({ id: view.getUint16(at), start: at + setHeader, end: next, isCut });
    if (isCut) return { sets, end: next, problem: { at, length } };
    at = next;
  }
  return { sets, end: at, problem: undefined };
}

/** Whether there are only zeros in a range. */
export function isZero(view: DataView, start: number, end: number): boolean {
  for (let i = start; i < end; i++) if (view.getUint8(i) !== 0) return false;
  return true;
}

const wordBytes = 4;

/**
 * Whether what is behind the last whole record of a set is no padding (RFC 3954 section 5.3, RFC 7011 section 3.3.1: zeros). Then the
 * records have another layout than the template that is known. What fills up a set to words is padding, whatever is in it: some exporters
 * leave in it what was there.
 */
export function isForeignRest(bytes: Uint8Array, start: number, end: number, length: number): boolean {
  const rest = (end - start) % length;
  if (rest < wordBytes && (end - start) % wordBytes === 0) return false;
  return !isZeroBytes(bytes, end - rest, end);
}

/**
 * How many records at the end of a set are zeros, but for the first of the set. NX-OS fills up sets of NetFlow v9 with so many zeros that
 * these are whole records; as far as the header counts fewer records than there seem to be, they are none.
 */
export function zeroRecords(bytes: Uint8Array, start: number, end: number, length: number): number {
  if (length < wordBytes) return 0;
  let at = end - ((end - start) % length);
  let zeros = 0;
  while (at - length > start && isZeroBytes(bytes, at - length, at)) {
    zeros++;
    at -= length;
  }
  return zeros;
}

function isZeroBytes(bytes: Uint8Array, start: number, end: number): boolean {
  for (let i = end - 1; i >= start; i--) if (bytes[i] !== 0) return false;
  return true;
}
