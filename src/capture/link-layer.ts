const ipv4 = 0x0800;
const ipv6 = 0x86dd;
/** 802.1Q, 802.1ad and their older numbers. */
const vlanTags: ReadonlySet<number> = new Set([0x8100, 0x88a8, 0x9100, 0x9200]);

/** The IP packet in a frame; undefined when there is none, or the frame is of a link type that is not known. */
export function ipPacketOf(linkType: number, frame: Buffer): Buffer | undefined {
  switch (linkType) {
    case 0: // BSD loopback: the family in the byte order of the host.
    case 108: // The same in network order.
      return frame.subarray(4);
    case 1:
      return behindEtherType(frame, 12);
    case 9: // PPP
      return behindPpp(frame, 0);
    case 50: // PPP in HDLC-like framing
      return behindPpp(frame, 2);
    case 12: // Raw IP, by the numbers of several systems.
    case 14:
    case 101:
    case 228:
    case 229:
      return frame;
    case 113: // Linux cooked capture
      return behindEtherType(frame, 14);
    case 276: // Linux cooked capture, version 2
      return frame.length < 20 ? undefined : behindEtherType(frame, 0, 20);
    case 104: // Cisco HDLC
      return behindEtherType(frame, 2);
    default:
      return undefined;
  }
}

/** @param at where the EtherType is. @param payload where what it names begins; left out: behind it. */
function behindEtherType(frame: Buffer, at: number, payload = at + 2): Buffer | undefined {
  if (frame.length < at + 2) return undefined;
  const type = frame.readUInt16BE(at);
  if (type === ipv4 || type === ipv6) return frame.subarray(payload);
  return vlanTags.has(type) ? behindEtherType(frame, payload + 2) : undefined;
}

function behindPpp(frame: Buffer, at: number): Buffer | undefined {
  if (frame.length < at + 2) return undefined;
  const protocol = frame.readUInt16BE(at);
  return protocol === 0x0021 || protocol === 0x0057 ? frame.subarray(at + 2) : undefined;
}

/** Link types that {@link ipPacketOf} knows. */
export const knownLinkTypes: ReadonlySet<number> = new Set([0, 1, 9, 12, 14, 50, 101, 104, 108, 113, 228, 229, 276]);
