// What a flow sample of sFlow costs from the bytes of its datagram to those of its line, with two look-ups in 100 000 entries.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createHealth, createMetrics, silentLog, systemClock } from "../../src/report/index.ts";
import { createUdmFileStore } from "../../src/udm/index.ts";
import { reportRow } from "../support/bench-report.ts";
import { writeMetadataFile } from "../support/metadata-file.ts";
import { measureInProcess } from "./in-process.ts";
import { addressPools } from "./packet-source.ts";
import { createSflowSource, samplesPerDatagram } from "./sflow-source.ts";

const directory = await mkdtemp(join(tmpdir(), "netgloss-bench-"));
try {
  const metadataPath = join(directory, "ipaddrs.yml");
  writeMetadataFile(metadataPath, 100_000);
  const metadata = createUdmFileStore({
    path: metadataPath,
    owned: false,
    refreshMs: 0,
    log: silentLog,
    metrics: createMetrics(),
    clock: systemClock,
    health: createHealth(),
  });
  await metadata.start();
  const pool = addressPools.traffic;
  for (const communityId of [false, true]) {
    const options = { metadata, recordsPerPacket: samplesPerDatagram, pool, communityId };
    const samples = (isCompiled: boolean) =>
      measureInProcess({
        ...options,
        source: createSflowSource(1, pool),
        isCompiled,
        ...(!isCompiled && { records: 60_000 }),
      });
    const netflow9 = await measureInProcess(options);
    const written = await samples(true);
    const fields = await samples(false);
    const what = `flow sample with a sampled header${communityId ? ", with flow.community.id" : ""}`;
    reportRow({
      what,
      value: written.nanoseconds,
      unit: "ns/sample",
      peer: { what: "a NetFlow v9 record", value: netflow9.nanoseconds },
      goal: "≤ 1 500",
    });
    reportRow({
      what: `${what}, as fields`,
      value: fields.nanoseconds,
      unit: "ns/sample",
      peer: { what: "written at once", value: written.nanoseconds },
    });
  }
  await metadata.stop();
} finally {
  await rm(directory, { recursive: true });
}
