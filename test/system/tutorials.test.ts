// The tutorial and the change-over page of docs/, as they are written, from nothing to a query that shows the operator's own name.
import { test } from "node:test";
import { startPartner } from "../support/partner.ts";
import { startDatabase } from "../support/postgresql.ts";
import { runTutorial } from "../support/run-tutorial.ts";

const texts = (partner: Readonly<Record<string, string | number>>) => (name: string) => String(partner[name]);
const page = "docs/tutorial.md";
const nameOfRecord = /"name": "my-servers"/;

test(`${page}: names in a file, records in a file`, (t) =>
  runTutorial(t, page, ["Names in a file", "File"], nameOfRecord));

test(`${page}: Elasticsearch`, async (t) => {
  const of = texts(await startPartner(t, "elasticsearch", { ELASTIC_TLS: "1" }));
  await runTutorial(t, page, ["Names in a file", "Elasticsearch"], /"flow\.src\.ip\.subnet\.name":"my-servers"/, {
    "https://es-1.example.com:9200": of("url"),
    "/etc/netgloss/tls/ca.pem": of("ca"),
    "USERNAME: netgloss": `USERNAME: ${of("user")}`,
    "PASSWORD: change-me": `PASSWORD: ${of("password")}`,
    "netgloss:change-me": `${of("user")}:${of("password")}`,
  });
});

test(`${page}: Kafka`, async (t) => {
  const of = texts(await startPartner(t, "kafka"));
  await runTutorial(t, page, ["Names in a file", "Kafka"], /^\{"src":"10\.10\.20\.5","name":"my-servers"\}$/m, {
    "kafka.example.com:9092": of("bootstrap"),
  });
});

test(`${page}: ClickHouse`, async (t) => {
  const of = texts(await startPartner(t, "clickhouse"));
  await runTutorial(t, page, ["Names in a file", "ClickHouse"], /my-servers\D+1500/, {
    "http://clickhouse.example.com:8123": of("url"),
    "change-me": of("password"),
  });
});

test(`${page}: NetBox`, async (t) => {
  const of = texts(await startPartner(t, "netbox"));
  await runTutorial(t, page, ["NetBox", "File"], nameOfRecord, {
    "https://netbox.example.net": of("url"),
    "Bearer nbt_key.secret": of("authorization"),
  });
});

test(`${page}: two collectors, PostgreSQL`, async (t) => {
  const database = await startDatabase(t);
  await runTutorial(t, page, ["PostgreSQL", "File"], nameOfRecord, {
    "postgresql://postgres:secret@db.example.com/postgres": database.url,
    "db.example.com": `${database.host}:${database.port}`,
  });
});

for (const collector of ["goflow2", "pmacct"]) {
  test(`docs/change-over.md: ${collector}`, (t) =>
    runTutorial(t, "docs/change-over.md", [collector], /"bytes": 1500,\n {2}"(?:name|label)": "my-servers"/));
}
