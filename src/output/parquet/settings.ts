import { isAbsolute } from "node:path";
import {
  hasControl,
  MiB,
  oneOf,
  plainText,
  row,
  secret,
  serverAddress,
  type SettingType,
  userName,
} from "../../base/settings/index.ts";
import { Secret } from "../../base/text/index.ts";
import { commonRows } from "../delivery/settings.ts";
import { clientCertificateRows, tlsOf, tlsRows } from "../http/server-settings.ts";
import { outputKind, type OwnSettings } from "../output-kind.ts";

/** Matches a bucket and the prefix of its objects: `s3://flows/netgloss`. */
const bucketUrl = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/([\w.=-]+(?:\/[\w.=-]+)*))?\/?$/;

/** Returns a type whose value may also be empty. */
const orNone = (type: SettingType<string>): SettingType<string> => ({
  ...type,
  parse: (value) => (value === "" ? value : type.parse(value)),
});

const location: SettingType<string> = {
  expected: "the path of a directory from the root on, or s3://<bucket>/<prefix>",
  parse: (value) => ((isAbsolute(value) && !hasControl(value)) || bucketUrl.test(value) ? value : undefined),
  format: (value) => value,
};

/** Reads a location as a bucket; undefined: it is a directory. */
export function bucketOf(value: string): { readonly bucket: string; readonly prefix: string } | undefined {
  const [, bucket, prefix = ""] = bucketUrl.exec(value) ?? [];
  return bucket === undefined ? undefined : { bucket, prefix };
}

const common = commonRows("files of Parquet, in a directory or a bucket", "LOCATION");

const rows = {
  ...common,
  LOCATION: row(
    orNone(location),
    "",
    "Where the files go: a directory, or a bucket of Amazon S3 or a store with its API.",
    "s3://flows/netgloss",
  ),
  COMPRESSION: row(
    oneOf(["zstd", "gzip"]),
    "zstd",
    "The compression within the files. With a Node before 22.15 zstd is not there, and gzip takes its place.",
  ),
  S3_ENDPOINT: row(
    orNone(serverAddress),
    "",
    "The server of the bucket. Empty is Amazon's of the region.",
    "https://minio.example.com:9000",
  ),
  S3_REGION: row(plainText, "us-east-1", "The region of the bucket, which requests are signed for.", "eu-central-1"),
  S3_ACCESS_KEY_ID: row(userName, "", "The name of the key of the bucket.", {
    example: "AKIAIOSFODNN7EXAMPLE",
    needs: [{ must: { S3_SECRET_ACCESS_KEY: "set" } }],
  }),
  S3_SECRET_ACCESS_KEY: row(secret, new Secret(""), "The key with which requests are signed."),
  S3_SESSION_TOKEN: row(secret, new Secret(""), "The token of temporary keys."),
  ...tlsRows,
  ...clientCertificateRows,
  BATCH_DEADLINE: { ...common.BATCH_DEADLINE, default: 60_000 },
  BATCH_MAX_BYTES: { ...common.BATCH_MAX_BYTES, default: 64 * MiB },
  QUEUE_SIZE: { ...common.QUEUE_SIZE, default: 256 * MiB },
  TIMEOUT: { ...common.TIMEOUT, default: 120 },
};
export type ParquetSettings = OwnSettings<typeof rows>;

export const parquet = outputKind(rows, {
  word: "PARQUET",
  name: "parquet",
  addresses: "LOCATION",
  tls: tlsOf,
  async load() {
    const { ParquetOutput } = await import("./parquet-output.ts");
    return (settings, context) => new ParquetOutput(settings, context);
  },
});
