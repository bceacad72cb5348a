/** Why flows cannot be decoded here, and what helps. */
const causes = {
  no_webassembly: "this Node.js runs without WebAssembly: start it without --jitless",
  no_memory:
    "there are no 8 GiB of addresses for WebAssembly: lift the limit on address space (ulimit -v, LimitAS= of systemd)",
  no_simd: "this processor is too old for WebAssembly with SIMD (x86-64 needs SSE4.1): run on another host",
} as const;

/** Flows cannot be decoded on this host, or in this process. */
export class KernelError extends Error {
  readonly code: keyof typeof causes;

  constructor(code: keyof typeof causes, options?: ErrorOptions) {
    super(`flows cannot be decoded: ${causes[code]}`, options);
    this.name = "KernelError";
    this.code = code;
  }
}

export function hasWebAssembly(): boolean {
  // oxlint-disable-next-line typescript/no-unnecessary-condition -- with --jitless there is none
  return globalThis.WebAssembly !== undefined;
}
