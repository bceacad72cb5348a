import assert from "node:assert/strict";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as wait } from "node:timers/promises";
import { runProgram } from "../../src/app/index.ts";
import { readQuery } from "../../src/explore/index.ts";
import { openExplore } from "../explore/explore-fixture.ts";
import { framings, ipPacketWith, pcapFile } from "../support/capture-file.ts";
import { cleanUp } from "../support/clean-up.ts";
import { createFakeTerminal } from "../support/fake-terminal.ts";
import { encodePcap, udpFrame, type PcapPacket } from "../support/pcap.ts";
import { runSoftflowd } from "../support/real-exporters.ts";
import { requireProgram } from "../support/require-program.ts";
import { tempDirectory } from "../support/temp-directory.ts";

const begin = Date.UTC(2026, 10, 22, 10);
const length = 40 * 60_000;
const flows = 40;
const packetBytes = 128;

/**
 * Forty flows of steady packets, which last from seconds to most of the capture. None ends half an hour before the capture does: by its clock
 * softflowd ends flows that last too long, and those that are quiet with the capture.
 */
function capturedPackets(): PcapPacket[] {
  const packets: PcapPacket[] = [];
  for (let flow = 0; flow < flows; flow++) {
    // Prime steps, so that flows begin and end anywhere.
    const end = begin + length - ((flow * 611_953) % 1_500_000);
    const start = Math.min(end - 5000, begin + ((flow * 104_729) % 2_300_000));
    const frame = udpFrame({
      source: Buffer.from([10, 0, 0, flow]),
      destination: Buffer.from([192, 0, 2, 53]),
      sourcePort: 1000 + flow,
      destinationPort: 53,
      payloadLength: packetBytes - 28,
    });
    for (let time = start; time < end; time += 100 + ((flow * 37) % 150)) packets.push({ time, frame });
  }
  return packets.toSorted((a, b) => a.time - b.time);
}

for (const timeOut of [60, 300, 1800]) {
  test(`softflowd with a time-out of ${timeOut} s: buckets of ten seconds have what the packets of the capture had, within one in a hundred`, async (t) => {
    if (requireProgram(t, "softflowd", "apt-get install softflowd") === undefined) return;
    const directory = tempDirectory(t);
    const [capture, exports] = [join(directory, "traffic.pcap"), join(directory, "exports.pcap")];
    const packets = capturedPackets();
    writeFileSync(capture, encodePcap(packets));
    const socket = createSocket("udp4");
    cleanUp(t, () => new Promise<void>((resolve) => socket.close(() => resolve())));
    const datagrams: Buffer[] = [];
    socket.on("message", (datagram) => datagrams.push(datagram));
    socket.bind(0, "127.0.0.1");
    await once(socket, "listening");
    socket.setRecvBufferSize(2 ** 20);
    // By the clock of the capture (-a), which it looks at after each hundred packets (-m).
    const byCapture = ["-a", "-m", "100", "-A", "milli"];
    const timeOuts = ["-t", `maxlife=${timeOut}`, "-t", "udp=60", "-t", "expint=1"];
    const port = socket.address().port;
    const told = await runSoftflowd({ directory, capture, port }, "10", [...byCapture, ...timeOuts]);
    const count = Number(/^Flows exported: \d+ \(\d+ records\) in (\d+) packets/m.exec(told)?.[1]);
    for (const deadline = Date.now() + 10_000; datagrams.length < count && Date.now() < deadline;) await wait(20);
    assert.equal(datagrams.length, count, told);

    // The export time of a header is in whole seconds: it was sent within that second.
    const frameOf = framings[0]?.[2] ?? ((packet: Buffer) => packet);
    const sent = datagrams.map((datagram) => ({
      time: 1000 * datagram.readUInt32BE(4) + 500,
      bytes: frameOf(ipPacketWith(datagram, [192, 0, 2, 7], [40_000, 2055])),
    }));
    writeFileSync(exports, pcapFile(sent, { linkType: 1 }));
    const terminal = createFakeTerminal(["replay", exports], {});
    assert.equal(await runProgram(terminal), 0, terminal.written.err);
    const lines = terminal.written.out;
    const now = begin + length + 60_000;
    const explore = await openExplore(t, { clockNow: () => now });
    explore.take(Buffer.from(lines), lines.split("\n").length - 1);
    await explore.flush();
    const range = { from: new Date(begin).toISOString(), to: new Date(begin + length).toISOString() };
    const never = new AbortController().signal;
    const seriesOf = async (when: string): Promise<readonly number[]> =>
      (await explore.query(readQuery({ ...range, granularity: "10s", when }, now), never)).total.series ?? [];

    const truth = Array.from({ length: length / 10_000 }, () => 0);
    for (const { time } of packets) {
      const bucket = Math.floor((time - begin) / 10_000);
      truth[bucket] = (truth[bucket] as number) + packetBytes;
    }
    const flowed = await seriesOf("flowed");
    const sum = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0);
    assert.equal(sum(flowed), sum(truth));
    // Where few packets are, one of them is more than a hundredth.
    const many = truth.flatMap((bytes, i) => (bytes >= 500 * packetBytes ? [[bytes, flowed[i] as number]] : []));
    assert.ok(many.length > 150, `${many.length}`);
    const wrong = many.filter(([bytes = 0, shown = 0]) => Math.abs(shown - bytes) > 0.01 * bytes);
    assert.deepEqual(wrong, []);
    const received = await seriesOf("received");
    assert.ok(truth.filter((bytes, i) => Math.abs((received[i] as number) - bytes) > 0.1 * bytes).length > 100);
  });
}
