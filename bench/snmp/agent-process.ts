// A simulated agent in a process of its own, so that its CPU time is nobody else's. Any message is answered with its
// port and the number of requests that it was asked so far.
import {
  createSnmpAgent,
  createTable,
  gauge,
  integer,
  listen,
  octets,
  type AgentRow,
  type TypedValue,
} from "../../test/support/snmp-agent/index.ts";
import { benchUser } from "./bench-user.ts";

export interface AgentStatus {
  readonly port: number;
  readonly requests: number;
}

const interfaces = 2000;

/** Columns of a table as broad as ifTable and ifXTable are in practice, with their types. */
const columns: readonly ((row: number) => TypedValue)[] = [
  (row) => integer(row),
  (row) => octets(`GigabitEthernet${row >> 6}/0/${row & 63}`),
  () => integer(6),
  () => gauge(1_000_000_000),
  (row) => ({ type: "OctetString", value: Uint8Array.of(2, 0, 0, 0, row >> 8, row & 255) }),
  () => integer(1),
  (row) => ({ type: "TimeTicks", value: row * 997 }),
  (row) => ({ type: "Counter32", value: (row * 2_654_435_761) % 2 ** 32 }),
  (row) => ({ type: "Counter64", value: BigInt(row) * 6_364_136_223_846_793n }),
  (row) => ({ type: "Counter64", value: BigInt(row) * 11_400_714_819_323n }),
];

const rows = columns.flatMap((column, i) =>
  Array.from({ length: interfaces }, (_, row): AgentRow => ({
    oid: [1, 3, 6, 1, 2, 1, 2, 2, 1, i + 1, row + 1],
    value: column(row + 1),
  })),
);
const agent = createSnmpAgent({ table: createTable(rows), users: [benchUser] });
const listening = listen(agent);
process.on("message", () => {
  void listening.then(({ port }) => process.send?.({ port, requests: agent.requests } satisfies AgentStatus));
});
process.on("disconnect", () => process.exit());
