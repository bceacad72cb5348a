import {
  renderKey,
  readYaml,
  quotedScalar,
  stringScalar,
  YamlFault,
  type YamlMapping,
  type YamlPair,
} from "../../base/yaml/index.ts";
import { type Network, type SweepCredential, covers, credentialName } from "./networks.ts";
import type { SweptDevice } from "./sweep.ts";
import { peerName } from "../session/peer.ts";

/** The identity of a device, as far as the device provides it. */
export interface DeviceIdentity {
  /** The address that is probed. */
  readonly address: string;
  /** The engine id as hex digits. */
  readonly engineId: string | undefined;
  readonly serial: string | undefined;
  /** The sysObjectID as text with a leading dot. */
  readonly sysObjectId: string | undefined;
  readonly sysName: string | undefined;
  /** Its own addresses. */
  readonly addresses: readonly string[];
}

/** Matches serial numbers that makers use in many devices. */
const junkSerial =
  /^(?:.{0,3}|(.)\1*|n\/?a|none|null|unknown|default.*|not .*|to be filled.*|system serial.*|0?123456789.*)$/i;

/** The known devices, among which the device behind an answer is searched. */
export class KnownDevices<D extends DeviceIdentity> {
  readonly #byEngine = new Map<string, D[]>();
  readonly #bySerial = new Map<string, D[]>();
  readonly #byAddress = new Map<string, D[]>();

  add(device: D): void {
    if (device.engineId !== undefined) this.#put(this.#byEngine, device.engineId, device);
    const serial = serialOf(device);
    if (serial !== undefined) this.#put(this.#bySerial, serial, device);
    for (const address of new Set([device.address, ...device.addresses])) this.#put(this.#byAddress, address, device);
  }

  /** Returns the known device that is the same as this one, with the reason; undefined if it is new. */
  find(device: DeviceIdentity): { readonly device: D; readonly reason: string } | undefined {
    const { engineId } = device;
    const serial = serialOf(device);
    const ofEngine = (engineId === undefined ? undefined : this.#byEngine.get(engineId))?.find(
      (other) => !haveOtherSerials(device, other) && !haveOtherAddresses(device, other),
    );
    if (ofEngine !== undefined) return { device: ofEngine, reason: `the same engine id ${engineId}` };
    const ofSerial = (serial === undefined ? undefined : this.#bySerial.get(serial))?.find(
      (other) => other.sysObjectId === device.sysObjectId,
    );
    if (ofSerial !== undefined) return { device: ofSerial, reason: `the same serial number ${serial}` };
    const addresses = [device.address, ...device.addresses];
    const ofAddress = addresses
      .flatMap((address) => this.#byAddress.get(address) ?? [])
      .find((other) => isSameByAddress(device, other));
    return ofAddress && { device: ofAddress, reason: reasonOf(device, ofAddress) };
  }

  #put(table: Map<string, D[]>, key: string, device: D): void {
    const there = table.get(key);
    if (there === undefined) table.set(key, [device]);
    else there.push(device);
  }
}

function reasonOf({ address, addresses }: DeviceIdentity, other: DeviceIdentity): string {
  if (other.addresses.includes(address)) return `${address} is one of its addresses`;
  return addresses.includes(other.address) ? `${other.address} is one of its addresses` : "the same addresses";
}

/**
 * Reports whether two devices are the same by their addresses. Each may have addresses that others have, too, such as a virtual one or
 * one of a network behind it.
 */
function isSameByAddress(a: DeviceIdentity, b: DeviceIdentity): boolean {
  if (a.sysObjectId !== b.sysObjectId || a.sysName !== b.sysName || haveOtherSerials(a, b)) return false;
  if (a.engineId !== undefined && b.engineId !== undefined && a.engineId !== b.engineId) return false;
  if (b.addresses.includes(a.address) || a.addresses.includes(b.address)) return true;
  return a.addresses.length > 0 && [...a.addresses].sort().join() === [...b.addresses].sort().join();
}

function serialOf({ serial }: DeviceIdentity): string | undefined {
  const text = serial?.trim();
  return text === undefined || junkSerial.test(text) ? undefined : text;
}

