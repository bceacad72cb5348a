/** Thrown for what would lie behind the end. */
export class Cut extends Error {}

/** Reads XDR (RFC 4506) from the front of some bytes. */
export class Xdr {
  at = 0;
  readonly bytes: Buffer;
  constructor(bytes: Buffer) {
    this.bytes = bytes;
  }
  get isAtEnd(): boolean {
    return this.at === this.bytes.length;
  }
  take(length: number): Buffer {
    if (length > this.bytes.length - this.at) throw new Cut();
    this.at += length;
    return this.bytes.subarray(this.at - length, this.at);
  }
  word(): number {
    return this.take(4).readUInt32BE();
  }
  list(): number[] {
    const count = this.word();
    if (4 * count > this.bytes.length - this.at) throw new Cut();
    return Array.from({ length: count }, () => this.word());
  }
  text(): string {
    const length = this.word();
    const content = this.take(length);
    this.at = Math.min(this.bytes.length, this.at + ((4 - (length % 4)) % 4));
    let end = content.length;
    while (end > 0 && content[end - 1] === 0) end--;
    const own = content.subarray(0, end);
    const utf8 = own.toString();
    return Buffer.from(utf8).equals(own) ? utf8 : own.toString("latin1");
  }
}
