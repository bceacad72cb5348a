import { packageVersion } from "../package-root.ts";
import { throughApi, type CommandRow } from "./command-row.ts";

/** All commands of the program, in the order of its help. Groups name theirs in files of their own. */
export const commandTable: readonly CommandRow[] = [
  {
    usage: "serve",
    description: "run the collector until SIGTERM or SIGINT",
    load: async () => (await import("./serve-command.ts")).defineServe,
  },
  {
    usage: "demo",
    description: "run a collector with three exporters and two SNMP devices of its own, and show its records",
    load: async () => (await import("./demo-command.ts")).defineDemo,
  },
  {
    usage: "config",
    description: "check, show or migrate the settings",
    load: async () => (await import("./config-command.ts")).defineConfig,
  },
  {
    usage: "doctor [exporter]",
    description: "say why flows are missing or wrong, of all exporters or of one; exit code 1 with findings",
    helpGroup: throughApi,
    load: async () => (await import("./doctor-command.ts")).defineDoctor,
  },
  {
    usage: "udm",
    description: "read and change the metadata of a running collector",
    load: async () => (await import("./udm/udm-command.ts")).defineUdm,
  },
  {
    usage: "source",
    description: "look at the sources of metadata of a running collector, and run them",
    load: async () => (await import("./source-command.ts")).defineSource,
  },
  {
    usage: "flows",
    description: "watch the flows of a running collector",
    load: async () => (await import("./flows/flows-command.ts")).defineFlows,
  },
  {
    usage: "health",
    description:
      "say whether a running collector is ready, check by check; exit code 1 when it is not, 6 when it does not answer",
    helpGroup: throughApi,
    load: async () => (await import("./health-command.ts")).defineHealth,
  },
  {
    usage: "metrics [names...]",
    description: "show the metrics of a running collector, or those whose names contain one of these words",
    helpGroup: throughApi,
    load: async () => (await import("./metrics-command.ts")).defineMetrics,
  },
  {
    usage: "replay <file...>",
    description: "decode the flows in captures (pcap or pcapng, - for the standard input) and write their records",
    load: async () => (await import("./replay-command.ts")).defineReplay,
  },
  {
    usage: "tee",
    description: "receive flow datagrams by UDP and pass each on to other collectors, with the sender's address inside",
    load: async () => (await import("./tee-command.ts")).defineTee,
  },
  {
    usage: "snmp",
    description: "SNMP devices of a running collector, and checks of definitions",
    load: async () => (await import("./snmp-command.ts")).defineSnmp,
  },
  {
    usage: "fleet",
    description: "set up what several collectors share",
    load: async () => (await import("./fleet-command.ts")).defineFleet,
  },
  {
    usage: "output",
    description: "test the outputs to stores, send again what they refused",
    load: async () => (await import("./output-command.ts")).defineOutput,
  },
  {
    usage: "filter <expression> [files...]",
    description: "write the records, one JSON object a line, that match a filter; see docs/filters.md",
    load: async () => (await import("./filter-command.ts")).defineFilter,
  },
  {
    usage: "user",
    description: "users of the API, in the file of SVC_API_USERS_PATH",
    load: async () => (await import("./access/user-command.ts")).defineUser,
  },
  {
    usage: "token",
    description: "API tokens, in the file of SVC_API_USERS_PATH",
    load: async () => (await import("./access/user-command.ts")).defineToken,
  },
  {
    usage: "completion <shell>",
    description: 'print a completion script: eval "$(netgloss completion bash)"; see docs/command-line.md',
    load: async () => (await import("./completion/completion-command.ts")).defineCompletion,
  },
  {
    usage: "complete-words [words...]",
    description: "what completion scripts ask",
    hidden: true,
    load: async () => (await import("./completion/completion-command.ts")).defineCompleteWords,
  },
  {
    usage: "version",
    description: "show the versions of netgloss and of Node",
    load:
      () =>
      (version, { terminal }) => {
        version.action(() => terminal.out(`netgloss ${packageVersion()}, Node ${process.version}\n`));
      },
  },
];
