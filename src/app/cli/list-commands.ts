import type { CollectorAnswer } from "../../server/index.ts";
import { addClientOptions, clientOf } from "./client/client-options.ts";
import type { DefineCommand } from "./command.ts";
import { addOutput, print, shownTime, type Cell, type OutputFormat } from "./print.ts";

type Exporters = CollectorAnswer<"listExporters">;
type Outputs = CollectorAnswer<"listOutputs">;

/** Defines `exporters`: lists the senders of flows. */
export const defineExporters: DefineCommand = (command, { terminal }) => {
  addOutput(addClientOptions(command)).action(async ({ output }: { output: OutputFormat }) => {
    const answer = (await (await clientOf(command, terminal)).ask("GET", "/api/v1/flow/exporters")) as Exporters;
    const { enabled, listening, exporters } = answer;
    await print({ value: answer, head: exporterHead, rows: exporters.map(exporterRow) }, output, terminal);
    if (!enabled)
      terminal.err("this collector receives no flows: SVC_FLOW_SERVER_UDP_ENABLE, SVC_FLOW_SERVER_TCP_ENABLE\n");
    else if (exporters.length === 0) {
      const ports = [...listening.udp.map((port) => `UDP ${port}`), ...listening.tcp.map((port) => `TCP ${port}`)];
      terminal.err(`nobody has sent flows to ${ports.join(", ")} yet; ${terminal.startedAs} doctor says more\n`);
    }
  });
};

const exporterHead = ["exporter", "name", "protocols", "records", "recordsPerSecond", "missing", "waiting", "lastSeen"];

/** Returns a row. Missing data are counted in units of the protocol: flows, datagrams, records or samples. */
function exporterRow({ address, name, domains, records, ...of }: Exporters["exporters"][number]): readonly Cell[] {
  const sum = (each: (domain: (typeof domains)[number]) => number): number =>
    domains.reduce((all, domain) => all + each(domain), 0);
  return [
    address,
    name,
    [...new Set(domains.map(({ protocol }) => protocol))].join(","),
    records,
    Math.round(10 * of.recordsPerSecond) / 10,
    sum(({ missing, missingSamples }) => missing + missingSamples),
    sum(({ waitingSets }) => waitingSets),
    shownTime(of.lastSeen),
  ];
}

/** Defines `outputs`: lists the destinations of records. */
export const defineOutputs: DefineCommand = (command, { terminal }) => {
  addOutput(addClientOptions(command)).action(async ({ output }: { output: OutputFormat }) => {
    const answer = (await (await clientOf(command, terminal)).ask("GET", "/api/v1/outputs")) as Outputs;
    await print({ value: answer, head: outputHead, rows: answer.outputs.map(outputRow) }, output, terminal);
    if (answer.outputs.length === 0) terminal.err("this collector has no outputs: see docs/outputs.md\n");
  });
};

const outputHead = ["output", "state", "delivered", "waiting", "refused", "lost", "oldest", "fault"];

function outputRow(each: Outputs["outputs"][number]): readonly Cell[] {
  const { name, state, deliveredRecords, waitingRecords, refusedRecords, droppedRecords, oldestAt, fault } = each;
  return [name, state, deliveredRecords, waitingRecords, refusedRecords, droppedRecords, shownTime(oldestAt), fault];
}
