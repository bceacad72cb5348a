import { access, constants } from "node:fs/promises";
import type { Clock, Component, Health, Log } from "../report/index.ts";
import type { PlainSettings, Settings } from "./settings/index.ts";

/** A file that adds to records. Without it they go without what it adds. */
export interface OptionalFile {
  /** What it is, as a noun. */
  readonly label: string;
  readonly path: string;
}

/** The files of the settings that a start does not need. */
export function optionalFiles(settings: Settings | PlainSettings): OptionalFile[] {
  const all: readonly (readonly [isOn: boolean, label: string, path: string])[] = [
    [
      settings.SVC_PROCESSOR_ENRICH_IPADDR_MAXMIND_ASN_ENABLE,
      "AS numbers",
      settings.SVC_PROCESSOR_ENRICH_IPADDR_MAXMIND_ASN_PATH,
    ],
    [
      settings.SVC_PROCESSOR_ENRICH_IPADDR_MAXMIND_GEOIP_ENABLE,
      "places",
      settings.SVC_PROCESSOR_ENRICH_IPADDR_MAXMIND_GEOIP_PATH,
    ],
    [
      settings.SVC_PROCESSOR_ENRICH_NETIF_METADATA_ENABLE,
      "interfaces",
      settings.SVC_PROCESSOR_ENRICH_NETIF_METADATA_USERDEF_PATH,
    ],
    [
      settings.SVC_PROCESSOR_ENRICH_PORT_NAME_ENABLE,
      "port names",
      settings.SVC_PROCESSOR_ENRICH_PORT_NAME_USERDEF_PATH,
    ],
  ];
  return all.filter(([isOn, , path]) => isOn && path !== "").map(([, label, path]) => ({ label, path }));
}

const lookEveryMs = 60_000;

export interface OptionalFilesOptions {
  readonly log: Log;
  readonly health: Health;
  readonly clock: Clock;
}

/** Watches whether optional files are there, and says in the log and in readiness when one is not. */
export function createOptionalFiles(files: readonly OptionalFile[], { log, health }: OptionalFilesOptions): Component {
  const missing = new Set<string>();
  let timer: NodeJS.Timeout | undefined;
  const look = async (): Promise<void> => {
    for (const { label, path } of files) {
      const reason = await faultOf(path);
      const name = `file of ${label}`;
      if (reason === undefined) {
        health.set({ name, ready: true });
        if (missing.delete(path)) log.info({ path }, `the file of ${label} is there`);
      } else {
        health.set({ name, ready: true, degraded: true, detail: `${path}: ${reason}; records go without it` });
        if (!missing.has(path))
          log.warn({ path, reason }, `the file of ${label} cannot be read: records go without it`);
        missing.add(path);
      }
    }
  };
  return {
    name: "optional files",
    async start() {
      await look();
      timer = setInterval(() => void look(), lookEveryMs);
      timer.unref();
    },
    async stop() {
      clearInterval(timer);
    },
  };
}

async function faultOf(path: string): Promise<string | undefined> {
  try {
    await access(path, constants.R_OK);
    return undefined;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    return code === "ENOENT" || code === "ENOTDIR" ? "no such file" : message;
  }
}
