import { SettingsError } from "./settings-source.ts";

interface Program {
  readonly name: string;
  /** Patterns that match only the program's files: all of one list must match. */
  readonly marks: readonly (readonly RegExp[])[];
  /** The page of the documentation with the equivalents of its settings. */
  readonly page: string;
}

/** Other collectors whose configurations people try first. */
const programs: readonly Program[] = [
  {
    name: "Akvorado",
    page: "docs/change-over.md#akvorado",
    marks: [
      [
        /^(?:inlet|outlet|orchestrator|console|demo-exporter):/m,
        /^ +(?:flow|core|kafka|http|metadata|routing|schema|- ):?/m,
      ],
      [/^ *image: *\S*akvorado/m],
      [/^clickhouse(?:db)?:$/m, /^ +(?:servers|orchestrator-url|asns|networks|network-sources|resolutions):/m],
    ],
  },
  {
    name: "Telegraf",
    page: "docs/change-over.md#telegraf",
    marks: [[/^[ \t]*\[\[(?:inputs|outputs|processors|aggregators)\.\w+\]\]/m], [/^[ \t]*image: *\S*telegraf/m]],
  },
  {
    name: "pmacct",
    page: "docs/change-over.md#pmacct",
    marks: [
      [/^[ \t]*(?:nfacctd|sfacctd|pmacctd|uacctd|pmbgpd|pmbmpd)_\w+\s*(?:\[\w+\])?\s*:/m],
      [/^[ \t]*plugins\s*:/m, /^[ \t]*aggregate\w*\s*(?:\[\w+\])?\s*:/m],
      [/^[ \t]*image: *\S*(?:pmacct|nfacctd|sfacctd)/m],
    ],
  },
  {
    name: "goflow2",
    page: "docs/change-over.md#goflow2",
    marks: [
      [/^formatter:/m, /^ +(?:fields|key|render|rename):/m],
      [/^(?:ipfix|netflowv9|sflow):/m, /^ +(?:mapping|ports):/m],
      [/^[ \t]*image: *\S*goflow2?\b/m],
      [/\bgoflow2?\b/, /-(?:listen|transport|format)\b/],
    ],
  },
  {
    name: "nfdump",
    page: "docs/change-over.md#nfdump",
    marks: [[/\b(?:nfcapd|sfcapd|nfpcapd)\b/], [/^options=.*-[lw] /m]],
  },
  {
    name: "ntopng or nProbe",
    page: "docs/change-over.md#ntopng-and-nprobe",
    marks: [
      [/^[ \t]*(?:-i|--interface)=(?:tcp|zmq|kafka):/m],
      [/^[ \t]*--(?:zmq|collector-port|collector)=?/m],
      [/^[ \t]*-[GmnwX]=/m, /^[ \t]*(?:-i|--interface|--community)=?/m],
    ],
  },
  {
    name: "snmp_exporter",
    page: "docs/change-over.md#snmp_exporter",
    marks: [
      [/^modules:/m, /^ +(?:walk|get|metrics):/m],
      [/^auths:/m, /^ +(?:community|security_level):/m],
    ],
  },
  {
    name: "Logstash or Filebeat",
    page: "docs/change-over.md#from-other-collectors",
    marks: [
      [/^[ \t]*(?:input|output)\s*\{/m, /\b(?:udp|tcp|beats|elasticsearch|netflow)\b/],
      [/^[ \t]*-\s*(?:module|type):\s*netflow\b/m],
    ],
  },
];

/**
 * Refuses the configuration of another collector, with a reference to the page on changing over. A text with a setting of
 * ours or of NetObserv is not refused.
 *
 * @throws SettingsError
 */
export function refuseForeignFile(file: string, source: string): void {
  if (/\b(?:SVC|EF)_[A-Z]/.test(source)) return;
  const program = programs.find(({ marks }) => marks.some((all) => all.every((mark) => mark.test(source))));
  if (program === undefined) return;
  throw new SettingsError([
    `${file} is a configuration of ${program.name}, which is not read as it is: ${program.page} says what its settings are called here`,
  ]);
}
