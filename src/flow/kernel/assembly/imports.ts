// What the other side does. An address of memory is given as it is; the others' results are those of the functions of the same
// name in src/flow/kernel/kernel.ts.

@external("kernel", "fillSecond")
export declare function fillSecond(place: i32, second: f64): void;

@external("kernel", "writeValue")
export declare function writeValue(helper: i32, p: i32, at: i32, length: i32, slot: i32): i32;

@external("kernel", "hasValue")
export declare function hasValue(helper: i32, at: i32, length: i32): i32;

@external("kernel", "help")
export declare function help(helper: i32, p: i32, from: i32): i32;

@external("kernel", "rateOf")
export declare function rateOf(): f64;

@external("kernel", "writeNames")
export declare function writeNames(p: i32): i32;

@external("kernel", "writeEstimates")
export declare function writeEstimates(p: i32, rate: f64): i32;

@external("kernel", "addNumber")
export declare function addNumber(index: i32, p: i32, value: f64, scope: f64): i32;

@external("kernel", "addApp")
export declare function addApp(
  p: i32,
  source: i32,
  sourceLength: i32,
  sourcePort: i32,
  destination: i32,
  destinationLength: i32,
  destinationPort: i32,
): i32;

@external("kernel", "judgeLine")
export declare function judgeLine(start: i32, end: i32): i32;

@external("kernel", "locateAll")
export declare function locateAll(at: i32, count: i32): i32;

@external("kernel", "locate")
export declare function locate(object: i32, a: i32, b: i32, c: i32, d: i32): i32;
