import { createSocket } from "node:dgram";
import { createServer } from "node:net";
import { once } from "node:events";
import { listenFault } from "../../base/report/index.ts";
import type { Settings } from "../settings/index.ts";
import type { Findings } from "./findings.ts";

interface Port {
  readonly setting: string;
  readonly transport: "TCP" | "UDP";
  /** Empty: all. */
  readonly address: string;
  readonly port: number;
}

/** Opens all ports for an instant. One that is in use, that this user may not open, or that two settings have, is a problem. */
export async function checkPorts(settings: Settings): Promise<Findings> {
  const problems: string[] = [];
  const opened: { readonly port: Port; readonly close: Close }[] = [];
  try {
    for (const port of portsOf(settings)) {
      const { setting, transport, address } = port;
      const where = address === "" ? "" : ` on ${address}`;
      try {
        opened.push({ port, close: await onAny(port, transport === "TCP" ? listen : bind) });
      } catch (error) {
        const other = opened.find(({ port: one }) => one.transport === transport && one.port === port.port);
        problems.push(`${setting}: ${transport} port ${port.port}${where}: ${faultOf(error, other?.port)}`);
      }
    }
  } finally {
    await Promise.all(opened.map(({ close }) => close()));
  }
  return { problems, warnings: [] };
}

function faultOf(error: unknown, other: Port | undefined): string {
  if ((error as NodeJS.ErrnoException).code !== "EADDRINUSE") return listenFault(error);
  return other === undefined ? "is in use by another process" : `${other.setting} has it, too`;
}

/** The ports that a start opens, but for those that the system chooses. */
function portsOf(settings: Settings): Port[] {
  const ports: Port[] = [];
  const add = (setting: string, transport: Port["transport"], address: string, port: number): void => {
    if (port !== 0) ports.push({ setting, transport, address, port });
  };
  add("SVC_API_PORT", "TCP", settings.SVC_API_IP, settings.SVC_API_PORT);
  for (const word of ["TCP", "TLS"] as const) {
    const name = `SVC_FLOW_SERVER_${word}_PORT` as const;
    if (!settings[`SVC_FLOW_SERVER_${word}_ENABLE`]) continue;
    add(name, "TCP", settings[`SVC_FLOW_SERVER_${word}_IP`], settings[name]);
  }
  if (settings.SVC_FLOW_SERVER_UDP_ENABLE) {
    for (const port of settings.SVC_FLOW_SERVER_UDP_PORT) {
      add("SVC_FLOW_SERVER_UDP_PORT", "UDP", settings.SVC_FLOW_SERVER_UDP_IP, port);
    }
  }
  if (settings.SVC_INPUT_TRAP_ENABLE) {
    const { SVC_INPUT_TRAP_LISTENER_IP: address, SVC_INPUT_TRAP_LISTENER_PORT: port } = settings;
    add("SVC_INPUT_TRAP_LISTENER_PORT", "UDP", address, port);
    if (settings.SVC_INPUT_TRAP_LISTENER_TCP_ENABLE) add("SVC_INPUT_TRAP_LISTENER_PORT", "TCP", address, port);
  }
  return ports;
}

type Close = () => Promise<void>;

async function listen(host: string, port: number): Promise<Close> {
  const server = createServer();
  server.listen({ host, port, exclusive: true });
  await once(server, "listening");
  return async () => {
    server.close();
    await once(server, "close");
  };
}

/** As the collector does: all addresses are those of both families, or of IPv4 on a host without IPv6. */
async function onAny({ address, port }: Port, open: (address: string, port: number) => Promise<Close>): Promise<Close> {
  if (address !== "") return open(address, port);
  try {
    return await open("::", port);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EAFNOSUPPORT") throw error;
    return open("0.0.0.0", port);
  }
}

async function bind(address: string, port: number): Promise<Close> {
  const socket = createSocket({ type: address.includes(":") ? "udp6" : "udp4", ipv6Only: false });
  const close = async (): Promise<void> => {
    socket.close();
  };
  try {
    const bound = once(socket, "listening");
    socket.bind({ address, port, exclusive: true });
    await bound;
  } catch (error) {
    await close();
    throw error;
  }
  return close;
}
