import type { NatsOutputConfig } from "../../../src/output/index.ts";

export function natsConfig(server: string, given: Partial<NatsOutputConfig> = {}): NatsOutputConfig {
  return {
    kind: "nats",
    servers: [server],
    credentials: { kind: "none" },
    subject: "netgloss",
    keyFields: ["flow.export.ip.addr", "system.ip.addr"],
    stream: { name: "NETGLOSS", replicas: 1, maxAgeMs: 3_600_000, maxBytes: 0, duplicateWindowMs: 120_000 },
    tls: undefined,
    isTlsFirst: false,
    timeoutMs: 5000,
    ...given,
  };
}
