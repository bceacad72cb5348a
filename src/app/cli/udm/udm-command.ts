import { addCommands, offline, throughApi, type CommandRow, type DefineCommand } from "../command.ts";
import { sourceListDescription } from "../command.ts";

const readCommands = () => import("./read-commands.ts");
const applyCommands = () => import("./apply-command.ts");
const exchangeCommands = () => import("./exchange-commands.ts");
const historyCommands = () => import("./read-commands.ts");
const databaseCommands = () => import("./database-commands.ts");

const ofCollector: readonly CommandRow[] = [
  {
    usage: "get <keys...>",
    description: "show the entries with exactly these keys",
    load: async () => (await readCommands()).defineGet,
  },
  {
    usage: "list [key]",
    description: "show all entries, or those related to an address, CIDR or range",
    load: async () => (await readCommands()).defineList,
  },
  {
    usage: "count",
    description: "show how many entries there are",
    load: async () => (await readCommands()).defineCount,
  },
  {
    usage: "search [text]",
    description: "show the entries with a text in key, name, tags or metadata, or those that match a filter",
    load: async () => (await import("./read-commands.ts")).defineSearch,
  },
  {
    usage: "explain <ip>",
    description: "show what records get of an address: each field, what gave it, and what lost",
    load: async () => (await import("./explain-command.ts")).defineExplain,
  },
  {
    usage: "set <key>",
    description: "create an entry, or change the given fields of an existing one",
    load: async () => (await import("./write-commands.ts")).defineSet,
  },
  {
    usage: "edit <keys...>",
    description:
      "edit entries in $VISUAL or $EDITOR; one that is not there is created, one that is taken out is deleted",
    load: async () => (await import("./edit-command.ts")).defineEdit,
  },
  {
    usage: "apply",
    description: "create and replace entries as a file has them, after showing what changes; other entries stay",
    load: async () => (await applyCommands()).defineApply,
  },
  {
    usage: "diff",
    description: "show what `udm apply` would change",
    load: async () => (await applyCommands()).defineDiff,
  },
  {
    usage: "delete [keys...]",
    description: "delete the entries with exactly these keys, or those that match a filter: all or none",
    load: async () => (await import("./write-commands.ts")).defineDelete,
  },
  {
    usage: "import <file>",
    description: "create and replace entries from a table (CSV), JSON or YAML, after showing what changes",
    load: async () => (await exchangeCommands()).defineImport,
  },
  {
    usage: "export",
    description: "write all entries, or those of a filter, in a form that import reads back as they were",
    load: async () => (await exchangeCommands()).defineExport,
  },
  {
    usage: "history [key]",
    description: "show what was changed, by whom and when, the newest first",
    load: async () => (await historyCommands()).defineHistory,
  },
  {
    usage: "undo <number>",
    description: "put back what a change of the history has changed",
    load: async () => (await historyCommands()).defineUndo,
  },
  {
    usage: "watch",
    description: "show changes of the metadata as they are made, until it is interrupted",
    load: async () => (await import("./read-commands.ts")).defineWatch,
  },
  {
    usage: "sources",
    description: sourceListDescription,
    load: async () => (await import("../source-command.ts")).defineSourceList,
  },
];

const withoutCollector: readonly CommandRow[] = [
  {
    usage: "copy",
    description: "copy the entries of the metadata file into the PostgreSQL database of the settings, or back",
    load: async () => (await databaseCommands()).defineCopy,
  },
  {
    usage: "migrate",
    description: "make the tables of metadata in the PostgreSQL database of the settings, or bring them up to date",
    load: async () => (await databaseCommands()).defineMigrate,
  },
  {
    usage: "check <file>",
    description: "check a metadata file, or a pipe, without a collector; all faults are reported as file:line:column",
    load: async () => (await import("./check-command.ts")).defineCheck,
  },
];

/** Defines `udm …`: the metadata of a running collector, and of files. */
export const defineUdm: DefineCommand = async (udm, context) => {
  await addCommands(udm, ofCollector, context, throughApi);
  await addCommands(udm, withoutCollector, context, offline);
};
