// The part of the WebAssembly API that is used. Node's types leave its declaration to the types of browsers.
declare namespace WebAssembly {
  class Memory {
    constructor(descriptor: { initial: number; maximum: number; shared: true });
    readonly buffer: SharedArrayBuffer;
  }
  interface Module {
    readonly kind?: "module";
  }
  const Module: new (bytes: Uint8Array) => Module;
  class CompileError extends Error {}
  class Instance {
    constructor(module: Module, imports: Readonly<Record<string, Readonly<Record<string, unknown>>>>);
    readonly exports: Readonly<Record<string, unknown>>;
  }

  /** The error that the engine throws when code traps. */
  class RuntimeError extends Error {}
}