function haveOtherSerials(a: DeviceIdentity, b: DeviceIdentity): boolean {
  const [first, second] = [serialOf(a), serialOf(b)];
  return first !== undefined && second !== undefined && first !== second;
}

/** Reports whether two devices have different addresses: copies of one virtual machine share an engine id but not their addresses. */
function haveOtherAddresses(a: DeviceIdentity, b: DeviceIdentity): boolean {
  if (a.addresses.length === 0 || b.addresses.length === 0) return false;
  return a.addresses.every((address) => !b.addresses.includes(address));
}

/** The access to a device, as in its file. */
export interface DeviceAccess {
  readonly ip: string;
  readonly port: number;
  readonly credential: SweepCredential;
}

/** The lines of a device file for an access, by key; a value of several lines is indented. */
type AccessLines = ReadonlyMap<string, string>;

const accessKeys = ["ip", "port", "version", "communities", "v3_credentials"] as const;

function accessLines({ ip, port, credential }: DeviceAccess): AccessLines {
  const lines = new Map<string, string>([["ip", `ip: ${stringOfAddress(ip)}`]]);
  // The port is written, because the defaults of devices may have another one.
  lines.set("port", `port: ${port}`);
  lines.set("version", `version: ${credential.version}`);
  if (credential.version !== "3") {
    lines.set("communities", `communities: [${quotedScalar(credential.community.reveal())}]`);
    return lines;
  }
  const { username, authenticationProtocol, privacyProtocol, authenticationPassphrase, privacyPassphrase } =
    credential.user;
  const user = [`- username: ${quotedScalar(username)}`];
  if (authenticationPassphrase !== undefined) {
    user.push(`  authentication_protocol: ${authenticationProtocol}`);
    user.push(`  authentication_passphrase: ${quotedScalar(authenticationPassphrase.reveal())}`);
  }
  if (privacyPassphrase !== undefined) {
    user.push(`  privacy_protocol: ${privacyProtocol}`);
    user.push(`  privacy_passphrase: ${quotedScalar(privacyPassphrase.reveal())}`);
  }
  lines.set("v3_credentials", ["v3_credentials:", ...user.map((line) => `    ${line}`)].join("\n"));
  return lines;
}

function stringOfAddress(ip: string): string {
  return ip.includes(":") ? quotedScalar(ip) : ip;
}

/** Returns the file of a device that was found, for people to read and edit. It contains the credential in the clear. */
export function deviceText(name: string, device: SweptDevice, access: DeviceAccess, at: number): string {
  const { network, facts, sysObjectId, sysDescr, reason } = device;
  const what = [facts.get("vendor"), facts.get("model"), facts.get("os.name"), facts.get("os.version")];
  const known = what.filter((word) => word !== undefined).join(" ");
  const serial = facts.get("serial");
  const comments = [
    `Found in the network ${network.name} on ${new Date(at).toISOString().slice(0, 16).replace("T", " ")} UTC.`,
    ...(reason === undefined ? [] : [`It was looked for as ${reason}.`]),
    known === "" ? sysDescr : known,
    ...(serial === undefined ? [] : [`serial number ${serial}`]),
    ...(sysObjectId === undefined ? [] : [`sysObjectID ${sysObjectId}`]),
    "This file is yours to edit. Discovery writes again only the address and the credentials, when the device has others.",
  ];
  const lines = [...accessLines(access).values()];
  if (network.deviceGroups !== undefined)
    lines.push(`device_groups: [${network.deviceGroups.map(stringScalar).join(", ")}]`);
  const head = comments.filter((text) => text !== undefined).map((text) => `# ${oneLine(text)}\n`);
  return `${head.join("")}${renderKey(stringScalar(name), "")}\n${lines.map((line) => `  ${line}\n`).join("")}`;
}

/** Returns a device's text on one line for a comment, so that no line of it may end the comment. */
function oneLine(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, " ").slice(0, 200);
}

/**
 * Returns the text of a device's file with another address or other credentials. All else stays as it is, including comments.
 *
 * @returns undefined if the file is not in block style, or has no such device.
 */
