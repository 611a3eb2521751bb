import { messageOf } from '../../shared/errors.ts'
import { openQueueBackend } from '../open-queue-backend.ts'
import type { Finding, Verdict } from './finding.ts'

/** Looks at the queue's server: whether it answers, takes writes and keeps jobs. Never rejects. */
export async function examineQueue(redisUrl: string | undefined, databaseUrl: string): Promise<Finding[]> {
  const part = redisUrl === undefined ? 'queue in Postgres' : 'REDIS_URL'
  const finding = (verdict: Verdict, message: string): Finding => ({ part, verdict, message })
  const backend = openQueueBackend({ redisUrl, databaseUrl }, () => undefined)
  try {
    const warnings = await backend.check()
    await backend.ask()
    if (warnings.length > 0) return warnings.map((warning) => finding('warning', warning))
    return [
      finding('ok', redisUrl === undefined ? 'it is prepared' : 'it answers, takes writes, and keeps jobs'),
    ]
  } catch (error) {
    return [finding('failed', messageOf(error).replace(/^REDIS_URL: /, ''))]
  } finally {
    backend.close()
  }
}
