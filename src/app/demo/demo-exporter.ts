import type { Socket } from "node:dgram";
import { once } from "node:events";
import type { Clock, Component } from "../../report/index.ts";
import { bindLoopback } from "./bind-loopback.ts";
import type { DemoFlow } from "./demo-flow.ts";
import type { DemoStory } from "./demo-story.ts";
import { createDemoNetwork } from "./demo-network.ts";
import { encodeIpfix } from "./encode-ipfix.ts";
import { encodeNetflowV5 } from "./encode-netflow-v5.ts";
import { encodeNetflowV9 } from "./encode-netflow-v9.ts";
import type { ExportState } from "./export-state.ts";
import type { InterfaceCounters } from "./interface-counters.ts";
import type { Random } from "./random.ts";

export interface DemoExporterOptions {
  /** Where the datagrams go, a port of this host. */
  readonly port: number;
  readonly random: Random;
  readonly clock: Clock;
  /** How often each of the three exporters sends a datagram. Default 500. */
  readonly intervalMs?: number;
  /** How many conversations of each family a datagram has. Default 1. */
  readonly conversations?: number;
  /** Further sites and tenants, and what goes wrong there. */
  readonly story?: DemoStory;
  /** Counts what went through the interfaces. */
  readonly counters?: InterfaceCounters;
}

type Encode = (flows: readonly DemoFlow[], withTemplates: boolean, state: ExportState) => Buffer;

interface Protocol {
  /** The exporter's own address on the loopback network, which the sample metadata names. */
  readonly address: string;
  readonly encode: Encode;
  readonly families: readonly (4 | 6)[];
  /** What the sequence number counts. */
  readonly counts: "records" | "datagrams";
}

const protocols: readonly Protocol[] = [
  {
    address: "127.0.1.5",
    encode: (flows, _, state) => encodeNetflowV5(flows, state),
    families: [4, 4],
    counts: "records",
  },
  { address: "127.0.1.9", encode: encodeNetflowV9, families: [4, 6], counts: "datagrams" },
  { address: "127.0.1.10", encode: encodeIpfix, families: [4, 6], counts: "records" },
];

const templateEvery = 20;

/**
 * Three exporters, one each for NetFlow v5, v9 and IPFIX, that send a datagram of a few flows at a fixed interval over
 * the loopback network. Where only 127.0.0.1 exists (not on Linux), all send from there.
 */
export function createDemoExporter(options: DemoExporterOptions): Component {
  const { port, random, clock, intervalMs = 500, conversations = 1, story, counters } = options;
  const network = createDemoNetwork(random, { hasTenants: story !== undefined });
  const sockets: Socket[] = [];
  let timer: NodeJS.Timeout | undefined;

  const bootTime = clock.now() - 60_000;
  const sequences = protocols.map(() => 0);
  let round = 0;

  const send = (): void => {
    const now = clock.now();
    const withTemplates = round++ % templateEvery === 0;
    protocols.forEach((protocol, i) => {
      const families = Array.from({ length: conversations }, () => protocol.families).flat();
      const flows = families.flatMap((family): DemoFlow[] => network.conversation(family, now));
      flows.push(...(story?.flows(i, now) ?? []));
      counters?.add(protocol.address, flows);
      const sequence = sequences[i] ?? 0;
      const state = { now, bootTime, sequence, domain: i + 1 };
      sequences[i] = sequence + (protocol.counts === "records" ? flows.length : 1);
      if (story?.loses(i, round) === true) return;
      // A datagram that the kernel does not take is lost like any other.
      sockets[i]?.send(protocol.encode(flows, withTemplates, state), port, "127.0.0.1", () => {});
    });
  };

  return {
    name: "demo exporter",
    async start() {
      for (const { address } of protocols) sockets.push(await bindLoopback(address));
      send();
      timer = setInterval(send, intervalMs);
    },
    async stop() {
      clearInterval(timer);
      await Promise.all(sockets.splice(0).map(close));
    },
  };
}

async function close(socket: Socket): Promise<void> {
  socket.close();
  await once(socket, "close");
}