export function withAccess(file: string, name: string, access: DeviceAccess): string | undefined {
  const text = file.endsWith("\n") ? file : `${file}\n`;
  const device = deviceIn(text, name);
  const first = device?.pairs[0];
  if (device === undefined || first === undefined) return undefined;
  const indent = text.slice(text.lastIndexOf("\n", first.key.at) + 1, first.key.at);
  if (!/^ +$/.test(indent)) return undefined;
  const lines = accessLines(access);
  let edited = text;
  const there = device.pairs.filter(({ key }) => (accessKeys as readonly string[]).includes(key.text));
  const missing = [...lines.keys()].filter((key) => !there.some((pair) => pair.key.text === key));
  // New keys replace a removed one, or follow the address, which every device has.
  const place = there.find(({ key }) => !lines.has(key.text)) ?? there.find(({ key }) => key.text === "ip");
  for (const pair of there.toReversed()) {
    const line = lines.get(pair.key.text);
    const added = pair === place ? missing.map((key) => lines.get(key) as string) : [];
    const next = [...(line === undefined ? [] : [line]), ...added];
    edited = replacePair(
      edited,
      device,
      pair,
      indent,
      next.map((one) => one.replaceAll("\n", `\n${indent.slice(2)}`)),
    );
  }
  return edited;
}

function deviceIn(text: string, name: string): YamlMapping | undefined {
  try {
    const root = readYaml(text);
    const found = root?.kind === "mapping" ? root.pairs.find(({ key }) => key.text === name)?.value : undefined;
    return found?.kind === "mapping" ? found : undefined;
  } catch (error) {
    if (error instanceof YamlFault) return undefined;
    throw error;
  }
}

