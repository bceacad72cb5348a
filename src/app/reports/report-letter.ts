import type { Clock } from "../../base/report/index.ts";
import { answerTable, ExploreError, readQuery, tableCsv, type ExploreAnswer } from "../../explore/index.ts";
import type { Board, Report, SavedView } from "../../server/index.ts";
import type { Letter } from "../../watch/index.ts";
import type { ExploreQuestions } from "../threads/explore-output.ts";

/** The input of a report. */
export interface ReportMatter {
  readonly report: Report;
  readonly board: Board;
  readonly views: readonly SavedView[];
  /** The start of the data's time range, milliseconds since the epoch. */
  readonly from: number;
  readonly to: number;
  /** True to show the names of the metadata beside addresses. */
  readonly hasNames: boolean;
}

/** A view with its answer, or the reason why there is none. */
interface Part {
  readonly view: SavedView;
  readonly answer?: ExploreAnswer;
  readonly fault?: string;
}

/** The fault of a report that cannot be made at present. */
export class ReportFault extends Error {}

/** The time limit of all questions of a report together. */
const longestMs = 300_000;
const tookLong = `the report took longer than ${longestMs / 60_000} minutes`;
/** The most characters of a letter: mail servers take 10 MB and more. */
const largest = 5_000_000;

/** Makes reports: asks for the content of a board, and writes it as HTML, text and CSV. */
export class ReportLetters {
  readonly #questions: ExploreQuestions | undefined;
  readonly #nameOf: (address: string) => string | undefined;
  readonly #clock: Clock;

  /** @param questions undefined: no records are kept. @param nameOf returns the name of an address by metadata. */
  constructor(questions: ExploreQuestions | undefined, nameOf: (address: string) => string | undefined, clock: Clock) {
    this.#questions = questions;
    this.#nameOf = nameOf;
    this.#clock = clock;
  }

  /** Reports whether records are kept for its questions. */
  get canAsk(): boolean {
    return this.#questions !== undefined;
  }

