import { inspectDatabase } from '../../shared/db/inspect.ts'
import { connect } from '../../shared/db/connect.ts'
import { requireKnownSchema } from '../../shared/db/migrate.ts'
import { ANYWHERE } from '../../shared/db/session.ts'
import { messageOf } from '../../shared/errors.ts'
import { describeFailure } from '../../shared/program.ts'
import { getDatabaseSettings, type DatabaseSettings } from './database-settings.store.ts'
import type { Finding, Verdict } from './finding.ts'

const OLDEST = 140_000
/** An indexer's pool; docs/operations.md counts all connections. */
const FEW_FREE = 10

/**
 * Looks at a database: whether it answers, its version and settings, its schema and its free connections. `writes`: the
 * programs that use it write. Never rejects.
 */
export async function examineDatabase(
  url: string,
  variable: 'DATABASE_URL' | 'READ_DATABASE_URL',
  { writes }: { writes: boolean },
): Promise<Finding[]> {
  const finding = (verdict: Verdict, message: string): Finding => ({ part: variable, verdict, message })
  const db = connect(url, { name: 'loan-activity doctor', max: 1, session: ANYWHERE })
  try {
    const { sharesSessions, limit, limitOf, free } = await inspectDatabase(url, variable)
    const settings = await getDatabaseSettings(db)
    const isFull = free < FEW_FREE
    return [
      ...settingFindings(settings, writes).map(([verdict, message]) => finding(verdict, message)),
      sharesSessions
        ? finding(writes ? 'failed' : 'ok', 'a pooler shares sessions, with which only the API works')
        : finding('ok', 'each connection has a session of its own'),
      finding(isFull ? 'warning' : 'ok', `${free} of ${limit} connections of ${limitOf} are free`),
      await requireKnownSchema(db).then(
        () => finding('ok', 'the schema is that of this version'),
        (error: unknown) => finding('failed', messageOf(error)),
      ),
    ]
  } catch (error) {
    return [finding('failed', describeFailure(error, variable))]
  } finally {
    await db.destroy()
  }
}

function settingFindings(settings: DatabaseSettings, writes: boolean): [Verdict, string][] {
  const { version, versionNumber, encoding, collation, isStandby, isReadOnly } = settings
  const isOld = versionNumber < OLDEST
  const findings: [Verdict, string][] = [
    [isOld ? 'failed' : 'ok', `PostgreSQL ${version}${isOld ? ': 14 is the oldest that works' : ''}`],
    [encoding === 'UTF8' ? 'ok' : 'failed', `the encoding is ${encoding}`],
    collation === 'C' ? ['ok', 'the locale is C'] : ['warning', `the locale is ${collation}: C is faster`],
  ]
  const refusal = isStandby ? 'it is a replica' : isReadOnly ? 'it is read-only' : null
  if (refusal !== null) findings.push([writes ? 'failed' : 'ok', refusal])
  const unsafe = { fsync: settings.fsync, full_page_writes: settings.fullPageWrites }
  for (const [name, value] of Object.entries(unsafe))
    if (value === 'off') findings.push(['warning', `${name} is off: a crash of the machine can destroy data`])
  if (settings.synchronousCommit === 'off')
    findings.push([
      'warning',
      'synchronous_commit is off: a crash loses the newest steps, which are read again',
    ])
  return findings
}
