/** Bytes of hex digits; blanks are for the reader. */
export function fromHex(text: string): Uint8Array {
  return Uint8Array.from(Buffer.from(text.replaceAll(" ", ""), "hex"));
}

export function toHex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("hex");
}

/** A BER element with a length of the shortest form. */
export function element(tag: number, ...content: readonly Uint8Array[]): Uint8Array {
  const bytes = Buffer.concat(content);
  const { length } = bytes;
  const header = length < 128 ? [tag, length] : [tag, 0x82, length >> 8, length & 255];
  return Buffer.concat([Uint8Array.from(header), bytes]);
}

export interface ResponseParts {
  /** The name's element; sysName.0 when left out. */
  readonly name?: string | undefined;
  readonly requestId?: number;
  readonly community?: string;
  /** How often the varbind is there. */
  readonly count?: number;
}

/** A response of version 2c made by hand, whose varbinds have the given element as their value. */
export function responseWith(value: string, parts: ResponseParts = {}): Uint8Array {
  const { name = "06 08 2b 06 01 02 01 01 05 00", requestId = 1, community = "public", count = 1 } = parts;
  const id = Buffer.alloc(4);
  id.writeInt32BE(requestId);
  const varbind = element(0x30, fromHex(name), fromHex(value));
  const varbinds = element(0x30, ...Array<Uint8Array>(count).fill(varbind));
  const pdu = element(0xa2, element(0x02, id), fromHex("02 01 00 02 01 00"), varbinds);
  return element(0x30, fromHex("02 01 01"), element(0x04, Buffer.from(community)), pdu);
}
