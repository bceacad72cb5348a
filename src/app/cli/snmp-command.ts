import type { CollectorAnswer } from "../../server/index.ts";
import { InvalidArgumentError, type Command } from "commander";
import { addClientOptions, clientOf } from "./client/client-options.ts";
import { offline, throughApi, type CommandContext, type DefineCommand } from "./command.ts";
import { addConfigOption, commandSettings } from "./command.ts";
import { addOutput, print, type Cell, type OutputFormat } from "./print.ts";
import { exitCodes } from "./terminal.ts";
import type { DiscoverOptions } from "./discover-networks.ts";

/** A device as the API describes it, with fields that are missing in the API's document. */
type ExplainedDevice = CollectorAnswer<"getDevice"> & {
  readonly facts?: Readonly<Record<string, string>>;
  readonly why?: {
    readonly groups: string;
    readonly absentObjects: readonly string[];
    readonly absentAttributes: Readonly<Record<string, readonly string[]>>;
  };
};

/** Returns text that explains how a device was identified. */
function whyText(device: ExplainedDevice): string {
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

type DevicesAnswer = CollectorAnswer<"listDevices">;
type ListedDevice = DevicesAnswer["devices"][number];

/** Defines `snmp …`: the operations and the state of a running collector, and a check of definitions without one. */
export const defineSnmp: DefineCommand = (snmp, context) => {
  const { terminal, setExitCode } = context;
  const client = (name: string, description: string): Command =>
    addClientOptions(snmp.command(name).description(description).helpGroup(throughApi));
  const show = (answer: unknown): void => terminal.out(`${JSON.stringify(answer, undefined, 2)}\n`);

  const apply = client("apply", "read all definitions again and apply them")
    .option("--force", "discover devices again whose definitions have changed")
    .action(async ({ force }: { force?: boolean }) => {
      const api = await clientOf(apply, terminal);
      show(await api.ask("POST", `/api/v1/snmp/apply-definitions?force_rediscovery=${force === true}`));
    });

  const rediscover = client("rediscover <ip> [port]", "discover one device again")
    .option("--wait <seconds>", "how long to wait for the result")
    .action(async (ip: string, port: string | undefined, { wait }: { wait?: string }) => {
      const query = wait === undefined ? "" : `?wait=${encodeURIComponent(wait)}`;
      const body = { ip, port: Number(port ?? 161) };
      const api = await clientOf(rediscover, terminal);
      const answer = (await api.ask("POST", `/api/v1/snmp/rediscover-device${query}`, body)) as object;
      show(answer);
      if ("result" in answer && answer.result === "failed") setExitCode(exitCodes.failure);
    });

  const discover = client("discover", "search the networks of networks.yml for devices")
    .option("--dry-run", "only say what would be written")
    .option("--network <name...>", "only these networks")
    .option("--json", "the whole report as JSON")
    .option("--from <file>", "search the networks of this file from here, without a collector")
    .option("--out <dir>", "with --from: where device files go (default: nowhere, as with --dry-run)")
    .option("--rate <number>", "with --from: messages per second (default: 100)", wholeNumber)
    .action(async (options: DiscoverOptions) => {
      const { discoverFromHere, discoverThere } = await import("./discover-networks.ts");
      const isDone =
        options.from === undefined
          ? await discoverThere(await clientOf(discover, terminal), options, terminal)
          : await discoverFromHere(options.from, options, terminal);
      if (!isDone) setExitCode(exitCodes.failure);
    });

  const candidates = addOutput(
    client("candidates", "list addresses that neighbours and flows name, and that are no devices"),
  ).action(async ({ output }: { output: OutputFormat }) => {
    const { showCandidates } = await import("./discover-networks.ts");
    await showCandidates(await clientOf(candidates, terminal), output, terminal);
  });

  addTopologyCommands(client, context);

  const devices = addOutput(client("devices [device]", "show all devices, or all about one (its ip:port, or its name)"))
    .option("--why", "say what the device is taken for, and what it does not answer")
    .action(async (device: string | undefined, { output, why }: { output: OutputFormat; why?: boolean }) => {
      const api = await clientOf(devices, terminal);
      if (device !== undefined) {
        const id = await idOf(device, api);
        const detail = (await api.ask("GET", `/api/v1/snmp/devices/${encodeURIComponent(id)}`)) as ExplainedDevice;
        const text = (): string => (why === true ? whyText(detail) : `${JSON.stringify(detail, undefined, 2)}\n`);
        await print({ value: detail, head: deviceHead, rows: [deviceRow(detail)], text }, output, terminal);
        return;
      }
      const answer = (await api.ask("GET", "/api/v1/snmp/devices")) as DevicesAnswer;
      if (!answer.enabled) terminal.err("SNMP is not enabled in this collector: SVC_INPUT_SNMP_ENABLE is false\n");
      const rows = answer.devices.map(deviceRow);
      await print({ value: answer.devices, head: deviceHead, rows }, output, terminal);
    });

  const check = addConfigOption(snmp.command("check [dir]"))
    .helpGroup(offline)
    .description(
      "check the definitions in a directory, or those of the settings; faults are reported as file:line:column",
    )
    .action(async (directory: string | undefined) => {
      const { checkDefinitions } = await import("./check-definitions.ts");
      const from = directory ?? (await commandSettings(check, terminal)).settings;
      if (!(await checkDefinitions(from, terminal))) setExitCode(exitCodes.failure);
    });
  addGenerateCommand(snmp, context);
};

function addTopologyCommands(
  client: (name: string, description: string) => Command,
  { terminal, setExitCode }: CommandContext,
): void {
  const links = addOutput(
    client("links", "list the links between devices, and to neighbors that are not polled"),
  ).action(async ({ output }: { output: OutputFormat }) => {
    const { showLinks } = await import("./topology.ts");
    await showLinks(await clientOf(links, terminal), output, terminal);
  });

  const locate = addOutput(client("locate <address>", "find the switch port of an IP or MAC address")).action(
    async (address: string, { output }: { output: OutputFormat }) => {
      const { locate: find } = await import("./topology.ts");
      if (!(await find(address, await clientOf(locate, terminal), output, terminal))) setExitCode(exitCodes.failure);
    },
  );
}

function addGenerateCommand(snmp: Command, { terminal, setExitCode }: CommandContext): void {
  const several = (value: string, before: readonly string[] = []): readonly string[] => [...before, value];
  snmp
    .command("generate <file...>")
    .helpGroup(offline)
    .description(
      "make definitions of MIB modules: files, directories, or names of modules; those made before keep their edits",
    )
    .option("--root <object>", "only what is at and below it: a name or an OID (repeatable)", several)
    .option("--output <dir>", "where to write the definitions; without it they are shown")
    .option("--device-group <name>", "also write a device group of all of it")
    .option("--mibs <dir>", "where imported modules are, before the usual places (repeatable)", several)
    .option("--all", "also objects that netgloss has definitions of")
    .option("--no-descriptions", "leave out the descriptions of the objects")
    .action(async (mibs: readonly string[], options: GenerateFlags) => {
      const { generateDefinitions } = await import("./generate-definitions.ts");
      const { root = [], mibs: directories = [], deviceGroup, output, all, descriptions } = options;
      const chosen = { root, mibs: directories, deviceGroup, output, all: all === true, descriptions };
      if (!(await generateDefinitions(mibs, chosen, terminal))) setExitCode(exitCodes.failure);
    });
}

interface GenerateFlags {
  readonly root?: readonly string[];
  readonly mibs?: readonly string[];
  readonly deviceGroup?: string;
  readonly output?: string;
  readonly all?: boolean;
  readonly descriptions: boolean;
}

function wholeNumber(text: string): number {
  if (!/^[1-9]\d{0,3}$/.test(text)) throw new InvalidArgumentError("expected a whole number from 1 to 9999.");
  return Number(text);
}

/** Returns the state of a device, or the collector that polls it if another one does. */
const stateOf = ({ state, polledBy }: ListedDevice): string =>
  state === "elsewhere" && polledBy !== undefined ? `at ${polledBy}` : state;

const deviceHead = ["device", "name", "state", "groups", "objects", "lastPoll", "lastError"];

function deviceRow(row: ListedDevice): readonly Cell[] {
  const { device, name, groups, plan, lastPoll, lastError } = row;
  return [device, name, stateOf(row), groups.join(","), plan?.objects, lastPoll, lastError?.message];
}

/** Returns the id of a device by the name in its file; anything else is taken for an `ip:port`. */
async function idOf(device: string, api: Awaited<ReturnType<typeof clientOf>>): Promise<string> {
  if (device.includes(":")) return device;
  const { devices } = (await api.ask("GET", "/api/v1/snmp/devices")) as DevicesAnswer;
  return devices.find(({ name }) => name === device)?.device ?? device;
}
