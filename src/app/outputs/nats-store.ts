import type { StoreConfig } from "../../output/index.ts";
import type { Settings } from "../settings/index.ts";
import { tlsOf } from "./store-server.ts";

type NatsStoreConfig = Extract<StoreConfig, { kind: "nats" }>;

export function natsStore(settings: Settings): NatsStoreConfig {
  const addresses = settings.SVC_OUTPUT_NATS_ADDRESSES;
  const isTls = settings.SVC_OUTPUT_NATS_TLS_ENABLE || addresses.some((address) => address.startsWith("tls:"));
  return {
    kind: "nats",
    servers: addresses.map((address) => address.replace(/^[a-z]+:\/\//, "")),
    credentials: natsCredentials(settings),
    subject: settings.SVC_OUTPUT_NATS_SUBJECT,
    keyFields: settings.SVC_OUTPUT_NATS_SUBJECT_KEY,
    stream: settings.SVC_OUTPUT_NATS_STREAM_CREATE
      ? {
          name: settings.SVC_OUTPUT_NATS_STREAM_NAME,
          replicas: settings.SVC_OUTPUT_NATS_STREAM_REPLICAS,
          maxAgeMs: 3_600_000 * settings.SVC_OUTPUT_NATS_STREAM_MAX_AGE,
          maxBytes: settings.SVC_OUTPUT_NATS_STREAM_MAX_SIZE,
          duplicateWindowMs: 1000 * settings.SVC_OUTPUT_NATS_STREAM_DUPLICATE_WINDOW,
        }
      : undefined,
    tls: isTls ? tlsOf("NATS", settings) : undefined,
    isTlsFirst: settings.SVC_OUTPUT_NATS_TLS_HANDSHAKE_FIRST,
    timeoutMs: 1000 * settings.SVC_OUTPUT_NATS_TIMEOUT,
  };
}

function natsCredentials(settings: Settings): NatsStoreConfig["credentials"] {
  const token = settings.SVC_OUTPUT_NATS_TOKEN;
  const seed = settings.SVC_OUTPUT_NATS_NKEY_SEED;
  const path = settings.SVC_OUTPUT_NATS_CREDENTIALS_FILEPATH;
  const username = settings.SVC_OUTPUT_NATS_USERNAME;
  if (path !== "") return { kind: "file", path };
  if (seed.isSet) return { kind: "nkey", seed: seed.reveal() };
  if (token.isSet) return { kind: "token", token: token.reveal() };
  if (username === "") return { kind: "none" };
  return { kind: "password", username, password: settings.SVC_OUTPUT_NATS_PASSWORD.reveal() };
}
