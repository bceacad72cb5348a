import { lineText, nameText, putText } from "../compiled/line-text.ts";
import { createTimeWriter, writeAscii, writeUint32 } from "../compiled/write-values.ts";

/** What the lines of the flow samples of one datagram begin with. */
export interface SflowHead {
  readonly view: DataView;
  readonly length: number;
  /**
   * Writes what {@link recordHead} gives for sFlow, the agent and the times of the flow.
   *
   * @param exporter its address, @param agent that of the agent where it has one: both canonical text.
   * @returns false where there is no text for the time.
   */
  write(
    receivedAt: number,
    exporter: string,
    sequence: number,
    domain: number,
    uptime: number,
    agent: string | undefined,
  ): boolean;
}

const texts = {
  time: lineText(`{"@timestamp":`),
  exporter: nameText("flow.export.ip.addr", `"`),
  sequence: lineText(`","flow.export.type":"sflow","flow.export.version.ver":5,"flow.export.sequence":`),
  domain: nameText("flow.export.domain.id"),
  uptime: nameText("flow.export.uptime"),
  agent: nameText("flow.export.agent.ip.addr", `"`),
  endQuote: lineText(`"`),
  start: nameText("flow.start.timestamp"),
  end: nameText("flow.end.timestamp"),
} as const;

const maxLength = 1024;

export function createSflowHead(): SflowHead {
  const view = new DataView(new ArrayBuffer(maxLength));
  const times = createTimeWriter();
  let length = 0;
  return {
    view,
    get length() {
      return length;
    },
    write(receivedAt, exporter, sequence, domain, uptime, agent) {
      const time = Math.trunc(receivedAt);
      let p = times.milliseconds(view, putText(view, 0, texts.time), time);
      if (p < 0) return false;
      p = writeAscii(view, putText(view, p, texts.exporter), exporter);
      p = writeUint32(view, putText(view, p, texts.sequence), sequence);
      p = writeUint32(view, putText(view, p, texts.domain), domain);
      p = writeUint32(view, putText(view, p, texts.uptime), uptime);
      if (agent !== undefined) {
        p = writeAscii(view, putText(view, p, texts.agent), agent);
        p = putText(view, p, texts.endQuote);
      }
      p = times.milliseconds(view, putText(view, p, texts.start), time);
      length = times.milliseconds(view, putText(view, p, texts.end), time);
      return true;
    },
  };
}
