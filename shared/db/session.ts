/**
 * Settings on which this service's statements depend; a DBA may have changed them for a role, a database or a server. A
 * statement sets them, because poolers reject most settings among the startup parameters.
 */
export interface Session {
  settings: Readonly<Record<string, string>>
  /** Whether the session must be able to write; a read-only one is then refused. */
  writes: boolean
}

/** The server ends a silent transaction after this: a frozen process or a lost machine must not hold locks forever. */
const IDLE_IN_TRANSACTION_MS = 20_000

const COMMON = {
  search_path: 'pg_catalog, pg_temp',
  client_encoding: 'UTF8',
  TimeZone: 'UTC',
  DateStyle: 'ISO, MDY',
  IntervalStyle: 'postgres',
  extra_float_digits: '1',
  bytea_output: 'hex',
  standard_conforming_strings: 'on',
  array_nulls: 'on',
  transform_null_equals: 'off',
  // The setting affects the index definitions that a replay copies.
  quote_all_identifiers: 'off',
  default_text_search_config: 'pg_catalog.simple',
  default_transaction_isolation: 'read committed',
  default_transaction_deferrable: 'off',
  // Rows that a policy hides become an error instead of missing silently.
  row_security: 'off',
  statement_timeout: '0',
  lock_timeout: '0',
  idle_session_timeout: '0',
  idle_in_transaction_session_timeout: String(IDLE_IN_TRANSACTION_MS),
}

export const WRITING: Session = { settings: COMMON, writes: true }

/** Operators may inspect a standby, where a write fails by itself. */
export const ANYWHERE: Session = { settings: COMMON, writes: false }

/** BullMQ's own statements name its tables without their schema. */
export function writingIn(schema: string): Session {
  return { settings: { ...COMMON, search_path: schema }, writes: true }
}

export function reading(settings: Readonly<Record<string, string>>): Session {
  return { settings: { ...COMMON, default_transaction_read_only: 'on', ...settings }, writes: false }
}

/** The row that {@link beginSession} returns. */
export interface Begun {
  isStandby: boolean
  /** `on` or `off`. */
  isReadOnly: string
}

/**
 * One statement that applies the settings and returns one row of {@link Begun}. All its names are qualified, because it
 * runs with any search path.
 */
export function beginSession({ settings }: Session): string {
  return `select pg_catalog.pg_is_in_recovery() as "isStandby",
    pg_catalog.current_setting('default_transaction_read_only') as "isReadOnly", ${setAll(settings, false)},
    case when pg_catalog.current_setting('transaction_timeout', true) is not null
      then pg_catalog.set_config('transaction_timeout', '0', false) end` // since Postgres 17
}

/** Applies the settings for the rest of one transaction, because sessions may be shared. */
export function settleTransaction({ settings }: Session): string {
  return `select ${setAll(settings, true)}`
}

function setAll(settings: Session['settings'], isLocal: boolean): string {
  return Object.entries(settings)
    .map(([name, value]) => `pg_catalog.set_config('${name}', '${value}', ${isLocal})`)
    .join(', ')
}

/** A session that must write but cannot; another attempt may find a primary. Its code is that of a refused write. */
export class ReadOnlySession extends Error {
  override name = 'ReadOnlySession'
  readonly code = '25006'
}

/** The reason why a session cannot write; undefined if it can. */
export function readOnlyReason({ isStandby, isReadOnly }: Begun): string | undefined {
  if (isStandby)
    return 'the database is a standby and takes no writes: it is asked again until a primary answers'
  if (isReadOnly === 'on')
    return 'the database takes no writes (default_transaction_read_only is on for this server, database or role): it is asked again until it does'
  return undefined
}
