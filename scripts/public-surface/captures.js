// The captures of this repository: files to replay, and datagrams to send.
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";

/**
 * Finds captures wherever they are in the tree. A file of datagrams in hex, one a line, becomes a capture.
 *
 * @param {string} tree
 * @param {string} directory where captures are written
 */
export function writeCaptures(tree, directory) {
  const listed = spawnSync("git", ["ls-files", "*.pcap", "*.hex"], { cwd: tree, encoding: "utf8" });
  const paths = listed.stdout.split("\n").filter((path) => path !== "");
  if (paths.length === 0) throw new Error("no captures found: this must be a clone of the repository");
  mkdirSync(directory);
  /** @type {Buffer[]} */
  const datagrams = [];
  const files = paths.map((path) => {
    const copy = join(directory, basename(path).replace(/\.hex$/, ".pcap"));
    if (path.endsWith(".pcap")) writeFileSync(copy, readFileSync(join(tree, path)));
    else {
      const lines = readFileSync(join(tree, path), "utf8").split("\n");
      const found = lines.filter((line) => line !== "").map((line) => Buffer.from(line, "hex"));
      datagrams.push(...found);
      writeFileSync(copy, Buffer.concat([captureHeader(), ...found.map(capturedDatagram)]));
    }
    return copy;
  });
  return { files: files.sort(), datagrams };
}

/** The head of a pcap file of IPv4 packets. */
function captureHeader() {
  const header = Buffer.alloc(24);
  header.writeUInt32LE(0xa1b2c3d4, 0);
  header.writeUInt16LE(2, 4);
  header.writeUInt16LE(4, 6);
  header.writeUInt32LE(65_535, 16);
  header.writeUInt32LE(228, 20);
  return header;
}

/** A datagram from 192.0.2.1 to 192.0.2.2 in a pcap file, received on 1 January 2025. */
function capturedDatagram(/** @type {Buffer} */ payload) {
  const header = Buffer.alloc(16 + 20 + 8);
  header.writeUInt32LE(1_735_689_600, 0);
  header.writeUInt32LE(28 + payload.length, 8);
  header.writeUInt32LE(28 + payload.length, 12);
  header.writeUInt16BE(0x4500, 16);
  header.writeUInt16BE(28 + payload.length, 18);
  header.writeUInt16BE(0x4011, 24);
  header.set([192, 0, 2, 1, 192, 0, 2, 2], 28);
  header.writeUInt16BE(40_000, 36);
  header.writeUInt16BE(2055, 38);
  header.writeUInt16BE(8 + payload.length, 40);
  return Buffer.concat([header, payload]);
}
