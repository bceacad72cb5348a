import { nodeOutputIo, type OutputFile, type OutputIo } from "../../src/output/index.ts";

/** What is to happen instead of a call: an errno name; or, for a write, how many bytes are taken before it. */
export type Fault = string | { readonly taken: number };

export interface FaultyOutputIo extends OutputIo {
  /** The calls made so far, by name. */
  readonly calls: string[];
}

/** The real thing, but `fault` decides for each call (its name, and how many were made before) whether it works. */
export function faultyOutputIo(fault: (call: string, index: number) => Fault | undefined): FaultyOutputIo {
  const calls: string[] = [];
  const decide = (call: string): Fault | undefined => {
    const decision = fault(call, calls.length);
    calls.push(call);
    if (typeof decision === "string") {
      throw Object.assign(new Error(`${decision}: injected, ${call}`), { code: decision });
    }
    return decision;
  };
  const wrap = (file: OutputFile): OutputFile => ({
    async write(bytes) {
      const decision = decide("write");
      return file.write(typeof decision === "object" ? bytes.subarray(0, decision.taken) : bytes);
    },
    async truncate(size) {
      decide("truncate");
      await file.truncate(size);
    },
    async state() {
      decide("fstat");
      return file.state();
    },
    async close() {
      await file.close();
      decide("close");
    },
  });
  return {
    calls,
    async open(path) {
      decide("open");
      return wrap(await nodeOutputIo.open(path));
    },
    async lastByte(path) {
      decide("lastByte");
      return nodeOutputIo.lastByte(path);
    },
    async state(path) {
      decide("stat");
      return nodeOutputIo.state(path);
    },
    async realPath(path) {
      decide("realPath");
      return nodeOutputIo.realPath(path);
    },
    async rename(from, to) {
      decide("rename");
      await nodeOutputIo.rename(from, to);
    },
    async makeFolder(path) {
      decide("makeFolder");
      await nodeOutputIo.makeFolder(path);
    },
  };
}
