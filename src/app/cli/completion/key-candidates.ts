import type { Command } from "commander";
import { clientOf } from "../client/client-options.ts";
import type { Terminal } from "../terminal.ts";
import { callUdm, readUdmKeys } from "../udm/udm-json.ts";
import type { Candidate } from "./candidates.ts";

/** A shell waits meanwhile. */
const patience = 2_000;
const most = 500;
/** With more entries only a part is asked for. */
const listedWhole = 20_000;

/** Keys of the collector that the command line so far means; none when it does not answer at once, or wants a password. */
export async function keyCandidates(
  command: Command,
  words: readonly string[],
  begun: string,
  terminal: Terminal,
): Promise<readonly Candidate[]> {
  const found: Candidate[] = [];
  const late = AbortSignal.timeout(patience);
  const ask = async (): Promise<void> => {
    command.configureOutput({ writeErr: () => {}, outputError: () => {} });
    command.parseOptions([...words]);
    const client = await clientOf(command, { ...terminal, ask: () => Promise.resolve(undefined) });
    const { count = 0 } = (await callUdm(client, "CountUdms", {})) as { count?: number };
    const within = count > listedWhole ? prefixOf(begun) : undefined;
    if (count > listedWhole && within === undefined) return;
    for await (const keys of readUdmKeys(client, within === undefined ? {} : { key: within })) {
      for (const key of keys) if (key.startsWith(begun)) found.push({ text: key });
      if (found.length >= most || late.aborted) return;
    }
  };
  const timer = new Promise<void>((resolve) => late.addEventListener("abort", () => resolve()));
  await Promise.race([ask().catch(() => {}), timer]);
  return found.slice(0, most);
}

/** The network of the octets that are complete: `10.1.2` is in 10.1.0.0/16. */
function prefixOf(begun: string): string | undefined {
  const octets = /^(?:\d{1,3}\.){1,3}/.exec(begun)?.[0].split(".").slice(0, -1) ?? [];
  if (octets.length === 0) return undefined;
  return `${[...octets, "0", "0", "0"].slice(0, 4).join(".")}/${8 * octets.length}`;
}
