/** What `GET /api/v1/snmp/devices/{ip:port}` answers about a device: the fields that the command prints. */
export interface ExplainedDevice {
  readonly device: string;
  readonly name: string;
  readonly state: string;
  readonly sysObjectId?: string;
  readonly sysDescr?: string;
  readonly groups: readonly string[];
  readonly facts?: Readonly<Record<string, string>>;
  readonly plan?: { readonly objects: number; readonly attributes: number };
  readonly lastError?: { readonly message: string };
  readonly why?: {
    readonly groups: string;
    readonly absentObjects: readonly string[];
    readonly absentAttributes: Readonly<Record<string, readonly string[]>>;
  };
}

/** Why a device is taken for what it is: a text for people. */
export function whyText(device: ExplainedDevice): string {
  const { name, state, sysObjectId, sysDescr, groups, facts = {}, plan, lastError, why } = device;
  const lines = [`${name} (${device.device}) is ${state}`];
  if (sysObjectId !== undefined) lines.push(`sysObjectID   ${sysObjectId}`);
  if (sysDescr !== undefined) lines.push(`sysDescr      ${sysDescr.replace(/\s+/g, " ")}`);
  for (const [fact, text] of Object.entries(facts)) lines.push(`${fact.padEnd(13)} ${text}`);
  lines.push(`groups        ${groups.join(", ")}${why === undefined ? "" : `: ${why.groups}`}`);
  if (plan !== undefined) lines.push(`polled        ${plan.attributes} attributes of ${plan.objects} objects`);
  if (lastError !== undefined) lines.push(`last error    ${lastError.message}`);
  if (why !== undefined) {
    lines.push(`not there     ${why.absentObjects.length} objects of its groups`);
    for (const id of why.absentObjects) lines.push(`              ${id}`);
    const partial = Object.entries(why.absentAttributes);
    lines.push(`never answer  attributes of ${partial.length} objects that are there`);
    for (const [id, attributes] of partial) lines.push(`              ${id}: ${attributes.join(", ")}`);
  }
  return `${lines.join("\n")}\n`;
}