  /** Makes a letter. @param id of the letter. @throws ReportFault where it cannot be made. */
  async make(id: string, matter: ReportMatter, signal: AbortSignal): Promise<Letter> {
    const parts: Part[] = [];
    const until = this.#clock.monotonic() + longestMs;
    for (const view of matter.views) parts.push(await this.#ask(view, matter, until, signal));
    const faults = parts.flatMap(({ fault }) => fault ?? []);
    if (parts.length > 0 && faults.length === parts.length) throw new ReportFault(faults[0]);
    return this.#write(id, matter, parts);
  }

  async #ask(view: SavedView, { board, from, to }: ReportMatter, until: number, signal: AbortSignal): Promise<Part> {
    const left = until - this.#clock.monotonic();
    if (this.#questions === undefined) return { view, fault: "no records are kept: SVC_EXPLORE_ENABLE is off" };
    if (left <= 0) return { view, fault: tookLong };
    const { dimensions, measure, when, limit, compare } = view;
    const range = { from: new Date(from).toISOString(), to: new Date(to).toISOString() };
    // End each filter with a line feed: it may end in a comment.
    const filter = [board.filter, view.filter].filter((each) => each.trim() !== "").map((each) => `(${each}\n)`);
    const given = new AbortController();
    const timer = setTimeout(() => given.abort(), left);
    const abort = (): void => given.abort();
    signal.addEventListener("abort", abort);
    try {
      signal.throwIfAborted();
      const asked = { dimensions, measure, when, limit, compare, ...range, filter: filter.join(" and ") };
      const query = readQuery(asked, this.#clock.now());
      return { view, answer: await this.#questions.query(query, given.signal) };
    } catch (error) {
      signal.throwIfAborted();
      if (given.signal.aborted) return { view, fault: tookLong };
      // Explore will work again soon, but a report without this view would be final.
      if (error instanceof ExploreError && error.code === "unavailable") throw new ReportFault(error.message);
      if (error instanceof ExploreError) return { view, fault: error.message };
      throw error;
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", abort);
    }
  }

  #write(id: string, { report, board, from, to, hasNames }: ReportMatter, parts: readonly Part[]): Letter {
    const range = rangeText(from, to, report.zone);
    const subject = `${report.name.replaceAll(/\s+/g, " ")}: ${range}`;
    const lead = [board.name === report.name ? "" : board.name, report.description, board.description];
    const leads = [...new Set(lead)].filter((each) => each !== "");
    const sections = parts.map((part) => this.#section(part, hasNames));
    const note = "Sent by netgloss.";
    const html = [
      `<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>${escaped(subject)}</title></head>`,
      `<body bgcolor="#ffffff" text="#18212c"><table width="100%" cellpadding="8" cellspacing="0" border="0" role="presentation"><tr><td><font face="Arial, sans-serif">`,
      `<h1>${escaped(report.name)}</h1><p>${escaped(range)}</p>`,
      ...leads.map((each) => `<p>${escaped(each)}</p>`),
      ...(board.filter === "" ? [] : [`<p>Only: <code>${escaped(board.filter)}</code></p>`]),
      ...sections.map((section) => section.html),
      `<hr><p><font size="2" color="#556170">${note} The tables are attached as CSV; where this mail program shows no charts, report.html does.</font></p>`,
      "</font></td></tr></table></body></html>",
    ].join("\n");
    const text = [...leads, ...sections.map((section) => section.text), note].join("\n\n");
    const csv = parts.flatMap(({ view, answer }) =>
      answer === undefined
        ? []
        : [
            {
              name: `${view.id}.csv`,
              type: "text/csv",
              content: tableCsv(answerTable(ranking(answer))),
            },
          ],
    );
    const files = [{ name: "report.html", type: "text/html", content: html }, ...csv];
    const size = html.length + files.reduce((sum, { content }) => sum + content.length, 0);
    if (size > largest) throw new ReportFault(`the report has ${size} characters, ${largest} at most are sent`);
    return { id, subject, text, html, files };
  }

  #section({ view, answer, fault }: Part, hasNames: boolean): { readonly html: string; readonly text: string } {
    const head = `<h2>${escaped(view.name)}</h2>${view.description === "" ? "" : `<p>${escaped(view.description)}</p>`}`;
    if (answer === undefined) {
      const said = `This could not be answered: ${fault ?? ""}`;
      return { html: `${head}<p><b>${escaped(said)}</b></p>`, text: `${view.name}\n${said}` };
    }
    if (answer.rows.length === 0 && answer.total.value === 0)
      return { html: `${head}<p>No flows in this time.</p>`, text: `${view.name}\nNo flows in this time.` };
    const rows = this.#rows(answer, hasNames);
    const lines = rows.map(({ name, value, share }) => `  ${name}: ${value}${share === "" ? "" : ` (${share})`}`);
    const notes = answer.complete ? [] : [`A part of the time is not kept: ${answer.missing?.because ?? ""}`];
    const noted = notes.map((each) => `<p><i>${escaped(each)}</i></p>`).join("");
    const chart = view.show === "table" ? "" : chartOf(answer, `${view.name} over time`, view.shape === "lines");
    return {
      html: `${head}${noted}${chart}${tableOf(rows, view.name)}`,
      text: [view.name, ...notes, ...lines].join("\n"),
    };
  }

  #rows({ dimensions, rows, others, total, unit }: ExploreAnswer, hasNames: boolean): readonly Row[] {
    const rowOf = (name: string, of: Values, color: string): Row => ({
      name,
      value: numberText(of.value, unit),
      share: of.share === undefined ? "" : shareText(of.share),
      part: of.share ?? 0,
      change: of.previous === undefined ? "" : changeText(of.value, of.previous),
      color,
    });
    const all = rows.map((row, at) => {
      const names = row.key.map((value, i) => this.#valueText(value, dimensions[i] ?? "", hasNames));
      return rowOf(names.join(" → "), row, colorOf(at));
    });
    return [
      ...(dimensions.length === 0 ? [] : all),
      ...(others.keys > 0 ? [rowOf(`${others.keys} others`, others, otherColor)] : []),
      rowOf("All", total, ""),
    ];
  }

  /** Returns a value as text; an address has its name beside it. */
  #valueText(value: ExploreAnswer["rows"][number]["key"][number], field: string, hasNames: boolean): string {
    if (value === null) return field.endsWith(".ip.subnet.name") ? "without a name" : "(none)";
    const text = typeof value === "object" ? value.join(", ") : String(value);
    if (text === "") return "(empty)";
    const name = hasNames && field.endsWith(".addr") ? this.#nameOf(text) : undefined;
    return name === undefined ? text : `${text} (${name})`;
  }
}

type Values = Pick<ExploreAnswer["total"], "value" | "previous"> & { readonly share?: number };

interface Row {
  readonly name: string;
  readonly value: string;
  readonly share: string;
  /** The share of the total, 0 to 1. */
  readonly part: number;
  readonly change: string;
  /** The color of the series; empty where no row has one. */
  readonly color: string;
}

/** Returns an answer without its series, which charts show. */
function ranking(answer: ExploreAnswer): ExploreAnswer {
  const without: { -readonly [Name in keyof ExploreAnswer]: ExploreAnswer[Name] } = { ...answer };
  delete without.times;
  return without;
}

// Mail programs remove styles, and pages of this collector have no inline styles, so use only attributes.

const colors = [
  "#0072b2",
  "#e69f00",
  "#009e73",
  "#cc79a7",
  "#56b4e9",
  "#d55e00",
  "#8c6bb1",
  "#b8a90a",
  "#4d6a80",
  "#a5522a",
];
const otherColor = "#aab3be";
const colorOf = (at: number): string => colors[at] ?? otherColor;

function tableOf(rows: readonly Row[], caption: string): string {
  const hasChange = rows.some(({ change }) => change !== "");
  const head = ["What", "Value", "Share", ...(hasChange ? ["Change"] : [])];
  const lines = rows.map(({ name, value, share, part, change, color }) => {
    const bar =
      color === "" || part <= 0
        ? ""
        : `<table width="100" cellpadding="0" cellspacing="0" border="0" role="presentation"><tr><td width="${Math.max(1, Math.round(100 * Math.min(1, part)))}" height="8" bgcolor="${color}"></td><td></td></tr></table>`;
    const cells = [value, share, ...(hasChange ? [change] : [])].map((each) => `<td align="right" nowrap>${each}</td>`);
    return `<tr><th align="left" scope="row"><font size="3">${escaped(name)}</font></th>${cells.join("")}<td width="100">${bar}</td></tr>`;
  });
  const heads = head.map((each, at) => `<th align="${at === 0 ? "left" : "right"}" scope="col">${each}</th>`);
  return `<table cellpadding="5" cellspacing="0" border="0"><caption align="left"><font size="2" color="#556170">${escaped(caption)}</font></caption><tr bgcolor="#eef1f5">${heads.join("")}<td></td></tr>${lines.join("")}</table>`;
}

const chartWidth = 640;
const chartHeight = 150;
const leftOfChart = 70;

/** Draws stacked areas, the first at the bottom, or lines. Counts of distinct values are always lines, because they have no sum. */
function chartOf(
  { times = [], rows, others, total, dimensions, unit }: ExploreAnswer,
  label: string,
  hasLines: boolean,
): string {
  if (times.length < 2) return "";
  const series =
    dimensions.length === 0
      ? [{ values: total.series ?? [], color: colorOf(0) }]
      : [
          ...rows.map((row, at) => ({ values: row.series ?? [], color: colorOf(at) })),
          ...(others.keys > 0 ? [{ values: others.series ?? [], color: otherColor }] : []),
        ];
  const areLines = hasLines || unit === "addresses" || unit === "ports";
  const sums = times.map(() => 0);
  const layers = series.map(({ values, color }) => {
    if (areLines) sums.fill(0);
    const below = [...sums];
    for (const at of sums.keys()) sums[at] = (sums[at] ?? 0) + Math.max(0, values[at] ?? 0);
    return { below, above: [...sums], color };
  });
  const top = Math.max(...layers.flatMap(({ above }) => above)) || 1;
  const x = (at: number): string => (leftOfChart + (at / (times.length - 1)) * chartWidth).toFixed(1);
  const y = (value: number): string => (10 + chartHeight * (1 - value / top)).toFixed(1);
  const paths = layers.map(({ below, above, color }) => {
    const up = above.map((value, at) => `${x(at)} ${y(value)}`);
    if (areLines) return `<path d="M${up.join("L")}" stroke="${color}" stroke-width="2" fill="none"/>`;
    const down = below.map((value, at) => `${x(at)} ${y(value)}`).toReversed();
    return `<path d="M${[...up, ...down].join("L")}Z" fill="${color}"/>`;
  });
  const textAt = (at: number, height: number, anchor: string, said: string): string =>
    `<text x="${at}" y="${height}" text-anchor="${anchor}" font-family="Arial, sans-serif" font-size="11" fill="#556170">${escaped(said)}</text>`;
  const end = leftOfChart + chartWidth;
  const bottom = 10 + chartHeight;
  const minuteOf = (text = ""): string => `${text.slice(0, 16).replace("T", " ")} UTC`;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" role="img" width="${end + 10}" height="${bottom + 22}" viewBox="0 0 ${end + 10} ${bottom + 22}"><title>${escaped(label)}</title>`,
    ...paths,
    `<path d="M${leftOfChart} ${bottom}H${end}" stroke="#8591a1" fill="none"/>`,
    textAt(leftOfChart - 6, 20, "end", numberText(top, unit)),
    textAt(leftOfChart - 6, bottom, "end", "0"),
    textAt(leftOfChart, bottom + 16, "start", minuteOf(times[0])),
    textAt(end, bottom + 16, "end", minuteOf(times.at(-1))),
    "</svg><br>",
  ].join("");
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}

