import { createSocket } from "node:dgram";
import { createServer } from "node:net";
import { once } from "node:events";
import type { Settings } from "../settings/index.ts";
import { messageOf, type Findings } from "./findings.ts";

/** Opens each port for an instant. One that is in use, or that this user may not open, is a problem. */
export async function checkPorts(settings: Settings): Promise<Findings> {
  const problems: string[] = [];
  const attempt = async (subject: string, open: () => Promise<void>): Promise<void> => {
    try {
      await open();
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      problems.push(`${subject}: ${code === "EADDRINUSE" ? "is in use by another process" : messageOf(error)}`);
    }
  };
  const { SVC_API_IP: ip, SVC_API_PORT: port } = settings;
  if (port !== 0) await attempt(`SVC_API_PORT: TCP port ${port} on ${ip}`, () => listen(ip, port));
  for (const word of ["TCP", "TLS"] as const) {
    const name = `SVC_FLOW_SERVER_${word}_PORT` as const;
    const [address, each] = [settings[`SVC_FLOW_SERVER_${word}_IP`], settings[name]];
    if (!settings[`SVC_FLOW_SERVER_${word}_ENABLE`] || each === 0) continue;
    const where = address === "" ? "" : ` on ${address}`;
    await attempt(`${name}: TCP port ${each}${where}`, () => onAny(address, each, listen));
  }
  if (settings.SVC_FLOW_SERVER_UDP_ENABLE) {
    const address = settings.SVC_FLOW_SERVER_UDP_IP;
    for (const each of settings.SVC_FLOW_SERVER_UDP_PORT) {
      const where = address === "" ? "" : ` on ${address}`;
      if (each !== 0) {
        await attempt(`SVC_FLOW_SERVER_UDP_PORT: UDP port ${each}${where}`, () => onAny(address, each, bind));
      }
    }
  }
  return { problems, warnings: [] };
}

async function listen(host: string, port: number): Promise<void> {
  const server = createServer();
  server.listen({ host, port, exclusive: true });
  await once(server, "listening");
  server.close();
  await once(server, "close");
}

/** As the collector does: all addresses are those of both families, or of IPv4 on a host without IPv6. */
async function onAny(
  address: string,
  port: number,
  open: (address: string, port: number) => Promise<void>,
): Promise<void> {
  if (address !== "") return open(address, port);
  try {
    await open("::", port);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EAFNOSUPPORT") throw error;
    await open("0.0.0.0", port);
  }
}

async function bind(address: string, port: number): Promise<void> {
  const socket = createSocket({ type: address.includes(":") ? "udp6" : "udp4", ipv6Only: false });
  try {
    const bound = once(socket, "listening");
    socket.bind({ address, port, exclusive: true });
    await bound;
  } finally {
    socket.close();
  }
}
