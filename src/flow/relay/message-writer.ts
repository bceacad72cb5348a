/** How NetFlow v9 and IPFIX differ where messages are written. */
export interface MessageForm {
  readonly protocol: "netflow9" | "ipfix";
  readonly headerLength: number;
  readonly templateSet: number;
  readonly optionsSet: number;
  /** Sets end at a multiple of this many bytes. */
  readonly alignment: number;
}

export const netflow9Form: MessageForm = {
  protocol: "netflow9",
  headerLength: 20,
  templateSet: 0,
  optionsSet: 1,
  alignment: 4,
};

export const ipfixForm: MessageForm = {
  protocol: "ipfix",
  headerLength: 16,
  templateSet: 2,
  optionsSet: 3,
  alignment: 1,
};

/** A message without the numbers of its header. */
export interface WrittenMessage {
  readonly bytes: Buffer;
  /** Templates and data records. */
  readonly records: number;
  readonly dataRecords: number;
}

export interface MessageWriter {
  /** Adds a record. Returns false for one that fits into no datagram. */
  add(setId: number, ...parts: readonly Uint8Array[]): boolean;
  /** The messages of all records since the last call, each no longer than `maxBytes` unless a single record is. */
  take(): WrittenMessage[];
}

const setHeader = 4;
const firstDataSetId = 256;
/** No UDP payload over IPv4 is longer. */
const maxPayload = 65_507;

/** Puts records into sets and sets into messages. Each message begins with a copy of the header. */
export function createMessageWriter(form: MessageForm, header: Uint8Array, maxBytes: number): MessageWriter {
  const { headerLength, alignment } = form;
  let parts: Uint8Array[] = [];
  let messages: WrittenMessage[] = [];
  let size = headerLength;
  let set: { readonly header: Buffer; length: number } | undefined;
  let setId = -1;
  let records = 0;
  let dataRecords = 0;

  const endSet = (): void => {
    if (set === undefined) return;
    const padding = (alignment - (set.length % alignment)) % alignment;
    if (padding > 0) parts.push(Buffer.alloc(padding));
    set.header.writeUInt16BE(set.length + padding, 2);
    size += padding;
    set = undefined;
  };
  const endMessage = (): void => {
    endSet();
    if (records > 0) {
      messages.push({ bytes: Buffer.concat([header.subarray(0, headerLength), ...parts]), records, dataRecords });
    }
    parts = [];
    size = headerLength;
    records = dataRecords = 0;
  };

  return {
    add(id, ...added) {
      const length = added.reduce((sum, part) => sum + part.length, 0);
      const room = length + alignment - 1;
      if (headerLength + setHeader + room > maxPayload) return false;
      const isSame = set !== undefined && setId === id;
      // Ending the set before may pad it.
      if (records > 0 && size + room + (isSame ? 0 : setHeader + alignment - 1) > maxBytes) endMessage();
      if (set === undefined || setId !== id) {
        endSet();
        set = { header: Buffer.alloc(setHeader), length: setHeader };
        set.header.writeUInt16BE(id);
        setId = id;
        parts.push(set.header);
        size += setHeader;
      }
      parts.push(...added);
      set.length += length;
      size += length;
      records++;
      if (id >= firstDataSetId) dataRecords++;
      return true;
    },
    take() {
      endMessage();
      const taken = messages;
      messages = [];
      return taken;
    },
  };
}