/** Replaces a pair by lines; the comment at the end of its line and those below it stay. */
function replacePair(
  text: string,
  { pairs }: YamlMapping,
  pair: YamlPair,
  indent: string,
  lines: readonly string[],
): string {
  const start = text.lastIndexOf("\n", pair.key.at) + 1;
  const following = pairs[pairs.indexOf(pair) + 1];
  const end = following === undefined ? endOfBlock(text, start, indent) : text.lastIndexOf("\n", following.key.at) + 1;
  const old = text.slice(start, end).split("\n");
  old.pop();
  // Blank lines and comments at the end belong to the next pair.
  let kept = old.length;
  while (kept > 1 && /^\s*(?:#.*)?$/.test(old[kept - 1] as string)) kept--;
  const remark = kept === 1 ? (/\s+#.*$/.exec(withoutQuoted(old[0] as string))?.index ?? -1) : -1;
  const behind = remark < 0 ? "" : (old[0] as string).slice(remark);
  const next = lines.map((line, i) => `${indent}${line}${i === 0 ? behind : ""}`);
  return text.slice(0, start) + [...next, ...old.slice(kept)].map((line) => `${line}\n`).join("") + text.slice(end);
}

/** Returns a line without its quoted parts, because a `#` between quotes begins no comment. */
function withoutQuoted(line: string): string {
  return line.replace(/"(?:[^"\\]|\\.)*"|'(?:[^']|'')*'/g, (quoted) => "_".repeat(quoted.length));
}

/** Returns the end of the lines that are blank or have at least the indentation of a block. */
function endOfBlock(text: string, start: number, indent: string): number {
  let at = start;
  while (at < text.length) {
    const end = text.indexOf("\n", at);
    const line = end < 0 ? text.slice(at) : text.slice(at, end);
    if (line.trim() !== "" && !line.startsWith(indent)) break;
    if (end < 0) return text.length;
    at = end + 1;
  }
  return at;
}

/** @returns the credential of the network that the device accepted. */
export function accessOf({ address, network, credential }: SweptDevice): DeviceAccess {
  return { ip: address, port: network.port, credential: takenCredential(network, credential) };
}

function takenCredential({ credentials }: Network, index: number): SweepCredential {
  const taken = credentials[index];
  if (taken === undefined) throw new Error(`there is no credential ${index}`);
  return taken;
}

/** A device that was known before a run. */
export interface KnownDevice extends DeviceIdentity {
  /** `ip:port` */
  readonly id: string;
  readonly name: string;
  /** True if discovery wrote its file, so that it may change the address and the credentials in it. */
  readonly isFound: boolean;
  /** The time of its last answer to discovery, in ms since the epoch. */
  readonly lastSeen: number | undefined;
  /** Reports whether it is polled with this access. */
  hasAccess(access: DeviceAccess): boolean;
}

interface ChangedDevice {
  readonly known: KnownDevice;
  readonly device: SweptDevice;
  /** A description of the differences. */
  readonly changes: readonly string[];
  /** The access to write to its file; undefined if the file stays. */
  readonly access: DeviceAccess | undefined;
}

interface DuplicateAnswer {
  readonly device: SweptDevice;
  readonly of: string;
  readonly reason: string;
}

/** The results of a run compared with the known devices. */
export interface Reconciled {
  readonly fresh: readonly SweptDevice[];
  readonly changed: readonly ChangedDevice[];
  /** The known devices that answered, changed or not. */
  readonly seen: readonly { readonly known: KnownDevice; readonly device: SweptDevice }[];
  readonly gone: readonly KnownDevice[];
  readonly duplicates: readonly DuplicateAnswer[];
}

/**
 * Compares the results of a run with the known devices.
 *
 * @param swept the networks whose addresses were all probed; a device there that does not answer is gone.
 */
export function reconcile(
  devices: readonly SweptDevice[],
  known: readonly KnownDevice[],
  swept: readonly Network[],
): Reconciled {
  const byId = new Map(known.map((one) => [one.id, one]));
  const seen = new Map<KnownDevice, SweptDevice>();
  const others: SweptDevice[] = [];
  for (const device of devices) {
    const itself = byId.get(idOf(device));
    if (itself === undefined) others.push(device);
    else seen.set(itself, device);
  }
  const identities = new KnownDevices<KnownDevice>();
  for (const one of known) identities.add(one);
  const fresh: SweptDevice[] = [];
  const freshIdentities = new KnownDevices<DeviceIdentity & { readonly device: SweptDevice }>();
  const duplicates: DuplicateAnswer[] = [];
  for (const device of others) {
    const identity = { ...identityOf(device), device };
    const match = identities.find(identity);
    if (match !== undefined) {
      // A device that answers only at another address has moved, unless its file is a person's.
      if (match.device.isFound && !seen.has(match.device)) seen.set(match.device, device);
      else duplicates.push({ device, of: match.device.name, reason: match.reason });
      continue;
    }
    const again = freshIdentities.find(identity);
    if (again !== undefined) {
      duplicates.push({ device, of: again.device.address, reason: again.reason });
      continue;
    }
    freshIdentities.add(identity);
    fresh.push(device);
  }
  return {
    fresh,
    changed: [...seen].flatMap(([one, device]) => changeOf(one, device) ?? []),
    seen: Array.from(seen, ([one, device]) => ({ known: one, device })),
    gone: known.filter((one) => one.isFound && !seen.has(one) && isIn(swept, one)),
    duplicates,
  };
}

function idOf({ address, network }: SweptDevice): string {
  return peerName(address, network.port);
}

export function identityOf({ address, engineId, sysObjectId, sysName, addresses, facts }: SweptDevice): DeviceIdentity {
  return { address, engineId, serial: facts.get("serial"), sysObjectId, sysName, addresses };
}

function isIn(networks: readonly Network[], { address, id }: KnownDevice): boolean {
  return networks.some(
    ({ ranges, excludes, port }) =>
      covers(ranges, address) && !covers(excludes, address) && id === peerName(address, port),
  );
}

function changeOf(known: KnownDevice, device: SweptDevice): ChangedDevice | undefined {
  const now = identityOf(device);
  const changes: string[] = [];
  const note = (what: string, before: string | undefined, after: string | undefined): void => {
    if (before !== undefined && after !== undefined && before !== after) changes.push(`${what}: ${before} → ${after}`);
  };
  note("address", known.id, idOf(device));
  note("sysObjectID", known.sysObjectId, now.sysObjectId);
  note("serial number", known.serial, now.serial);
  note("sysName", known.sysName, now.sysName);
  const access = accessOf(device);
  const isAccessNew = !known.hasAccess(access);
  if (isAccessNew) changes.push(`it takes credential ${credentialName(device.network, device.credential)}`);
  if (changes.length === 0) return undefined;
  const isRewritten = known.isFound && (isAccessNew || known.id !== idOf(device));
  return { known, device, changes, access: isRewritten ? access : undefined };
}
