// The tutorials and change-over pages of docs/, as they are written, from nothing to a query that shows the operator's own name.
import { test } from "node:test";
import { startPartner } from "../support/partner.ts";
import { startDatabase } from "../support/postgresql.ts";
import { runTutorial } from "../support/run-tutorial.ts";

const texts = (partner: Readonly<Record<string, string | number>>) => (name: string) => String(partner[name]);

test("docs/tutorial-elasticsearch.md", async (t) => {
  const of = texts(await startPartner(t, "elasticsearch", { ELASTIC_TLS: "1" }));
  await runTutorial(t, "docs/tutorial-elasticsearch.md", /"flow\.src\.ip\.subnet\.name":"my-servers"/, {
    "https://es-1.example.com:9200": of("url"),
    "/etc/netgloss/tls/ca.pem": of("ca"),
    "USERNAME: netgloss": `USERNAME: ${of("user")}`,
    "PASSWORD: change-me": `PASSWORD: ${of("password")}`,
    "netgloss:change-me": `${of("user")}:${of("password")}`,
  });
});

test("docs/tutorial-kafka.md", async (t) => {
  const of = texts(await startPartner(t, "kafka"));
  await runTutorial(t, "docs/tutorial-kafka.md", /^\{"src":"10\.10\.20\.5","name":"my-servers"\}$/m, {
    "kafka.example.com:9092": of("bootstrap"),
  });
});

test("docs/tutorial-clickhouse.md", async (t) => {
  const of = texts(await startPartner(t, "clickhouse"));
  await runTutorial(t, "docs/tutorial-clickhouse.md", /my-servers\D+1500/, {
    "http://clickhouse.example.com:8123": of("url"),
    "change-me": of("password"),
  });
});

test("docs/tutorial-netbox.md", async (t) => {
  const of = texts(await startPartner(t, "netbox"));
  await runTutorial(t, "docs/tutorial-netbox.md", /"name": "my-servers"/, {
    "https://netbox.example.net": of("url"),
    "Bearer nbt_key.secret": of("authorization"),
  });
});

test("docs/tutorial-two-collectors.md", async (t) => {
  const database = await startDatabase(t);
  await runTutorial(t, "docs/tutorial-two-collectors.md", /"name": "my-servers"/, {
    "postgresql://postgres:secret@db.example.com/postgres": database.url,
    "db.example.com": `${database.host}:${database.port}`,
  });
});

for (const page of ["docs/from-goflow2.md", "docs/from-pmacct.md"]) {
  test(page, (t) => runTutorial(t, page, /"bytes": 1500,\n {2}"(?:name|label)": "my-servers"/));
}
