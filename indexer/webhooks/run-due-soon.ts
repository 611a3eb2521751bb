import { pause } from '../../shared/async/pause.ts'
import type { Webhook } from '../../shared/config/webhooks.ts'
import type { Db } from '../../shared/db/connect.ts'
import { takeLease } from '../../shared/db/leases.ts'
import { messageOf } from '../../shared/errors.ts'
import type { Logger } from '../../shared/log.ts'
import { dueActions } from './due-soon.evolve.ts'
import { findLife, forgetDeadlines, openLoans, putDeadline } from './due-soon.store.ts'
import { isActionWanted, messageOfAction } from './message.ts'

/** Least milliseconds between two sweeps, and after which another process looks whether the sweeps have ended. */
const PACE = { sweepEveryMs: 60_000, lookEveryMs: 5_000 }

const TOO_SLOW = 'some deadlines are missed: a look at all open loans takes longer than dueSoonHours'

type DueWebhook = Webhook & { dueSoonHours: number }

export interface DueSoonRun {
  webhooks: readonly Webhook[]
  db: Db
  databaseUrl: string
  log: Logger
  signal: AbortSignal
  pace?: typeof PACE
}

/**
 * Writes a message for each action that can no longer be taken soon, until `signal` aborts. One process of those with the
 * same webhooks does so at a time, to save work: a message that is there is not written again. Does nothing if no webhook
 * asks for it. Never rejects.
 */
export async function runDueSoon(run: DueSoonRun): Promise<void> {
  const { log, signal, pace = PACE } = run
  const asking = askingOf(run.webhooks)
  if (asking.length === 0) return
  let problem = ''
  while (!signal.aborted) {
    try {
      await sweepWhileHeld(run, asking, pace.sweepEveryMs)
      problem = ''
    } catch (error) {
      const message = messageOf(error)
      if (message !== problem) log.warn(message)
      problem = message
    }
    await pause(pace.lookEveryMs, signal)
  }
}

function askingOf(webhooks: readonly Webhook[]): DueWebhook[] {
  return webhooks.flatMap((webhook) => {
    const { dueSoonHours } = webhook
    return dueSoonHours === undefined ? [] : [{ ...webhook, dueSoonHours }]
  })
}

/** Programs may have files of their own: each set of webhooks has a lease. */
function leaseOf(webhooks: readonly DueWebhook[]): string {
  const names = webhooks.map(({ name }) => name)
  return `webhooks due soon: ${names.sort().join()}`
}

async function sweepWhileHeld(
  { db, databaseUrl, log, signal }: DueSoonRun,
  webhooks: readonly DueWebhook[],
  everyMs: number,
): Promise<void> {
  const lease = await takeLease(databaseUrl, leaseOf(webhooks))
  if (lease === undefined) return
  const ending = new AbortController()
  const end = (): void => ending.abort()
  // AbortSignal.any would leak: on Node 20 a long-lived signal retains each combination.
  for (const one of [signal, lease.lost]) one.addEventListener('abort', end, { once: true })
  if (signal.aborted || lease.lost.aborted) end()
  const leastHours = Math.min(...webhooks.map(({ dueSoonHours }) => dueSoonHours))
  let isWarned = false
  try {
    while (!ending.signal.aborted) {
      const startedMs = performance.now()
      await sweep(db, webhooks, ending.signal)
      const tookMs = performance.now() - startedMs
      const cycleHours = (4 * tookMs) / 3_600_000
      if (cycleHours > leastHours && !isWarned) {
        isWarned = true
        log.warn({ cycleHours, dueSoonHours: leastHours }, TOO_SLOW)
      }
      // With very many open loans the sweeps take a quarter of the time.
      await pause(Math.max(everyMs, 3 * tookMs), ending.signal)
    }
  } finally {
    signal.removeEventListener('abort', end)
    await lease.release()
  }
}

/** Reads each open loan once, one after the other. */
export async function sweep(db: Db, webhooks: readonly DueWebhook[], signal: AbortSignal): Promise<void> {
  const hours = Math.max(...webhooks.map(({ dueSoonHours }) => dueSoonHours))
  await forgetDeadlines(db)
  for await (const key of openLoans(db)) {
    if (signal.aborted) return
    const life = await findLife(db, key)
    if (life === undefined) continue
    const nowMs = Date.now()
    if (dueActions(life, nowMs, hours).length === 0) continue
    for (const webhook of webhooks) {
      for (const { action, deadlineMs } of dueActions(life, nowMs, webhook.dueSoonHours)) {
        if (!isActionWanted(webhook, { loanType: key.loanType, action })) continue
        await putDeadline(db, webhook.name, new Date(deadlineMs), (position) =>
          messageOfAction(key, action, { position, at: new Date(nowMs) }),
        )
      }
    }
  }
}
