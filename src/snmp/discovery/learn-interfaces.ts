import { formatAddress, parseAddress, unmapAddress } from "../../ip/index.ts";
import { oidStartsWith, type Oid } from "../session/oid.ts";
import type { Session } from "../session/session.ts";
import type { VarBind } from "../session/var-bind.ts";
import { walk, type WalkOptions } from "../session/walk.ts";

/** What a device says of its interfaces and addresses. */
export interface LearntInterfaces {
  /** ifName by ifIndex. */
  readonly names: ReadonlyMap<number, string>;
  /** ifDescr by ifIndex: the name where there is no ifName. */
  readonly descriptions: ReadonlyMap<number, string>;
  /** Canonical text. Addresses that many devices have at once (loopback, link-local) are left out. */
  readonly addresses: readonly string[];
}

// IF-MIB (RFC 2863): ifDescr, ifName; IP-MIB (RFC 4293): ipAdEntAddr, ipAddressIfIndex.
const ifDescr: Oid = [1, 3, 6, 1, 2, 1, 2, 2, 1, 2];
const ifName: Oid = [1, 3, 6, 1, 2, 1, 31, 1, 1, 1, 1];
const ipAdEntAddr: Oid = [1, 3, 6, 1, 2, 1, 4, 20, 1, 1];
const ipAddressIfIndex: Oid = [1, 3, 6, 1, 2, 1, 4, 34, 1, 3];
const roots: readonly Oid[] = [ifDescr, ifName, ipAdEntAddr, ipAddressIfIndex];

/** Reads the columns that names and addresses come from. Reading ends at the first failure; what was read counts. */
export async function learnInterfaces(session: Session, options: WalkOptions): Promise<LearntInterfaces> {
  const learner = createInterfaceLearner();
  await walk(session, roots, (_root, varbinds) => varbinds.forEach((varbind) => learner.add(varbind)), options);
  return learner.result();
}

/** Picks names and addresses out of whatever is read. */
export interface InterfaceLearner {
  add(varbind: VarBind): void;
  result(): LearntInterfaces;
}

export function createInterfaceLearner(): InterfaceLearner {
  const descriptions = new Map<number, string>();
  const names = new Map<number, string>();
  const addresses = new Set<string>();
  const addName = (table: Map<number, string>, index: number | undefined, { value }: VarBind): void => {
    if (index === undefined || !(value instanceof Uint8Array)) return;
    const text = Buffer.from(value).toString("utf8").replace(/\0+$/, "").trim();
    if (text !== "") table.set(index, text);
  };
  return {
    add(varbind) {
      const { oid } = varbind;
      if (oidStartsWith(oid, ifName)) addName(names, oid[ifName.length], varbind);
      else if (oidStartsWith(oid, ifDescr)) addName(descriptions, oid[ifDescr.length], varbind);
      else {
        const address = addressOf(oid);
        if (address !== undefined) addresses.add(address);
      }
    },
    result: () => ({ names, descriptions, addresses: [...addresses] }),
  };
}

/** The address in the index of a row of ipAddrTable or ipAddressTable; undefined when it tells no device apart. */
function addressOf(oid: Oid): string | undefined {
  if (oidStartsWith(oid, ipAdEntAddr)) return ownAddress(oid.slice(ipAdEntAddr.length).join("."));
  if (!oidStartsWith(oid, ipAddressIfIndex)) return undefined;
  // InetAddressType, a length, the octets (RFC 4001): 1 is IPv4, 2 is IPv6; the others have zones.
  const [type, length, ...octets] = oid.slice(ipAddressIfIndex.length);
  if (type === 1 && length === 4) return ownAddress(octets.join("."));
  if (type !== 2 || length !== 16 || octets.length !== 16 || octets.some((octet) => octet > 255)) return undefined;
  const hex = Buffer.from(octets).toString("hex");
  return ownAddress((hex.match(/.{4}/g) as string[]).join(":"));
}

function ownAddress(text: string): string | undefined {
  const address = parseAddress(text);
  if (address === undefined) return undefined;
  const canonical = formatAddress(unmapAddress(address));
  return /^(?:0\.|127\.|169\.254\.|::1?$|fe[89ab])/.test(canonical) ? undefined : canonical;
}
