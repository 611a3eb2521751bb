/** Channels that are read for the other names of an account. Each has all names of its parties. */
const CHANNELS_OF_NAMES = 50

/**
 * Selects `list`: each of these lists (shared/events/loan-lists.ts), and those of the other names that a payment channel
 * has for the same Filecoin identity. `lists` is the SQL of a text array.
 */
export function withOtherNames(lists: string): string {
  return `
    select list from unnest(${lists}) as list
    union
    select name from unnest(${lists}) as asked(list)
    cross join lateral (
      select state from projection.channels where parties && array[asked.list] limit ${CHANNELS_OF_NAMES}
    ) as channel
    cross join lateral (values (state->'from'), (state->'recipient')) as party(names)
    cross join lateral (${namesOf('names')}) as one
    where name is not null and exists (select from (${namesOf('names')}) as other where other.name = asked.list)`
}

/** All names of a party, a column of json. */
function namesOf(party: string): string {
  return `
    select 'f' || substr(name, 2) as name from (
      select ${party}->>'asWritten' as name union select ${party}->>'id'
      union select jsonb_array_elements_text(${party}->'robust')
    ) as written`
}
