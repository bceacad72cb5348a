import {
  copyBytes,
  copyLines,
  fewBytes,
  LineShapes,
  readLine,
  readValueAt,
  renderFields,
  viewOf,
  type FieldValues,
  type RecordFields,
  type RenderedFields,
  type Value,
} from "../record/index.ts";

/** Positions of the fields of a line that new fields replace. */
type Gaps = readonly number[];

/** Means that the line must be read as a record, because removing fields is not enough. */
const clash: Gaps = [-1];

/** A set of names of fields to add. */
export class GivenNames {
  readonly #names: ReadonlySet<string>;
  /** The beginnings of the names, up to each dot. */
  readonly #above: ReadonlySet<string>;
  /** True if one of them lies below another. */
  readonly #isTangled: boolean;
  #asked: { readonly of: ReadonlySet<string>; readonly has: boolean } | undefined;

  constructor(names: Iterable<string>) {
    this.#names = new Set(names);
    this.#above = new Set([...this.#names].flatMap(namesAbove));
    this.#isTangled = [...this.#names].some((name) => this.#above.has(name));
  }

  /** Reports whether another set has one of the names. It remembers the last answer, so a set must not change. */
  isAnyAmong(others: ReadonlySet<string>): boolean {
    if (this.#asked?.of !== others) {
      this.#asked = { of: others, has: [...this.#names].some((name) => others.has(name)) };
    }
    return this.#asked.has;
  }

