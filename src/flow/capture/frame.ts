/** One packet of a capture. */
export interface Frame {
  /** What its first bytes are: a LINKTYPE_ value of tcpdump.org. */
  readonly linkType: number;
  /** Milliseconds since the epoch; undefined where the capture does not say. */
  readonly time: number | undefined;
  readonly bytes: Buffer;
  /** How long it was on the wire; more than the bytes when the capture cut it. */
  readonly wireLength: number;
}
