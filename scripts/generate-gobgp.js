// Generates src/watch/answers/gen from gobgp.proto beside it. It is no part of proto/, which has what the collector itself serves.
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { checksumFile, writeChecksums } from "./checksums.js";
import { protoTools } from "./proto-tools.js";

const folder = "src/watch/answers";
const output = `${folder}/gen`;

process.chdir(join(import.meta.dirname, ".."));
const scratch = mkdtempSync(join(tmpdir(), "netgloss-generate-"));
try {
  const bin = protoTools(scratch);
  const template = {
    version: "v2",
    clean: true,
    plugins: [
      { local: bin("protoc-gen-es"), out: output, opt: ["target=ts", "import_extension=ts", "ts_nocheck=true"] },
    ],
  };
  const { status } = spawnSync(bin("buf"), ["generate", folder, "--template", JSON.stringify(template)], {
    stdio: "inherit",
  });
  if (status !== 0) throw new Error(`buf failed with status ${status}`);
  writeChecksums(join(output, checksumFile), [`${folder}/gobgp.proto`, `${output}/gobgp_pb.ts`]);
} finally {
  rmSync(scratch, { recursive: true, force: true });
}
