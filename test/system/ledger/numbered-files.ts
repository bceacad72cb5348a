import { execFile } from "node:child_process";
import type { TestContext } from "node:test";
import { promisify } from "node:util";
import type { FaultProxy } from "../../output/delivery/fault-proxy.ts";
import { startPartner } from "../../support/partner.ts";
import { proxied } from "./numbered-lines.ts";

const run = promisify(execFile);

/** Reads every file of flows below a prefix, by pyarrow's own client of S3: the numbers of its records, and the names of all other objects. */
const program = `
import sys, pyarrow.fs, pyarrow.parquet
address, key, secret, path = sys.argv[1:]
store = pyarrow.fs.S3FileSystem(endpoint_override=address, scheme="http", region="us-east-1", access_key=key, secret_key=secret)
for found in store.get_file_info(pyarrow.fs.FileSelector(path, recursive=True, allow_not_found=True)):
    if found.type != pyarrow.fs.FileType.File: continue
    if not found.path.endswith(".parquet"):
        print("=" + found.path)
        continue
    table = pyarrow.parquet.ParquetFile(store.open_input_file(found.path)).read(columns=COLUMNS)
    table.validate(full=True)
    print("\\n".join(str(number) for number in table["flow_bytes"].to_pylist()))
`;

/** A bucket of a store with the API of S3, behind a proxy with faults. */
export interface NumberedBucket {
  /** Of the output, without `SVC_OUTPUT_PARQUET_` and LOCATION. They lead through the proxy. */
  readonly settings: Readonly<Record<string, string>>;
  readonly proxy: FaultProxy;
  /**
   * Calls back with the number of each record below a prefix. A file that is not whole is an error.
   *
   * @param columns those that are read; left out: that of the number alone.
   * @returns the names of the objects that are no files of Parquet.
   */
  visitNumbers(prefix: string, visit: (n: number) => void, columns?: "all"): Promise<readonly string[]>;
}

export async function startBucket(t: TestContext): Promise<NumberedBucket> {
  const { url, bucket, key, secret } = await startPartner(t, "s3");
  const { python } = await startPartner(t, "python");
  const proxy = await proxied(t, url);
  return {
    settings: {
      S3_ENDPOINT: `http://127.0.0.1:${proxy.port}`,
      S3_ACCESS_KEY_ID: String(key),
      S3_SECRET_ACCESS_KEY: String(secret),
    },
    proxy,
    async visitNumbers(prefix, visit, columns) {
      const code = program.replace("COLUMNS", columns === "all" ? "None" : '["flow_bytes"]');
      const place = [new URL(String(url)).host, String(key), String(secret), `${String(bucket)}/${prefix}`];
      const { stdout } = await run(String(python), ["-c", code, ...place], { maxBuffer: 2 ** 28 });
      const lines = stdout.split("\n").filter((line) => line !== "");
      for (const line of lines) if (!line.startsWith("=")) visit(Number(line));
      return lines.flatMap((line) => (line.startsWith("=") ? [line.slice(1)] : []));
    },
  };
}