  /** Returns the positions of the fields of a line that have the same names; {@link clash} where removing them is not enough. */
  gapsIn(line: readonly string[]): Gaps {
    if (this.#isTangled || line.length === 0) return clash;
    const gaps: number[] = [];
    for (const [position, name] of line.entries()) {
      if (this.#above.has(name) || namesAbove(name).some((above) => this.#names.has(above))) return clash;
      if (!this.#names.has(name)) continue;
      // A field is removed together with the comma before it.
      if (position === 0) return clash;
      gaps.push(position);
    }
    return gaps;
  }
}

function namesAbove(name: string): string[] {
  const above: string[] = [];
  for (let dot = name.indexOf(".", 1); dot >= 0; dot = name.indexOf(".", dot + 1)) above.push(name.slice(0, dot));
  return above;
}

/** The fields to add to a line. */
export interface GivenFields {
  readonly fields: ReadonlyMap<string, Value>;
  /** The fields in the form that lines have. */
  readonly text: RenderedFields;
  readonly names: GivenNames;
}

/** The plan and the positions for all lines that have the same names in the same order. */
class LineNames<Plan> {
  readonly plan: Plan;
  readonly #names: readonly string[];
  readonly #positions: ReadonlyMap<string, number>;
  readonly #gaps = new Map<GivenNames, Gaps>();

  constructor(names: readonly string[], planOf: (positionOf: (name: string) => number) => Plan) {
    this.#names = names;
    this.#positions = new Map(names.map((name, position) => [name, position]));
    this.plan = planOf((name) => this.positionOf(name));
  }

  /** Returns the position of a field; -1 if it is not there. */
  positionOf(name: string): number {
    return this.#positions.get(name) ?? -1;
  }

  gapsOf(given: GivenNames): Gaps {
    const known = this.#gaps.get(given);
    if (known !== undefined) return known;
    if (this.#gaps.size >= maxGivenNames) this.#gaps.clear();
    const gaps = given.gapsIn(this.#names);
    this.#gaps.set(given, gaps);
    return gaps;
  }
}

/** The most sets of names that are kept. */
const maxGivenNames = 4096;

/** The fields of a line; each value is read once. */
export class ShapedLine implements FieldValues {
  view: DataView = viewOf(Buffer.alloc(0));
  /** The begin and the end of each value, by position. */
  values = new Int32Array();
  ends = new Int32Array();
  #bytes: Buffer = Buffer.alloc(0);
  #names: LineNames<unknown> | undefined;
  #number = 0;
  readonly #read: (Value | undefined)[] = [];
  /** The number of the line in which each value was read last. */
  readonly #readIn: number[] = [];

  /** Moves to a line. Its bytes must not change while values are read. */
  use(bytes: Buffer, view: DataView, fields: Pick<ShapedLine, "values" | "ends">, names: LineNames<unknown>): void {
    this.#bytes = bytes;
    this.view = view;
    this.values = fields.values;
    this.ends = fields.ends;
    this.#names = names;
    this.#number++;
  }

  get(name: string): Value | undefined {
    const position = this.#names?.positionOf(name) ?? -1;
    if (position < 0) return undefined;
    if (this.#readIn[position] === this.#number) return this.#read[position];
    const value = readValueAt(this.#bytes, this.values[position] as number);
    this.#read[position] = value;
    this.#readIn[position] = this.#number;
    return value;
  }
}

/** A copy of lines with changes. */
class LineCopy {
  readonly #from: Buffer;
  readonly #fromView: DataView;
  #to: Buffer;
  #toView: DataView;
  #copied = 0;
  #end = 0;

  constructor(from: Buffer, view: DataView) {
    this.#from = from;
    this.#fromView = view;
    this.#to = Buffer.allocUnsafeSlow(from.length + (from.length >> 2) + minRoom);
    this.#toView = viewOf(this.#to);
  }

  /** Copies up to an offset. */
  upTo(end: number): void {
    const start = this.#copied;
    this.#reserve(end - start);
    this.#end =
      end - start > fewBytes
        ? copyLines(this.#from, start, end, this.#to, this.#end)
        : copyBytes(this.#fromView, start, end, this.#toView, this.#end);
    this.#copied = end;
  }

  /** Continues at an offset without a copy of the bytes before it. */
  skipTo(end: number): void {
    this.#copied = end;
  }

  put(bytes: Uint8Array): void {
    this.#reserve(bytes.length);
    this.#to.set(bytes, this.#end);
    this.#end += bytes.length;
  }

  /** Copies the rest. @returns the copy. */
  take(): Buffer {
    this.upTo(this.#from.length);
    return this.#to.subarray(0, this.#end);
  }

  #reserve(bytes: number): void {
    const needed = this.#end + bytes + slack;
    if (needed <= this.#to.length) return;
    const larger = Buffer.allocUnsafeSlow(2 * needed);
    larger.set(this.#to.subarray(0, this.#end));
    this.#to = larger;
    this.#toView = viewOf(larger);
  }
}

const minRoom = 1024;
/** Bytes that a copy may write after its end. */
const slack = 3;

/** Decides the fields to add to lines. */
type LineGiver<Plan, Given> = {
  /** Returns the plan for all lines that have the same names. @param positionOf returns the position of a field; -1 if it is not there. */
  readonly planOf: (positionOf: (name: string) => number) => Plan;
  /** Lists the fields for a line. No name of one element may be equal to a name of another, or lie below it. */
  readonly give: (line: ShapedLine, plan: Plan, given: Given[]) => void;
  /** Adds the fields to a record, for a line whose names collide with theirs. */
  readonly place: (record: RecordFields, fields: ReadonlyMap<string, Value>) => void;
};

/** Adds fields to lines. Lines that get none are not copied. */
export class LineShaper<Plan, Given extends GivenFields = GivenFields> {
  readonly #giver: LineGiver<Plan, Given>;
  readonly #shapes: LineShapes<LineNames<Plan>>;
  readonly #line = new ShapedLine();
  readonly #names = new Map<string, GivenNames>();
  /** The fields and the gaps of the present line. */
  readonly #given: Given[] = [];
  readonly #gaps: number[] = [];

  constructor(giver: LineGiver<Plan, Given>) {
    this.#giver = giver;
    this.#shapes = new LineShapes((names) => new LineNames(names, giver.planOf));
  }

  /** Forgets the plans. */
  forget(): void {
    this.#shapes.forget();
  }

  /** Renders fields. */
  render(fields: ReadonlyMap<string, Value>): GivenFields {
    const key = JSON.stringify([...fields.keys()]);
    let names = this.#names.get(key);
    if (names === undefined) {
      if (this.#names.size >= maxGivenNames) {
        this.#names.clear();
        this.forget();
      }
      names = new GivenNames(fields.keys());
      this.#names.set(key, names);
    }
    return { fields, text: renderFields([...fields]), names };
  }

  /** @param lines whole lines. @returns lines in memory of their own, or the same bytes if nothing changes. */
  shape(lines: Uint8Array): Uint8Array {
    const from = Buffer.from(lines.buffer, lines.byteOffset, lines.length);
    const view = viewOf(from);
    const shapes = this.#shapes;
    const line = this.#line;
    const given = this.#given;
    let copy: LineCopy | undefined;
    for (let at = 0; at < from.length;) {
      const names = shapes.read(from, view, at);
      const { end } = shapes;
      line.use(from, view, shapes, names);
      if (given.length > 0) given.length = 0;
      this.#giver.give(line, names.plan, given);
      if (given.length > 0) {
        copy ??= new LineCopy(from, view);
        if (!this.#write(copy, names, end)) this.#rewrite(copy, from, at, end);
      }
      at = end + (from[end + 1] === lineFeed ? 2 : 1);
    }
    return copy === undefined ? lines : copy.take();
  }

  /** Copies a line with the fields added and those of the same names removed. @param end the offset of its closing brace. @returns false where names collide. */
  #write(copy: LineCopy, names: LineNames<Plan>, end: number): boolean {
    const given = this.#given;
    const gaps = this.#gaps;
    if (gaps.length > 0) gaps.length = 0;
    for (let i = 0; i < given.length; i++) {
      const own = names.gapsOf((given[i] as Given).names);
      if (own === clash) return false;
      for (let k = 0; k < own.length; k++) gaps.push(own[k] as number);
    }
    if (gaps.length > 1) gaps.sort((a, b) => a - b);
    const { ends } = this.#shapes;
    for (let i = 0; i < gaps.length; i++) {
      const position = gaps[i] as number;
      copy.upTo(ends[position - 1] as number);
      copy.skipTo(ends[position] as number);
    }
    copy.upTo(end);
    for (let i = 0; i < given.length; i++) copy.put((given[i] as Given).text);
    return true;
  }

  #rewrite(copy: LineCopy, from: Buffer, start: number, end: number): void {
    const record = readLine(from, start, end);
    this.#giver.place(record, new Map(this.#given.flatMap(({ fields }) => [...fields])));
    copy.upTo(start);
    copy.skipTo(end);
    copy.put(openBrace);
    copy.put(renderFields([...record]).subarray(1));
  }
}

const lineFeed = 0x0a;
const openBrace = Buffer.from("{");
