import { enrichedFields } from "./enriched-fields.ts";
import { flowFields } from "./flow-fields.ts";
import { fieldRows, type RecordField } from "./record-field.ts";

/** What is said of both ends of a flow together. */
const ofBoth = fieldRows(`
flow.clisrv.method | keyword | | tcp_syn | the rule that says which end is the client: biflow_direction, initiator, event, tcp_syn, icmp_type, learnt or port | derived
flow.conversation.id | keyword | | 9b1fd0e2c3a45768 | the same for all sessions of a client with a service | derived
flow.session.id | keyword | | 0f5d3c2b1a998877 | the same for both directions of a session | derived
as.label | keyword[] | | ["Example Net (64496)","AS64511"] | autonomous systems of both ends | flow.src, flow.dst
geo.city.name | keyword[] | | ["Amsterdam","Paris"] | cities of both ends | flow.src, flow.dst
geo.country.name | keyword[] | | ["Netherlands","France"] | countries of both ends | flow.src, flow.dst
ip.subnet.tags | keyword[] | | ["dmz"] | tags of both ends | flow.src, flow.dst
sec.threat.name | keyword[] | | ["botnet"] | threats of both ends | flow.src, flow.dst
`);

/** What metadata says of threats, under names that dashboards ask for. */
const threats = fieldRows(`
flow.src.sec.threat.name | keyword | | botnet | threat by metadata (\`.sec.threat.name\`) | metadata
flow.dst.sec.threat.name | keyword | | botnet | threat by metadata (\`.sec.threat.name\`) | metadata
mitre.attack.tactic.name | keyword | | Exfiltration | tactic by metadata | metadata
mitre.attack.technique.name | keyword | | Data Transfer Size Limits | technique by metadata | metadata
`);

/** The fields below `flow.src` again, below `flow.client` or `flow.server`. */
function again(end: "client" | "server"): RecordField[] {
  return [...flowFields, ...enrichedFields, ...threats].flatMap((field) => {
    const [, rest] = /^flow\.src\.(.*)$/.exec(field.name) ?? [];
    if (rest === undefined) return [];
    const description = `of source or destination, whichever is the ${end}`;
    const name = `flow.${end}.${rest}`;
    const source = `flow.src.${rest}, flow.dst.${rest}`;
    return [{ ...field, name, description, source }];
  });
}

export const endFields: readonly RecordField[] = [...ofBoth, ...threats, ...again("client"), ...again("server")];
