import {
  renderKey,
  readYaml,
  quotedScalar,
  stringScalar,
  YamlFault,
  type YamlMapping,
  type YamlPair,
} from "../../base/yaml/index.ts";
import type { Network, SweepCredential } from "./network.ts";
import type { SweptDevice } from "./probe-address.ts";

/** What a device's file says about how it is asked. */
export interface DeviceAccess {
  readonly ip: string;
  readonly port: number;
  readonly credential: SweepCredential;
}

/** The lines of a device file that say so, by key; a value of several lines is indented. */
type AccessLines = ReadonlyMap<string, string>;

const accessKeys = ["ip", "port", "version", "communities", "v3_credentials"] as const;

function accessLines({ ip, port, credential }: DeviceAccess): AccessLines {
  const lines = new Map<string, string>([["ip", `ip: ${stringOfAddress(ip)}`]]);
  // The defaults of devices may have another one.
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

/** The file of a device that was found, for people to read and edit. It has the credential in the clear. */
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

/** What devices say goes into comments: no line of it may end there. */
function oneLine(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, " ").slice(0, 200);
}

/**
 * The text of a device's file with another address or other credentials. All else stays as it is, comments included.
 *
 * @returns undefined when the file is not in block style, or has no such device.
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
  // New keys come in the place of one that goes, else behind the address, which every device has.
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

/** Puts lines in the place of a pair; a comment at the end of its line and those below it stay. */
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
  // Blank lines and comments at the end belong to what follows.
  let kept = old.length;
  while (kept > 1 && /^\s*(?:#.*)?$/.test(old[kept - 1] as string)) kept--;
  const remark = kept === 1 ? (/\s+#.*$/.exec(withoutQuoted(old[0] as string))?.index ?? -1) : -1;
  const behind = remark < 0 ? "" : (old[0] as string).slice(remark);
  const next = lines.map((line, i) => `${indent}${line}${i === 0 ? behind : ""}`);
  return text.slice(0, start) + [...next, ...old.slice(kept)].map((line) => `${line}\n`).join("") + text.slice(end);
}

/** A `#` between quotes begins no comment. */
function withoutQuoted(line: string): string {
  return line.replace(/"(?:[^"\\]|\\.)*"|'(?:[^']|'')*'/g, (quoted) => "_".repeat(quoted.length));
}

/** Where the lines end that are indented as deep as a block, or blank. */
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

/** @returns the network's credential that a device took. */
export function accessOf({ address, network, credential }: SweptDevice): DeviceAccess {
  return { ip: address, port: network.port, credential: takenCredential(network, credential) };
}

function takenCredential({ credentials }: Network, index: number): SweepCredential {
  const taken = credentials[index];
  if (taken === undefined) throw new Error(`there is no credential ${index}`);
  return taken;
}
