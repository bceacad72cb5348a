import { addressOrPrefix, bool, int, list, oneOf, path, row } from "../base/settings/index.ts";

/** The settings of rules and alerts. */
export const watchSettings = {
  SVC_WATCH_RULES_PATH: row(
    path,
    "",
    "The file of rules that flows are watched by; empty: none are. docs/watch.md describes it. It is read again when it changes.",
    "/etc/netgloss/watch.yml",
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
  SVC_WATCH_ANSWERS: row(
    oneOf(["dry-run", "approve", "automatic"]),
    "dry-run",
    "What becomes of answers to attacks, `blackhole` and `flowspec`. dry-run: they are shown. approve: announced when users with the role operator allow them. automatic: announced at once.",
    {
      fault: (mode, valueOf) =>
        mode === "dry-run" || valueOf("SVC_STATE_DIRECTORY_PATH") !== ""
          ? undefined
          : "needs SVC_STATE_DIRECTORY_PATH: what is announced is written down before",
    },
  ),
  SVC_WATCH_ANSWERS_APPROVALS: row(int(1, 2), 1, "How many users have to allow an answer; 2: two different ones.", {
    needs: [{ is: "2", must: { SVC_WATCH_ANSWERS: "approve" } }],
  }),
  SVC_WATCH_ANSWERS_MAX_ROUTES: row(int(1, 1000, "routes"), 20, "The most routes that are announced at a time."),
  SVC_WATCH_ANSWERS_NEVER: row(
    list(addressOrPrefix),
    [],
    "Addresses and prefixes that are never announced, nor any that shares an address with them: name servers, your own collectors and routers.",
    "192.0.2.53,2001:db8::/64",
  ),
  SVC_WATCH_ANSWERS_TIME_LIMIT: row(
    int(60, 86_400, "seconds"),
    900,
    "How long a route is announced; it is renewed while its alert fires.",
  ),
  SVC_WATCH_COMMANDS_ENABLE: row(
    bool,
    false,
    "Allows the file of rules to name programs to be run, as the user of the collector.",
  ),
};
