import { bool, int, path, row } from "../base/settings/index.ts";

/** Rules on flows, and alerts. */
export const watchSettings = {
  SVC_WATCH_RULES_PATH: row(
    path,
    "",
    "The file of rules that flows are watched by; empty: none are. docs/watch.md describes it. It is read again when it changes.",
    "/etc/netgloss/watch.yml",
  ),
  SVC_WATCH_COMMANDS_ENABLE: row(
    bool,
    false,
    "Whether actions of the file of rules may run programs, as the user of the collector.",
  ),
  SVC_WATCH_MAX_KEYS: row(
    int(1000, 10_000_000, "keys"),
    200_000,
    "The most keys that one rule watches at a time, each in some 400 to 900 bytes. Records of further ones are counted.",
  ),
  SVC_WATCH_MAX_HISTORY: row(
    int(1000, 1_000_000, "keys"),
    20_000,
    "The most keys of which one rule keeps what is usual (1.7 KB each), or that they were seen (100 bytes each). Further ones have no history.",
  ),
};