const prefixes = ["", "k", "M", "G", "T", "P", "E"];

function numberText(value: number, unit: string): string {
  if (unit === "%") return `${value.toPrecision(3)} %`;
  const power = Math.min(prefixes.length - 1, Math.max(0, Math.floor(Math.log10(Math.max(1, Math.abs(value))) / 3)));
  const scaled = value / 1000 ** power;
  const digits = Math.abs(scaled) >= 100 || Number.isInteger(scaled) ? scaled.toFixed(0) : scaled.toPrecision(3);
  return `${digits} ${prefixes[power]}${unit}`;
}

const shareText = (share: number): string => `${(100 * share).toFixed(share >= 0.1 ? 0 : 1)} %`;

function changeText(value: number, before: number): string {
  if (before === 0) return value === 0 ? "±0 %" : "new";
  const percent = Math.round((value / before - 1) * 100);
  return percent >= 150 ? `×${(value / before).toFixed(1)}` : `${percent > 0 ? "+" : ""}${percent} %`;
}

/** Writes a range in the local time of a zone. */
function rangeText(from: number, to: number, zone: string): string {
  const day = new Intl.DateTimeFormat("sv-SE", { timeZone: zone, dateStyle: "short" });
  const minute = new Intl.DateTimeFormat("sv-SE", { timeZone: zone, dateStyle: "short", timeStyle: "short" });
  const isWhole = [from, to].every((at) => minute.format(at).endsWith(" 00:00"));
  if (!isWhole) return `${minute.format(from)} to ${minute.format(to)}, ${zone}`;
  const [first, last] = [day.format(from), day.format(to - 1)];
  return first === last ? `${first}, ${zone}` : `${first} to ${last}, ${zone}`;
}
