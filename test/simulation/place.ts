import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'
import { sql } from 'kysely'
import { connect } from '../../shared/db/connect.ts'

/**
 * Returns the activity of a service process from its database sessions: the network it leads and its last statement.
 * The statement counts while it runs or a transaction is open. The process should be stopped meanwhile.
 */
export async function placeOf(pid: number, databaseUrl: string): Promise<string> {
  const ports = localPorts(pid)
  if (ports.length === 0) return 'without a connection'
  const db = connect(databaseUrl, { name: 'simulation place', max: 1, onError: () => undefined })
  try {
    const { rows } = await sql<Session>`
      select application_name as name, query, xact_start is not null as "isOpen",
        exists (select from ledger.writer_leases l where l.backend_pid = s.pid and l.backend_start = s.backend_start) as "hasLease"
      from pg_stat_activity s where client_port = any (${ports})`.execute(db)
    return describe(rows)
  } catch {
    return 'while the database is away'
  } finally {
    await db.destroy()
  }
}

interface Session {
  name: string
  query: string
  isOpen: boolean
  hasLease: boolean
}

const LEASE = 'loan-activity lease writer of '

/** Example: `the leader of evm:31337: copy ledger.event_log`. */
function describe(sessions: readonly Session[]): string {
  const leads = sessions
    .filter(({ name, hasLease }) => name.startsWith(LEASE) && hasLease)
    .map(({ name }) => name.slice(LEASE.length))
    .sort()
  const doing = sessions
    .filter(({ isOpen, name }) => isOpen && !name.startsWith(LEASE))
    .map(({ query }) => shortened(query))
    .sort()
  const who = leads.length === 0 ? 'leading nothing' : `leading ${leads.join(' and ')}`
  return `${who}: ${doing.length === 0 ? 'no statement' : [...new Set(doing)].join('; ')}`
}

/** Shortens a statement to its verb and the first table (or function) of ours that it names. */
export function shortened(query: string): string {
  const verb = /\b(begin|commit|rollback|copy|insert|update|delete|select)\b/i.exec(query)?.[1] ?? 'statement'
  const place = /"?\b(ledger|projection|replay|queue|migration)"?\."?(\w+)/.exec(query)
  return `${verb.toLowerCase()} ${place === null ? '' : `${place[1] ?? ''}.${place[2] ?? ''}`}`.trimEnd()
}

/** Returns the local ports of its TCP connections. */
function localPorts(pid: number): number[] {
  const sockets = new Set(socketsOf(pid))
  return readFileSync('/proc/self/net/tcp', 'utf8')
    .split('\n')
    .slice(1)
    .flatMap((line) => {
      const fields = line.trim().split(/\s+/)
      const [, local = '', , state] = fields
      const isOurs = state === ESTABLISHED && sockets.has(fields[9] ?? '')
      return isOurs ? [Number.parseInt(local.split(':')[1] ?? '', 16)] : []
    })
}

const ESTABLISHED = '01'

/** Returns the inodes of its sockets. */
function socketsOf(pid: number): string[] {
  try {
    const folder = `/proc/${pid}/fd`
    return readdirSync(folder).flatMap((name) => {
      const socket = /^socket:\[(\d+)\]$/.exec(linkOf(join(folder, name)))
      return socket?.[1] === undefined ? [] : [socket[1]]
    })
  } catch {
    return []
  }
}

function linkOf(path: string): string {
  try {
    return readlinkSync(path)
  } catch {
    return ''
  }
}
