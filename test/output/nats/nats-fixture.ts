import type { SettingsOf } from "../../../src/output/index.ts";

export type NatsSettings = SettingsOf<"NATS">;

export function natsServer(server: string, given: Partial<NatsSettings> = {}): Partial<NatsSettings> {
  return { ADDRESSES: [server], STREAM_MAX_AGE: 1, TIMEOUT: 5, ...given };
}
