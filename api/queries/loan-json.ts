import { isoTime } from './record-json.ts'

/** The SQL texts of this file are about rows `loan` of projection.loans. */

/** Bytes of JSON per field: contracts and vouchers may carry any bytes. A longer value is shown as unknown. */
const MOST_FIELD_BYTES = 64 * 1024

/** The contract's half as JSON text. */
export const CONTRACT_HALF = part(
  'loan',
  'to_json(loan.loan_id)::text',
  `case field.key when 'state' then coalesce(to_json(loan.derived_state), field.value) else field.value end`,
  'evm_part',
)

/** The half of the channel in this role as JSON text; {} where there is none. */
export function channelHalf(role: 'collateral' | 'principal' | 'payback'): string {
  return `coalesce((
      select ${part('channel', `'"' || channel.id || '"'`, 'field.value', 'part')} from projection.channels as channel
      where channel.loan_type = loan.loan_type and channel.loan_id = loan.loan_id and channel.role = '${role}'
        and channel.shown
    ), '{}')`
}

/** A JSON object of texts and JSON texts, in the given order; SQL expressions by their names. */
export function object(texts: Record<string, string>, jsons: Record<string, string> = {}): string {
  const fields = [
    ...Object.entries(texts).map(([name, text]) => [
      name,
      `coalesce(to_json((${text})::text)::text, 'null')`,
    ]),
    ...Object.entries(jsons),
  ]
  return `'{' || ${fields.map(([name, json]) => `'"${name}":' || ${json}`).join(" || ',' || ")} || '}'`
}

/** Writes a part as JSON text: its id, the fields of its JSON column (each through `shown`), and its row's times. */
function part(row: string, id: string, shown: string, column: string): string {
  return `'{"id":' || ${id} || (
          select coalesce(string_agg(',' || to_json(key)::text || ':'
            || case when octet_length(value) > ${MOST_FIELD_BYTES} then 'null' else value end, '' order by place), '')
          from (
            select field.key, (${shown})::text as value, field.place
            from json_each(${row}.${column}) with ordinality as field(key, value, place)
          ) as fields
        ) || ',"createdAt":"' || ${isoTime(`${row}.created_at`)} || '","updatedAt":"' || ${isoTime(`${row}.updated_at`)} || '"}'`
}
