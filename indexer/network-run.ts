import type { Db } from '../shared/db/connect.ts'
import type { Role } from '../shared/indexing-health.ts'
import { isDatabaseRetryable } from '../shared/db/transaction.ts'
import { RetryableError } from '../shared/errors.ts'
import type { BlockRef, ChainStep } from '../shared/events/chain-step.ts'
import type { ProblemKind } from '../shared/indexing-health.ts'
import type { Logger } from '../shared/log.ts'
import type { LeaseSpread } from './lease-spread.ts'
import type { NetworkHealth } from './network-state.ts'
import type { QueueBackend } from './queue/backend.ts'
import type { ByteBudget } from './queue/byte-budget.ts'
import type { ChainSource } from './sources/chain-source.ts'
import { pause } from '../shared/async/pause.ts'
import type { QueueWatch } from './watch-queue.ts'

/** The dependencies of a network's sessions. */
export interface NetworkRun {
  source: ChainSource
  health: NetworkHealth
  /** The watched contracts. An index of other contracts is another index. */
  watched: unknown
  db: Db
  /** Decides which leases this process takes. */
  spread: LeaseSpread
  backend: QueueBackend
  /** A worker is not stuck while its queue does not answer. */
  queueWatch: QueueWatch
  /** The bytes that the networks of this process may hold together. */
  budget: ByteBudget
  /** Blocks that are read first. */
  firstWidth: number
  log: Logger
  signal: AbortSignal
  /** Other work of the network's reader and writer while they lead. Never rejects. */
  beside: Partial<Record<Role, (signal: AbortSignal) => Promise<void>>>
}

/** A queue whose Redis is away never closes, and a node may never answer: they are left behind. */
const CLOSE_MS = 2_000

/** Waits for the end of what a session began, but not for ever. Never rejects. */
export async function untilClosed(...ends: Promise<unknown>[]): Promise<void> {
  const limit = new AbortController()
  await Promise.race([Promise.allSettled(ends), pause(CLOSE_MS, limit.signal)])
  limit.abort()
}

/** Marks a session's begin; logs it unless the session before it was following too. */
export function beginFollowing(
  { health, log }: NetworkRun,
  role: Role,
  epoch: number,
  from: BlockRef | null,
): void {
  const { network } = health
  if (health.phaseOf(role) !== 'following')
    log.info({ network, role, [`${role}Epoch`]: epoch, from: from?.number ?? null }, 'following')
  health.enter(role, 'following')
  health.clear(role)
}

export function kindOf(error: unknown): ProblemKind {
  if (isDatabaseRetryable(error)) return 'database'
  return error instanceof RetryableError ? 'node' : 'other'
}

export function describeStep(step: ChainStep): string {
  switch (step.type) {
    case 'blocks':
      return `blocks ${step.from} to ${step.to.number}`
    case 'reorg':
      return `reorg after ${step.ancestor.number} to ${step.to.number} ${step.to.hash}`
    case 'finalized':
      return `finalized ${step.block.number}`
  }
}
