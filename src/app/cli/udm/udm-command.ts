import type { Command } from "commander";
import { addSourceList } from "../source-command.ts";
import type { Terminal } from "../terminal.ts";
import { addApplyCommand } from "./apply-command.ts";
import { addCheckCommand } from "./check-command.ts";
import { addDatabaseCommands } from "./database-commands.ts";
import { addDeleteCommand } from "./delete-command.ts";
import { addEditCommand } from "./edit-command.ts";
import { addExchangeCommands } from "./exchange-commands.ts";
import { addExplainCommand } from "./explain-command.ts";
import { addHistoryCommands } from "./history-command.ts";
import { addReadCommands } from "./read-commands.ts";
import { addSearchCommand } from "./search-command.ts";
import { addSetCommand } from "./set-command.ts";
import { addWatchCommand } from "./watch-command.ts";

/** `udm …`: the metadata of a running collector, and of files. */
export function addUdmCommand(program: Command, terminal: Terminal, setExitCode: (code: number) => void): void {
  const udm = program.command("udm").description("read and change the metadata of a running collector");
  addReadCommands(udm, terminal);
  addSearchCommand(udm, terminal);
  addExplainCommand(udm, terminal);
  addSetCommand(udm, terminal);
  addEditCommand(udm, terminal);
  addApplyCommand(udm, terminal, setExitCode);
  addDeleteCommand(udm, terminal);
  addExchangeCommands(udm, terminal);
  addHistoryCommands(udm, terminal);
  addWatchCommand(udm, terminal);
  addSourceList(udm, "sources", terminal);
  addDatabaseCommands(udm, terminal);
  addCheckCommand(udm, terminal, setExitCode);
}
